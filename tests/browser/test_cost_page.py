"""The section on cost as a reader sees it: bars, tables and flame graphs."""

from pathlib import Path

import pytest
from playwright.sync_api import Browser, Locator

from tests.browser.watched import NARROW, WIDE, Scheme, opened

BOXES = """(flame) => [...flame.querySelectorAll("li")].map((item) => {
  const start = flame.getBoundingClientRect().top;
  const box = (element) => {
    const { left, right, top } = element.getBoundingClientRect();
    return [left, right, top - start];
  };
  return { own: box(item), caller: box(item.parentElement), name: item.firstElementChild.firstChild.data.trim() };
}).filter(({ own }) => own[1] > own[0])"""
"""Left, right and top of each visible frame, and of the list that it is in."""

COLORS = """(labels) => labels.map((label) => {
  const context = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
  const rgb = (color) => {
    context.fillStyle = color;
    context.fillRect(0, 0, 1, 1);
    return [...context.getImageData(0, 0, 1, 1).data].slice(0, 3);
  };
  const linear = (v) => v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4;
  const light = (color) => {
    const [r, g, b] = rgb(color).map((value) => linear(value / 255));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const ground = (element) => {
    for (let at = element; at; at = at.parentElement) {
      const { backgroundColor } = getComputedStyle(at);
      if (backgroundColor !== "rgba(0, 0, 0, 0)") return backgroundColor;
    }
  };
  const [a, b] = [light(getComputedStyle(label).color), light(ground(label))].sort((x, y) => y - x);
  return (a + 0.05) / (b + 0.05);
})"""
"""The contrast of each label with what is behind it."""


def frame(flame: Locator, name: str) -> Locator:
    """The label of the only visible function of this name."""
    return flame.locator(f"b:text-matches('^{name} ')")


@pytest.mark.parametrize(("width", "scheme"), [(WIDE, "light"), (NARROW, "dark")])
def test_frames_are_inside_their_callers_and_readable(
    browser: Browser, pages: dict[str, Path], width: int, scheme: Scheme
) -> None:
    with opened(browser, pages["cost"], width, scheme) as (page, seen):
        flames = page.locator("#cost .flame")
        assert flames.count() == 4
        boxes = flames.first.evaluate(BOXES)
        assert len(boxes) > 30
        for box in boxes:
            assert box["own"][0] >= box["caller"][0] - 0.1
            assert box["own"][1] <= box["caller"][1] + 0.1
        assert min(page.locator("#cost details[open] .flame b").evaluate_all(COLORS)) >= 4.5
        assert seen.complaints == []


def test_a_click_enlarges_a_function_and_one_on_the_outermost_shows_all_again(
    browser: Browser, pages: dict[str, Path]
) -> None:
    with opened(browser, pages["cost"]) as (page, seen):
        flame = page.locator("#cost .flame").first
        before = flame.evaluate(BOXES)
        frame(flame, "_copy_from_iter").click()
        enlarged = flame.evaluate(BOXES)
        assert [box["name"] for box in enlarged][-1] == "_copy_from_iter"
        whole = enlarged[0]["own"][1] - enlarged[0]["own"][0]
        assert all(box["own"][1] - box["own"][0] == pytest.approx(whole, abs=0.5) for box in enlarged)
        assert len(enlarged) < len(before) / 2
        flame.locator("b").first.click()
        assert flame.evaluate(BOXES) == before
        assert seen.complaints == []


def test_a_label_that_is_cut_shows_in_full_under_the_pointer(browser: Browser, pages: dict[str, Path]) -> None:
    with opened(browser, pages["cost"]) as (page, _):
        page.add_style_tag(content=".top { position: static !important; }")
        flame = page.locator("#cost .flame").first
        edges = "(label) => { const { left, right } = label.getBoundingClientRect(); return [left, right]; }"
        left, right = flame.evaluate(edges)
        cut = flame.locator("b").filter(has_text="with_a_name_that_is_long")
        assert cut.count() >= 20
        for place in (0, cut.count() - 1):
            label = cut.nth(place)
            assert label.evaluate("(label) => label.scrollWidth > label.clientWidth")
            label.hover()
            assert label.evaluate("(label) => label.scrollWidth <= label.clientWidth + 1")
            start, end = label.evaluate(edges)
            assert left - 1 <= start < end <= right + 1
