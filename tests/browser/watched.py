"""A page in a headless browser: what it draws, how wide it is, and what the browser did meanwhile."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from playwright.sync_api import Browser, Page

Scheme = Literal["light", "dark"]
WIDE, NARROW = 1400, 400
#: On a busy host a page takes long; pytest ends what takes for ever.
PATIENCE_MS = 300_000

DRAWN = """() => [...document.querySelectorAll(".chart")].map((place) => {
  const canvases = [];
  const walk = (node) => {
    for (const child of node.children) {
      if (child.tagName === "CANVAS") canvases.push(child);
      if (child.shadowRoot) walk(child.shadowRoot);
      walk(child);
    }
  };
  walk(place);
  const colors = new Set();
  let inked = 0;
  for (const canvas of canvases) {
    if (!canvas.width || !canvas.height) continue;
    const pixels = new Uint32Array(
      canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height).data.buffer);
    for (const pixel of pixels) if (pixel >>> 24) { inked += 1; if (colors.size < 50) colors.add(pixel); }
  }
  return { id: place.id, canvases: canvases.length, inked, colors: colors.size };
})"""
"""How much ink each chart's canvases hold, and in how many colors."""

OVERFLOW = """() => ({
  page: document.documentElement.scrollWidth - document.documentElement.clientWidth,
  outside: [...document.querySelectorAll("main *")].filter((element) => {
    if (element.closest(".scroll, .command, svg")) return false;
    return element.getBoundingClientRect().right > document.documentElement.clientWidth + 1;
  }).map((element) => element.tagName + "." + element.className),
})"""


@dataclass
class Observation:
    """What a browser did while a page was open."""

    complaints: list[str] = field(default_factory=list)
    requests: list[str] = field(default_factory=list)


@contextmanager
def opened(
    browser: Browser, file: Path, width: int = WIDE, scheme: Scheme = "light", ready: str = "html[data-ready=true]"
) -> Iterator[tuple[Page, Observation]]:
    """The page, ready and with all charts drawn, and what was seen so far."""
    context = browser.new_context(viewport={"width": width, "height": 900}, color_scheme=scheme)
    context.set_default_timeout(PATIENCE_MS)
    page = context.new_page()
    seen = Observation()
    page.on(
        "console",
        lambda message: seen.complaints.append(message.text) if message.type in {"error", "warning"} else None,
    )
    page.on("pageerror", lambda error: seen.complaints.append(str(error)))
    page.on("request", lambda request: seen.requests.append(request.url))
    try:
        page.goto(file.as_uri())
        page.wait_for_selector(ready, state="attached")
        wait_until_drawn(page)
        yield page, seen
    finally:
        context.close()


def wait_until_drawn(page: Page) -> None:
    """Returns when Bokeh, if the page has it, has nothing left to draw."""
    page.wait_for_function("!window.Bokeh || Bokeh.documents.every((document_) => document_.is_idle)")


def assert_fits_at_both_widths(page: Page) -> None:
    """Nothing is outside of a wide or of a narrow window."""
    for width in (WIDE, NARROW):
        page.set_viewport_size({"width": width, "height": 900})
        wait_until_drawn(page)
        assert page.evaluate(OVERFLOW) == {"page": 0, "outside": []}, width
