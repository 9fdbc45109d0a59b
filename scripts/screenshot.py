"""Writes a PNG of the top of a report: `python -m scripts.screenshot REPORT.html PICTURE.png`."""

import io
import sys
from pathlib import Path

from PIL import Image
from playwright.sync_api import sync_playwright

from scripts.chromium import launch

WIDTH, HEIGHT = 1280, 1055
#: Enough for text, lines and the areas of a report, and a third of the bytes of full color.
COLORS = 128


def main() -> None:
    """Takes the picture."""
    _, report, picture = sys.argv
    Path(picture).parent.mkdir(parents=True, exist_ok=True)
    Path(picture).write_bytes(reduced(taken(Path(report))))


def taken(report: Path) -> bytes:
    """The top of the page as a PNG, in light colors."""
    with sync_playwright() as playwright:
        browser = launch(playwright)
        page = browser.new_page(viewport={"width": WIDTH, "height": HEIGHT}, color_scheme="light")
        page.goto(report.resolve().as_uri())
        page.wait_for_load_state("networkidle")
        # Charts are drawn after the page has loaded.
        page.wait_for_timeout(3000)
        shot = page.screenshot()
        browser.close()
    return shot


def reduced(shot: bytes) -> bytes:
    """The PNG with a palette."""
    written = io.BytesIO()
    Image.open(io.BytesIO(shot)).convert("RGB").quantize(COLORS).save(written, "PNG", optimize=True)
    return written.getvalue()


if __name__ == "__main__":
    main()
