"""The report as a reader sees it: every chart drawn, nothing loaded, nothing wider than the screen."""

from collections.abc import Iterator
from itertools import cycle
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page

from tests.browser.test_cost_page import COLORS
from tests.browser.watched import DRAWN, WIDE, Observation, Scheme, assert_fits_at_both_widths, opened

KINDS = ("sweep", "quick", "repeated", "rr-ack", "latency-load", "transports", "cost")


@pytest.fixture(scope="module")
def sweep(browser: Browser, pages: dict[str, Path]) -> Iterator[tuple[Page, Observation]]:
    """The page of a sweep, open for all tests that use its controls."""
    with opened(browser, pages["sweep"]) as found:
        yield found


@pytest.mark.parametrize(("kind", "scheme"), list(zip(KINDS, cycle(("light", "dark")), strict=False)))
def test_every_chart_is_drawn_and_nothing_is_loaded(
    browser: Browser, pages: dict[str, Path], kind: str, scheme: Scheme
) -> None:
    with opened(browser, pages[kind], WIDE, scheme) as (page, seen):
        charts = page.evaluate(DRAWN)
        assert charts
        for chart in charts:
            assert chart["canvases"] > 0, chart
            assert chart["inked"] > 500, chart
            assert chart["colors"] > 5, chart
        assert_fits_at_both_widths(page)
        assert seen.complaints == []
        assert [url for url in seen.requests if not url.startswith(("file:", "data:", "blob:"))] == []
        assert seen.requests[0] == pages[kind].as_uri()


def test_the_theme_button_repaints_page_and_charts(
    browser: Browser, pages: dict[str, Path], sweep: tuple[Page, Observation]
) -> None:
    colors = """() => [getComputedStyle(document.body).backgroundColor,
        Bokeh.documents[0].roots()[0].left[0].major_label_text_color,
        Bokeh.documents[0].roots()[0].renderers[0].glyph.fill_color]"""
    page, seen = sweep
    light = page.evaluate(colors)
    page.click("#theme")
    dark = page.evaluate(colors)
    assert all(before != after for before, after in zip(light, dark, strict=True))
    page.click("#theme")
    assert page.evaluate(colors) == light
    assert seen.complaints == []
    with opened(browser, pages["sweep"], scheme="dark") as (page, _):
        assert page.evaluate(colors) == dark


def test_the_legend_hides_a_line_everywhere(sweep: tuple[Page, Observation]) -> None:
    visible = """() => Bokeh.documents.flatMap((document_) => document_.roots()).flatMap((plot) => plot.renderers)
        .filter(({ tags }) => tags.includes("line|sweep-main-line-0")).map(({ visible }) => visible)"""
    page, _ = sweep
    button = page.locator('button[data-line="sweep-main-line-0"]').first
    shown = page.evaluate(visible)
    assert len(shown) >= 5
    assert all(shown)
    button.click()
    assert not any(page.evaluate(visible))
    assert button.get_attribute("aria-pressed") == "false"
    button.click()
    assert all(page.evaluate(visible))


def test_a_choice_changes_the_data(sweep: tuple[Page, Observation]) -> None:
    heights = '() => Bokeh.documents[0].get_model_by_name("switched-0").data.y'
    page, seen = sweep
    assert page.locator("#sweep-main-at-write_size_bytes").input_value() == "8,192"
    before = page.evaluate(heights)
    page.select_option("#sweep-main-at-write_size_bytes", "512")
    after = page.evaluate(heights)
    assert len(before) == len(after) == 3
    assert all(small < large for small, large in zip(after, before, strict=True))
    assert seen.complaints == []


def test_the_table_sorts_by_number_both_ways(sweep: tuple[Page, Observation]) -> None:
    page, _ = sweep
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


def test_text_has_contrast(browser: Browser, pages: dict[str, Path]) -> None:
    """WCAG 2.1 asks for 4.5 : 1 between text and page."""
    schemes: tuple[Scheme, ...] = ("light", "dark")
    for scheme in schemes:
        with opened(browser, pages["repeated"], scheme=scheme) as (page, _):
            texts = page.locator("p, dt, dd, h1, h2, h3, td, th, label, li, a, code")
            assert min(texts.evaluate_all(COLORS)) >= 4.5
