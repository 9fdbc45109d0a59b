"""Writes a PNG of a report down to its first map: `python -m scripts.screenshot REPORT.html PICTURE.png`."""

import io
import sys
from pathlib import Path

from PIL import Image
from playwright.sync_api import sync_playwright

from scripts.chromium import launch

WIDTH, HEIGHT = 1280, 1600
#: The map of what limits each cell, and the pixels below it.
LAST, MARGIN = ".why-map-scroll", 24
#: Enough for text, lines and the areas of a report, and a third of the bytes of full color.
COLORS = 128


def main() -> None:
    """Takes the picture."""
    _, report, picture = sys.argv
    Path(picture).parent.mkdir(parents=True, exist_ok=True)
    Path(picture).write_bytes(reduced(taken(Path(report))))


def taken(report: Path) -> bytes:
    """The page down to its first map as a PNG, in light colors.

    Raises:
        LookupError: the report has no map; that of the demo has.
    """
    with sync_playwright() as playwright:
        browser = launch(playwright)
        page = browser.new_page(viewport={"width": WIDTH, "height": HEIGHT}, color_scheme="light")
        page.goto(report.resolve().as_uri())
        page.wait_for_load_state("networkidle")
        place = page.locator(LAST).first.bounding_box()
        if place is None:
            raise LookupError(f"{report} has no map")
        shot = page.screenshot(clip={"x": 0, "y": 0, "width": WIDTH, "height": place["y"] + place["height"] + MARGIN})
        browser.close()
    return shot


def reduced(shot: bytes) -> bytes:
    """The PNG with a palette."""
    written = io.BytesIO()
    Image.open(io.BytesIO(shot)).convert("RGB").quantize(COLORS).save(written, "PNG", optimize=True)
    return written.getvalue()


if __name__ == "__main__":
    main()
