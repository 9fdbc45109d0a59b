"""Starts the headless Chromium that tests and the screenshot use."""

import os
import shutil

from playwright.sync_api import Browser, Playwright

#: Debian's browser, or the one that the Makefile found; without either, Playwright looks for its own.
EXECUTABLE = os.environ.get("CHROMIUM") or shutil.which("chromium")
OPTIONS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
)


def launch(playwright: Playwright) -> Browser:
    """A Chromium that makes no requests of its own.

    Raises:
        playwright.sync_api.Error: there is no Chromium, or it does not start.
    """
    return playwright.chromium.launch(executable_path=EXECUTABLE, args=list(OPTIONS))
