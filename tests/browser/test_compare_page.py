"""The page of `whyperf compare` as a reader sees it: places of bars, colors, sorting, links, and without scripts."""

from pathlib import Path

import pytest
from playwright.sync_api import Browser

from lab.tools.report import page as tools_page
from tests.browser.test_cost_page import COLORS
from tests.browser.watched import NARROW, PATIENCE_MS, WIDE, Scheme, assert_fits_at_both_widths, opened
from tests.lab.unit.tools import test_tool_ratios as tools
from tests.whole.report.compare import drawn_comparisons as made
from whyperf.analyze.cost.tree import Frame, compared
from whyperf.report.compare import compare_page

BARS = """(fall) => [...fall.querySelectorAll("li")].map((item) => {
  const box = (element) => { const { left, right } = element.getBoundingClientRect(); return [left, right]; };
  const bar = item.querySelector(".cmp-bar");
  return {
    bar: box(bar), track: box(bar.parentElement), shrank: bar.classList.contains("shrank"),
    parts: [...item.querySelectorAll(".cmp-part")].map(box),
  };
})"""
"""Left and right of the bar of each row, of the track that it is in, and of its parts."""
TEXTS = "(all) => all.map((element) => element.textContent.trim())"


def tree(factor: float) -> Frame:
    def frame(name: str, value: float, *children: Frame) -> Frame:
        own = value if factor > 1 or name != "lock" else 0
        return Frame(name, "kernel", "", own + sum(child.value for child in children), children=children)

    calls = [frame(f"f{place}", 10 + 9 * place * factor) for place in range(12)]
    return frame("sender", 100, frame("send", 50 * factor, *calls, frame("lock", 90)))


@pytest.fixture(scope="session")
def compared_pages(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Pages of one pair, of a hundred, of cells without stack samples, and of tools."""
    folder = tmp_path_factory.mktemp("compared")
    trees = {(0, "sender"): compared(tree(2.0), tree(1.0))}
    factors = [1.0, 1.04, 0.8, 1.5, 3.0]
    many = [made.cell_pair(number, factor=factors[number % 5]) for number in range(1, 101)]
    bare = made.cell_pair(sides=[]).model_copy(update={"budgets": ()})
    texts = {
        "one": compare_page(made.comparison(made.cell_pair(factor=1.5)), trees, ["whyperf run quick"]),
        "many": compare_page(made.comparison(*many)),
        "bare": compare_page(made.comparison(bare)),
        "tools": tools_page(tools.of_two_tools()),
    }
    for name, text in texts.items():
        (folder / f"{name}.html").write_text(text)
    return {name: folder / f"{name}.html" for name in texts}


@pytest.mark.parametrize(("name", "scheme"), [("one", "light"), ("many", "dark"), ("bare", "light"), ("tools", "dark")])
def test_it_fits_its_window_loads_nothing_and_complains_about_nothing(
    browser: Browser, compared_pages: dict[str, Path], name: str, scheme: Scheme
) -> None:
    with opened(browser, compared_pages[name], WIDE, scheme) as (page, seen):
        page.evaluate("document.querySelectorAll('details').forEach((found) => { found.open = true; })")
        assert_fits_at_both_widths(page)
        assert seen.complaints == []
        assert seen.requests == [compared_pages[name].as_uri()]


def test_each_bar_starts_where_the_one_above_ends(browser: Browser, compared_pages: dict[str, Path]) -> None:
    with opened(browser, compared_pages["one"], NARROW) as (page, _):
        rows = page.locator("#cost .cmp-fall").evaluate(BARS)
        assert len(rows) == 6
        end = rows[0]["bar"][1]
        for row in rows[1:-1]:
            start, stop = reversed(row["bar"]) if row["shrank"] else row["bar"]
            # Thin bars are 2 pixels wide.
            assert start == pytest.approx(end, abs=2.1)
            assert row["track"][0] - 0.5 <= row["bar"][0] < row["bar"][1] <= row["track"][1] + 2.1
            if row["parts"]:
                count, each = row["parts"]
                assert count[0] == pytest.approx(start, abs=1)
                assert each[0] == pytest.approx(stop, abs=1)
                assert each[1] == pytest.approx(count[1], abs=1)
            end = stop
        assert rows[-1]["bar"][1] == pytest.approx(end, abs=2.1)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_colors_have_contrast_and_are_not_the_only_sign(
    browser: Browser, compared_pages: dict[str, Path], scheme: Scheme
) -> None:
    with opened(browser, compared_pages["many"], WIDE, scheme) as (page, _):
        colored = page.locator(".cmp-overview td:is(.better, .worse)")
        assert colored.count() > 100
        assert min(colored.evaluate_all(COLORS)) >= 4.5
        assert all(text.endswith("*") for text in colored.evaluate_all(TEXTS))
        plain = page.locator(".cmp-overview td:not(.better, .worse)").evaluate_all(TEXTS)
        assert not [text for text in plain if text.endswith("*")]
    with opened(browser, compared_pages["one"], WIDE, scheme) as (page, _):
        labels = page.locator(".flame.change li:not(.gone) > :is(b, span)")
        assert min(labels.evaluate_all(COLORS)) >= 4.5
        looks = "(all) => all.map((label) => getComputedStyle(label).backgroundColor)"
        assert len(set(labels.evaluate_all(looks))) >= 8
        gone = page.locator(".flame.change li.gone > :is(b, span)")
        assert gone.count() == 2
        for label in gone.all():
            assert "gradient" in label.evaluate("(label) => getComputedStyle(label).backgroundImage")


def test_the_overview_is_sorted_and_its_links_open_pairs(browser: Browser, compared_pages: dict[str, Path]) -> None:
    with opened(browser, compared_pages["many"]) as (page, _):
        page.get_by_role("button", name="Goodput").click()
        ratios = page.locator(".cmp-overview tbody tr td:nth-child(2)").evaluate_all(TEXTS)
        values = [float(text.removesuffix("*")) for text in ratios]
        assert values == sorted(values)
        assert len(values) == 100
        assert len(set(values)) == 5
        page.locator(".cmp-overview a").first.click()
        opened_pairs = page.locator("#figures details[open]")
        # The page opens it when the browser says that the place has changed.
        opened_pairs.first.wait_for()
        assert opened_pairs.count() == 1
        assert "0.333" in opened_pairs.inner_text()


def test_without_scripts_all_can_be_read(browser: Browser, compared_pages: dict[str, Path]) -> None:
    context = browser.new_context(java_script_enabled=False, viewport={"width": WIDE, "height": 900})
    context.set_default_timeout(PATIENCE_MS)
    page = context.new_page()
    page.goto(compared_pages["one"].as_uri())
    places = ("#conditions table", ".cmp-plot", ".cmp-figures", ".cmp-fall", ".cmp-classes", ".flame-box", ".why-stack")
    for name in places:
        assert page.locator(name).first.is_visible(), name
    # Of the rows with bars, screen readers read name and amount.
    rows = page.get_by_role("list", name="Sender: from A to B, class by class").get_by_role("listitem")
    assert "TCP or UDP transmit" in rows.nth(1).inner_text()
    assert "+305*" in rows.nth(1).inner_text()
    context.close()
