"""The report as a reader sees it: every chart drawn, nothing loaded, nothing wider than the screen."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page

from tests.browser.watched import DRAWN, NARROW, OVERFLOW, WIDE, Observation, Scheme, watched

KINDS = ("sweep", "quick", "repeated", "shared", "buffers", "rr-ack", "latency-load", "exchange", "transports", "cost")


@contextmanager
def opened(
    browser: Browser, file: Path, width: int = WIDE, scheme: Scheme = "light"
) -> Iterator[tuple[Page, Observation]]:
    """The page, ready, and what was seen so far."""
    with watched(browser, file, width, scheme) as (page, seen):
        page.wait_for_selector("html[data-ready=true]", state="attached")
        page.wait_for_function("Bokeh.documents.every((document_) => document_.is_idle)")
        yield page, seen


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    ("width", "scheme"),
    [
        (WIDE, "light"),
        (NARROW, "dark"),
        # What depends on both the width and the colors would be rare.
        pytest.param(WIDE, "dark", marks=pytest.mark.slow),
        pytest.param(NARROW, "light", marks=pytest.mark.slow),
    ],
)
def test_every_chart_is_drawn_and_nothing_is_loaded(
    browser: Browser, pages: dict[str, Path], kind: str, width: int, scheme: Scheme
) -> None:
    with opened(browser, pages[kind], width, scheme) as (page, seen):
        charts = page.evaluate(DRAWN)
        assert charts
        for chart in charts:
            assert chart["canvases"] > 0, chart
            assert chart["inked"] > 500, chart
            assert chart["colors"] > 5, chart
        assert page.evaluate(OVERFLOW) == {"page": 0, "outside": []}
        page.wait_for_timeout(100)
        assert seen.complaints == []
        assert [url for url in seen.requests if not url.startswith(("file:", "data:", "blob:"))] == []
        assert seen.requests[0] == pages[kind].as_uri()


def test_the_theme_button_repaints_page_and_charts(browser: Browser, pages: dict[str, Path]) -> None:
    colors = """() => [getComputedStyle(document.body).backgroundColor,
        Bokeh.documents[0].roots()[0].left[0].major_label_text_color,
        Bokeh.documents[0].roots()[0].renderers[0].glyph.fill_color]"""
    with opened(browser, pages["sweep"]) as (page, seen):
        light = page.evaluate(colors)
        page.click("#theme")
        dark = page.evaluate(colors)
        assert all(before != after for before, after in zip(light, dark, strict=True))
        page.click("#theme")
        assert page.evaluate(colors) == light
        assert seen.complaints == []
    with opened(browser, pages["sweep"], scheme="dark") as (page, _):
        assert page.evaluate(colors) == dark


def test_the_legend_hides_a_line_everywhere(browser: Browser, pages: dict[str, Path]) -> None:
    visible = """() => Bokeh.documents.flatMap((document_) => document_.roots()).flatMap((plot) => plot.renderers)
        .filter(({ tags }) => tags.includes("line|sweep-main-line-0")).map(({ visible }) => visible)"""
    with opened(browser, pages["sweep"]) as (page, _):
        button = page.locator('button[data-line="sweep-main-line-0"]').first
        shown = page.evaluate(visible)
        assert len(shown) >= 5
        assert all(shown)
        button.click()
        assert not any(page.evaluate(visible))
        assert button.get_attribute("aria-pressed") == "false"
        button.click()
        assert all(page.evaluate(visible))


def test_a_choice_changes_the_data(browser: Browser, pages: dict[str, Path]) -> None:
    heights = '() => Bokeh.documents[0].get_model_by_name("switched-0").data.y'
    with opened(browser, pages["sweep"]) as (page, seen):
        assert page.locator("#sweep-main-at-write_size_bytes").input_value() == "8,192"
        before = page.evaluate(heights)
        page.select_option("#sweep-main-at-write_size_bytes", "512")
        after = page.evaluate(heights)
        assert len(before) == len(after) == 7
        assert all(small < large for small, large in zip(after, before, strict=True))
        assert seen.complaints == []


def test_the_table_sorts_by_number_both_ways(browser: Browser, pages: dict[str, Path]) -> None:
    with opened(browser, pages["sweep"]) as (page, _):
        head = page.locator(".sortable th", has_text="Goodput")
        # Of its own table: a report has several.
        values = """(head) => [...head.closest("table").querySelectorAll("tbody tr")]
            .map((row) => +row.cells[head.cellIndex].dataset.v)"""
        head.locator("button").click()
        assert head.get_attribute("aria-sort") == "ascending"
        ascending = head.evaluate(values)
        assert len(ascending) > 1
        assert ascending == sorted(ascending)
        head.locator("button").click()
        assert head.evaluate(values) == sorted(ascending, reverse=True)


def test_a_point_shows_its_cell(browser: Browser, pages: dict[str, Path]) -> None:
    place = """() => {
      const plot = Bokeh.documents[0].roots()[0];
      const frame = Bokeh.index.get_by_id(plot.id).frame;
      const points = plot.renderers.findLast((mark) => mark.glyph.type === "Scatter" && mark.data_source.data.shown);
      const { x, y, shown } = points.data_source.data;
      return [frame.x_scale.compute(x[3]), frame.y_scale.compute(y[3]), shown[3]];
    }"""
    with opened(browser, pages["sweep"]) as (page, _):
        chart = page.locator("#chart-sweep-main-goodput")
        chart.scroll_into_view_if_needed()
        box = chart.bounding_box()
        assert box is not None
        x, y, shown = page.evaluate(place)
        page.mouse.move(box["x"] + x - 3, box["y"] + y)
        page.mouse.move(box["x"] + x, box["y"] + y)
        page.get_by_text(shown).first.wait_for()


def test_text_has_contrast(browser: Browser, pages: dict[str, Path]) -> None:
    """WCAG 2.1 asks for 4.5 : 1 between text and page."""
    ratio = """() => {
      const linear = (v) => v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4;
      const channel = (value) => linear(value / 255);
      const light = (color) => {
        const [r, g, b] = color.match(/[\\d.]+/g).map(Number);
        return 0.2126 * channel(r) + 0.7152 * channel(g) + 0.0722 * channel(b);
      };
      const ground = (element) => {
        for (let at = element; at; at = at.parentElement) {
          const color = getComputedStyle(at).backgroundColor;
          if (color !== "rgba(0, 0, 0, 0)") return color;
        }
      };
      const texts = [...document.querySelectorAll("p, dt, dd, h1, h2, h3, td, th, label, li, a, code")];
      return Math.min(...texts.map((element) => {
        const [a, b] = [light(getComputedStyle(element).color), light(ground(element))].sort((x, y) => y - x);
        return (a + 0.05) / (b + 0.05);
      }));
    }"""
    schemes: tuple[Scheme, ...] = ("light", "dark")
    for scheme in schemes:
        with opened(browser, pages["repeated"], scheme=scheme) as (page, _):
            assert page.evaluate(ratio) >= 4.5
