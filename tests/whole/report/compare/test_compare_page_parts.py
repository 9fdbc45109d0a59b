"""The page of a comparison: what adds up, what is escaped, how many pairs it can hold, what it says where data lack."""

import re
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.unit.analyze import synthetic
from tests.unit.analyze.cost.sampled_results import add_samples
from tests.whole.report.compare import drawn_comparisons as made
from tests.whole.report.test_page import checked
from tests.whole.report.test_page_order import SIMPLE_BYTES
from whyperf.analyze.cost.classes import classes
from whyperf.analyze.cost.text import cycles
from whyperf.analyze.cost.tree import Frame, compared
from whyperf.compare import Source, compare_sources
from whyperf.compare.comparison import ClassDifference, Comparison, SideDifference
from whyperf.report.compare import compare_page, write_compare_page
from whyperf.report.compare.cost import cost_view
from whyperf.report.compare.figures import MAX_LIMIT, figures_of, ratio_axis
from whyperf.report.compare.pairs import MAX_COSTS, MAX_FLAMES, change_of, flame_pairs
from whyperf.report.compare.texts import MINUS
from whyperf.report.compare.waterfall import MAX_BARS, waterfall_of

HOSTILE = "<script>alert(1)</script>\"'><img src=x onerror=alert(2)>{{ 7 * 7 }}"


def section(page: str, name: str) -> str:
    (found,) = re.findall(rf'<section id="{name}">.*?</section>', page, re.DOTALL)
    return str(found)


costs = st.floats(0, 1e5).map(lambda value: round(value, 3))


@st.composite
def sides(draw: st.DrawFn) -> SideDifference:
    names = draw(st.lists(st.sampled_from([entry.name for entry in classes()]), unique=True, max_size=20))
    found: list[ClassDifference] = []
    for name in names:
        functions = [made.function(f"f{place}", draw(costs), draw(costs)) for place in range(draw(st.integers(1, 3)))]
        counts = draw(st.none() | st.tuples(st.floats(0.001, 10), st.floats(0.001, 10)))
        is_counted = next(entry for entry in classes() if entry.name == name).per is not None
        found.append(made.cost_class(name, functions, counts=counts if is_counted else None))
    return made.side("sender", found)


@given(sides())
def test_bars_of_a_waterfall_go_from_a_to_b_without_a_gap(side: SideDifference) -> None:
    found = waterfall_of(side)
    tolerance = 1e-9 * (1 + side.a + side.b)
    at = side.a
    for bar in found.bars:
        assert bar.start == pytest.approx(at, abs=tolerance)
        if bar.parts:
            count, each = bar.parts
            assert count.start == bar.start
            assert count.end == each.start
            assert each.end == bar.end
        at = bar.end
    assert at == pytest.approx(side.b, abs=tolerance)
    assert len(found.bars) <= MAX_BARS + 1
    ends = [*(bar.end for bar in found.bars), *(part.end for bar in found.bars for part in bar.parts)]
    values = [side.a, side.b, *ends]
    assert all(-0.01 <= found.place(value) <= 100.01 for value in values)


def test_functions_of_the_table_add_up_to_their_class() -> None:
    functions = [made.function(f"f{place}", 10, 10 + place) for place in reversed(range(1, 9))]
    side = made.side("sender", [made.cost_class("copy", functions), made.cost_class("memory", functions[-1:])])
    (view,) = cost_view(made.comparison(made.cell_pair(sides=[side])), {}).pairs
    rows = view.sides[0].rows
    assert [row.title for row in rows] == [
        *("Copying payload", "f8", "f7", "f6", "f5", "other functions", "Memory", "f1", "All classes")
    ]
    differences = [int(row.difference) for row in rows]
    assert differences[0] == sum(differences[1:6]) == 36
    assert differences[0] + differences[6] == differences[-1] == 37


def test_the_cost_of_a_class_is_split_into_more_events_and_dearer_ones() -> None:
    page = section(compare_page(made.comparison(made.cell_pair())), "cost")
    # From 0.02 to 0.1 packets of 5,000 and 2,700 cycles: 0.08 × 3,850, and 0.06 × 2,300 less.
    text = f"Packets sent per KByte 0.0200 → 0.100: +308. Each costs 5,000 → 2,700: {MINUS}138."
    (bar,) = [bar for bar in waterfall_of(made.sender()).bars if bar.parts]
    assert [part.end - part.start for part in bar.parts or ()] == pytest.approx([308, -138])
    # Of the bar, and of the row of the table.
    assert page.count(text) == 2
    assert page.count("cmp-part count") == page.count("cmp-part each") == 1


def test_names_are_escaped_wherever_they_come_from() -> None:
    hostile = made.function(HOSTILE, 0, 500, is_significant=True)
    side = made.side("sender", [made.cost_class("copy", [hostile], is_significant=True)])
    odd: dict[str, object] = {"path": HOSTILE}
    pairs = [
        made.cell_pair(number, sides=[side], setting=odd).model_copy(
            update={"limited_a": HOSTILE, "notes": (HOSTILE,), "differ": {HOSTILE: (HOSTILE, None)}}
        )
        for number in (1, 2)
    ]
    comparison = made.comparison(*pairs, name=HOSTILE)
    condition = comparison.conditions[0].model_copy(update={"name": HOSTILE, "values": (HOSTILE, None)})
    comparison = comparison.model_copy(update={"conditions": (condition,), "notes": (HOSTILE,)})
    root = Frame("sender", "rest", "", 500, children=(Frame(HOSTILE, "kernel", "", 500),))
    read = checked(compare_page(comparison, {(0, "sender"): compared(None, root)}, [f"whyperf run {HOSTILE}"]))
    assert read.tags.count("script") == 1
    assert "img" not in read.tags
    assert not [name for name in read.attributes if name.startswith("on")]
    assert read.text.count(HOSTILE) >= 20
    assert "49" not in re.findall(r"onerror=alert\(2\)>(.{0,6})", read.text)


def hundred() -> Comparison:
    return made.comparison(*(made.cell_pair(number, factor=1 + number / 100) for number in range(1, 101)))


def test_a_hundred_pairs_have_an_overview_with_links_and_the_largest_have_costs() -> None:
    comparison = hundred()
    page = compare_page(comparison)
    assert len(page.encode()) < SIMPLE_BYTES
    links = re.findall('<a href="#(pair-[^"]*)"', page)
    assert links == [f"pair-{number}" for number in range(1, 101)]
    assert set(links) <= set(checked(page).ids)
    cost = section(page, "cost")
    assert cost.count('<details class="why-cell"') == MAX_COSTS
    assert f"{100 - MAX_COSTS} are left out" in cost
    # The largest ratio of costs is that of the last pair.
    assert "write size 102,400 bytes" in cost
    assert "write size 1,024 bytes" not in cost
    assert flame_pairs(comparison) == tuple(range(100 - MAX_FLAMES, 100))


def test_the_overview_marks_what_is_significant_by_a_sign_and_words() -> None:
    overview = figures_of(made.comparison(made.cell_pair(1), made.cell_pair(2, factor=1.5)), frozenset()).overview
    assert overview is not None
    assert overview.columns == ("Goodput", "Cycles/KB, sender")
    (same, cost), (slower, _) = (row.entries for row in overview.rows)
    assert (same.text, same.style) == ("1.00", "")
    assert same.title.endswith("not significant")
    assert (slower.text, slower.style) == ("0.667*", "worse step3")
    assert slower.title.endswith("lower, worse")
    assert (cost.text, cost.style) == ("1.29*", "worse step2")


def test_unknown_ratios_are_dashes_and_untested_differences_say_so() -> None:
    none = made.figure("retransmitted", 0.0, 0.001)
    single = made.figure("goodput", 1e9, 2e9)
    single = single.model_copy(
        update={"ratio_low": None, "ratio_high": None, "test": single.test.model_copy(update={"p_value": None})}
    )
    pair = made.cell_pair().model_copy(update={"quantities": (single, none)})
    first, second = figures_of(made.comparison(pair), frozenset()).pairs[0].rows
    assert (first.ratio, first.interval, first.mark.text) == ("2.00 ×", "—", "not tested")
    assert (second.ratio, second.whisker) == ("—", None)


@pytest.mark.parametrize("is_empty", [True, False])
def test_what_is_missing_is_said(*, is_empty: bool) -> None:
    why = "A counts PMU cycles, B TSC reference cycles; these are no cycles of the same kind"
    given_sides = [] if is_empty else [made.side("sender", [], refused=why)]
    pair = made.cell_pair(sides=given_sides).model_copy(update={"budgets": ()})
    page = compare_page(made.comparison(pair))
    if is_empty:
        assert "Measure both with <code>--evidence profile</code>" in section(page, "cost")
    else:
        assert f"Not compared: {why}." in section(page, "cost")
    assert "<code>--evidence profile</code>" in section(page, "flames")
    assert "--evidence segments" in section(page, "times")
    assert "cmp-fall" not in section(page, "cost")


@given(st.lists(st.floats(1e-6, 1e6), min_size=1, max_size=8))
def test_an_axis_has_1_in_its_center_and_ticks_apart(ratios: list[float]) -> None:
    axis = ratio_axis(ratios)
    assert axis.place(1.0) == 50
    assert axis.limit <= MAX_LIMIT
    places = [tick.place for tick in axis.ticks]
    assert 50 in places
    assert all(second - first > 8 for first, second in pairwise(places))
    for ratio in ratios:
        assert axis.place(ratio) + axis.place(1 / ratio) == pytest.approx(100, abs=0.02)
        whisker = axis.whisker(ratio, ratio / 10, ratio * 10)
        assert 0 <= whisker.low <= whisker.dot <= whisker.high <= 100


def test_the_largest_change_of_a_pair_counts_costs_before_rates() -> None:
    assert change_of(made.cell_pair(factor=2.0)) > change_of(made.cell_pair(factor=1.0))
    bare = made.cell_pair(sides=[], factor=4.0)
    assert change_of(bare) == pytest.approx(1.386, abs=0.001)


@pytest.mark.parametrize("given_sources", [2, 1])
def test_a_written_page_has_the_trees_of_the_record_and_the_commands(tmp_path: Path, given_sources: int) -> None:
    """Two conditions of one result have labels of their own, though there is one source."""
    trials = [
        synthetic.Trial(cell=cell, block=block, duration_s=2, rate_bps=rate * block, write_size_bytes=size)
        for cell, rate, size in (("c0001", 1e9, 1024), ("c0002", 3e9, 65536))
        for block in (1, 2)
    ]
    experiment = add_samples(synthetic.write(tmp_path / "one", trials))
    sources = [Source("A", experiment, "c0001"), Source("B", experiment, "c0002")]
    comparison = compare_sources(sources)
    path = tmp_path / "compare.html"
    write_compare_page(path, comparison, sources if given_sources == 2 else [Source("A", experiment)])
    page = path.read_text()
    flames = section(page, "flames")
    for side in comparison.pairs[0].sides:
        change = side.test.difference
        sign = "+" if change > 0 else MINUS
        assert f"<b>{side.role} <i>{cycles(side.a)} → {cycles(side.b)}, {sign}{cycles(abs(change))}</i></b>" in flames
    assert "_copy_from_iter <i>" in flames
    commands = re.findall(r"<pre class=.command why-command.><code>(.*?)</code>", page)
    assert len(commands) == 2
    assert "whyperf run " in commands[0]
    assert commands[1].startswith("whyperf compare ")
