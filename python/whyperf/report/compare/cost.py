"""The cost of both cells of a pair: waterfall, tables of classes and functions, flame graph of the difference."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from whyperf.analyze.cost.text import cycles
from whyperf.analyze.cost.tree import Frame
from whyperf.analyze.text import count
from whyperf.compare.comparison import ClassDifference, Comparison, FunctionDifference, SideDifference
from whyperf.report.compare.pairs import MAX_COSTS, PairName, cost_pairs, largest, pair_name
from whyperf.report.compare.texts import (
    NONE,
    Mark,
    cycles_range,
    function_text,
    mark_of,
    ratio_text,
    signed_cycles,
)
from whyperf.report.compare.waterfall import Waterfall, waterfall_of, why_text
from whyperf.report.cost.flame import FlameGraph, flame_graph
from whyperf.report.cost.styles import look_of
from whyperf.report.explanation.styles import Look

MAX_FUNCTIONS = 4
"""Functions below each class in its table."""
MIN_RATIO = 0.005
"""Functions whose difference is a smaller part of the larger total are not listed, unless it is significant."""
MAX_CHANGED = 30
"""Functions in the table of those that changed most."""


@dataclass(frozen=True)
class ClassRow:
    """A row of the table of classes: a class with its look, or one of its functions (`is_sub`)."""

    look: Look | None
    is_sub: bool
    title: str
    why: str
    a: str
    b: str
    difference: str
    interval: str
    ratio: str
    mark: Mark


@dataclass(frozen=True)
class Column:
    """A heading of a table that can be sorted."""

    heading: str
    is_number: bool = True
    explanation: str = ""


@dataclass(frozen=True)
class Entry:
    """An entry of a table that can be sorted, and what it is sorted by."""

    text: str
    sort: str


@dataclass(frozen=True)
class SideView:
    """A side of a pair. With `refused`, there is nothing else."""

    role: str
    unit: str
    work: str
    total: str
    refused: str | None
    waterfall: Waterfall | None = None
    rows: tuple[ClassRow, ...] = ()
    has_intervals: bool = False
    columns: tuple[Column, ...] = ()
    functions: tuple[tuple[Entry, ...], ...] = ()
    note: str = ""
    word: str = "Cycles"


@dataclass(frozen=True)
class PairCost:
    """Both sides of a pair."""

    name: PairName
    sides: tuple[SideView, ...]


@dataclass(frozen=True)
class PairFlames:
    """The flame graphs of a pair: role, unit, graph."""

    name: PairName
    flames: tuple[tuple[str, str, FlameGraph], ...]


@dataclass(frozen=True)
class CostView:
    """The sections on cost: `left_out` pairs have no tables, `flames_left_out` no flame graphs."""

    pairs: tuple[PairCost, ...]
    left_out: int
    flames: tuple[PairFlames, ...]
    flames_left_out: int


def cost_view(comparison: Comparison, trees: Mapping[tuple[int, str], Frame]) -> CostView:
    """Both sections."""
    places = cost_pairs(comparison)
    shown = largest(comparison, places, MAX_COSTS)
    pairs = tuple(_pair(comparison, place) for place in shown)
    drawn = sorted({place for place, _ in trees})
    flames = tuple(_flames(comparison, place, trees) for place in drawn)
    compared = [place for place in places if any(side.refused is None for side in comparison.pairs[place].sides)]
    return CostView(pairs, len(places) - len(shown), flames, len(compared) - len(drawn))


def _pair(comparison: Comparison, place: int) -> PairCost:
    name = pair_name(comparison, place)
    return PairCost(name, tuple(_side(side, name) for side in comparison.pairs[place].sides))


def _flames(comparison: Comparison, place: int, trees: Mapping[tuple[int, str], Frame]) -> PairFlames:
    sides = [(side, trees[place, side.role]) for side in comparison.pairs[place].sides if (place, side.role) in trees]
    return PairFlames(
        pair_name(comparison, place),
        tuple(
            (side.role.capitalize(), f"{side.counted_in} per {side.work}", flame_graph(tree)) for side, tree in sides
        ),
    )


def _side(side: SideDifference, name: PairName) -> SideView:
    role = side.role.capitalize()
    if side.refused is not None:
        return SideView(role, side.unit, side.work, "", side.refused)
    interval = "" if side.test.low is None else f" ({cycles_range(side.test)})"
    shown = mark_of(side.test, "lower").text.removesuffix(" *")
    total = (
        f"{cycles(side.a)} → {cycles(side.b)} {side.counted_in} per {side.work}: "
        f"{signed_cycles(side.test.difference)}{interval}, {shown}"
    )
    waterfall = waterfall_of(side)
    smallest = MIN_RATIO * max(side.a, side.b)
    return SideView(
        role=role,
        unit=side.unit,
        work=side.work,
        total=total,
        refused=None,
        waterfall=waterfall,
        rows=(*_rows(side, smallest), _total_row(side)),
        has_intervals=side.test.low is not None,
        columns=_columns(name),
        functions=tuple(_changed(side)),
        note=_note(side, name),
        word=side.counted_in.replace("cycles", "Cycles"),
    )


def _total_row(side: SideDifference) -> ClassRow:
    return ClassRow(
        look=None,
        is_sub=False,
        title="All classes",
        why="",
        a=cycles(side.a),
        b=cycles(side.b),
        difference=signed_cycles(side.test.difference),
        interval=cycles_range(side.test),
        ratio=ratio_text(side.ratio),
        mark=mark_of(side.test, "lower"),
    )


def _rows(side: SideDifference, smallest: float) -> Iterator[ClassRow]:
    for entry in side.classes:
        if not entry.a and not entry.b:
            continue
        yield ClassRow(
            look=look_of(entry.name),
            is_sub=False,
            title=entry.title,
            why=why_text(entry, side.work),
            a=cycles(entry.a),
            b=cycles(entry.b),
            difference=signed_cycles(entry.test.difference),
            interval=cycles_range(entry.test),
            ratio=ratio_text(entry.ratio),
            mark=mark_of(entry.test, "lower"),
        )
        yield from _function_rows(entry, smallest)


def _function_rows(entry: ClassDifference, smallest: float) -> Iterator[ClassRow]:
    """The functions with the largest differences, and the others as one row: they add up to the class."""
    listed = [
        function
        for function in entry.functions
        if function.name is not None and (abs(function.test.difference) >= smallest or function.test.is_significant)
    ][:MAX_FUNCTIONS]
    for function in listed:
        yield ClassRow(
            look=None,
            is_sub=True,
            title=function_text(function),
            why="",
            a=cycles(function.exclusive_a),
            b=cycles(function.exclusive_b),
            difference=signed_cycles(function.test.difference),
            interval=cycles_range(function.test),
            ratio=ratio_text(function.exclusive_ratio),
            mark=mark_of(function.test, "lower") if entry.test.is_significant else Mark("", "not tested", ""),
        )
    rest = [function for function in entry.functions if function not in listed]
    if not listed or not rest:
        return
    a, b = sum(function.exclusive_a for function in rest), sum(function.exclusive_b for function in rest)
    yield ClassRow(
        look=None,
        is_sub=True,
        title="other functions",
        why="",
        a=cycles(a),
        b=cycles(b),
        difference=signed_cycles(sum(function.test.difference for function in rest)),
        interval="",
        ratio=ratio_text(b / a if a > 0 else None),
        mark=Mark("", "", ""),
    )


def _columns(name: PairName) -> tuple[Column, ...]:
    return (
        Column("Function", is_number=False),
        Column(name.a, explanation=f"Own cycles with {name.a}, without what the function calls."),
        Column(name.b, explanation=f"Own cycles with {name.b}, without what the function calls."),
        Column("Difference"),
        Column("Ratio", explanation="Own cycles: ratio of the two."),
        Column(f"{name.a} with callees", explanation="The function with all that it calls. These do not add up."),
        Column(f"{name.b} with callees", explanation="The function with all that it calls. These do not add up."),
        Column("Ratio with callees"),
        Column(f"Samples {name.a}"),
        Column(f"Samples {name.b}"),
        Column("Test", is_number=False),
    )


def _changed(side: SideDifference) -> Iterator[tuple[Entry, ...]]:
    """The functions that changed most, those that grew first."""
    named = [function for function in side.functions if function.name is not None and function.test.difference]
    changed = sorted(named, key=lambda function: -abs(function.test.difference))[:MAX_CHANGED]
    is_tested = side.test.is_significant or any(entry.test.is_significant for entry in side.classes)
    for function in sorted(changed, key=lambda function: -function.test.difference):
        yield _changed_row(function, is_tested=is_tested)


def _changed_row(function: FunctionDifference, *, is_tested: bool) -> tuple[Entry, ...]:
    name = function_text(function)
    # Functions are tested only where their side, or a class of it, differs.
    shown = mark_of(function.test, "lower").text if is_tested else "not tested"
    return (
        Entry(name, name),
        _cycles(function.exclusive_a),
        _cycles(function.exclusive_b),
        Entry(signed_cycles(function.test.difference), f"{function.test.difference:.6g}"),
        _ratio(function.exclusive_ratio, function.exclusive_b),
        _cycles(function.inclusive_a),
        _cycles(function.inclusive_b),
        _ratio(function.inclusive_ratio, function.inclusive_b),
        Entry(f"{function.samples_a:,}", str(function.samples_a)),
        Entry(f"{function.samples_b:,}", str(function.samples_b)),
        Entry(shown, shown),
    )


def _cycles(value: float | None) -> Entry:
    return Entry(NONE, "") if value is None else Entry(cycles(value), f"{value:.6g}")


def _ratio(ratio: float | None, b: float | None) -> Entry:
    """A ratio; of a function that only B has, the largest of all."""
    if ratio is None:
        return Entry("new" if b else NONE, "1e99" if b else "")
    return Entry(ratio_text(ratio), f"{ratio:.6g}")


def _note(side: SideDifference, name: PairName) -> str:
    samples = [sum(getattr(function, column) for function in side.functions) for column in ("samples_a", "samples_b")]
    return f"{count(samples[0], 'sample')} of {name.a}, {samples[1]:,} of {name.b}."
