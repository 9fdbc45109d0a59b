"""Figures of pairs: tables with an interval plot, and an overview of many pairs.

A logarithmic axis of ratios around 1, and where dots and whiskers are on it.
"""

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from whyperf.analyze.text import count, factor_name, level_with_unit
from whyperf.compare.comparison import CellPair, Comparison, QuantityDifference
from whyperf.report.compare.pairs import MAX_FIGURES, PairName, largest, pair_name
from whyperf.report.compare.texts import (
    NONE,
    Mark,
    mark_of,
    range_text,
    ratio_text,
    signed_value,
    value_text,
)

MIN_LIMIT = math.log(1.02)
"""The axis reaches at least from 1 / 1.02 to 1.02, so that noise does not look like a difference."""
REACH = 1.3
"""The axis reaches at least this many times as far (in logarithms) as the ratio that is farthest from 1."""
MAX_REACH = 2.5
"""It reaches to the ends of all intervals, but not farther than this many times as far as the median of them."""
MAX_LIMIT = math.log(1e4)
_STEPS = (1.01, 1.02, 1.05, 1.1, 1.2, 1.5, 2.0, 3.0, 5.0, 10.0, 30.0, 100.0, 1000.0, 10_000.0)
_ROOM = 0.2
"""Part of half the axis between two ticks at least."""


@dataclass(frozen=True)
class Tick:
    """A tick: its place in percent of the width, and its text."""

    place: float
    text: str


@dataclass(frozen=True)
class Whisker:
    """A ratio and its interval, in percent of the width. `is_cut` where the interval goes beyond the axis."""

    dot: float
    low: float
    high: float
    is_cut: bool


@dataclass(frozen=True)
class RatioAxis:
    """An axis from exp(-limit) to exp(limit)."""

    limit: float

    def place(self, ratio: float) -> float:
        """Where a positive ratio is, in percent of the width; at the edge what is beyond."""
        part = (math.log(ratio) / self.limit + 1) / 2 if ratio > 0 else 0.0
        return round(100 * min(max(part, 0.0), 1.0), 2)

    def whisker(self, ratio: float, low: float | None, high: float | None) -> Whisker:
        """A dot, and a whisker where there is an interval."""
        ends = (low or ratio, high or ratio)
        is_cut = any(end > 0 and abs(math.log(end)) > self.limit for end in ends)
        return Whisker(self.place(ratio), self.place(ends[0]), self.place(ends[1]), is_cut)

    @property
    def ticks(self) -> tuple[Tick, ...]:
        """Round ratios on both sides of 1."""
        kept: list[float] = []
        farthest = 0.97 * self.limit
        for step in reversed(_STEPS):
            # Labels need room.
            if _ROOM * self.limit <= math.log(step) <= farthest:
                kept.insert(0, step)
                farthest = math.log(step) - _ROOM * self.limit
        below = [Tick(self.place(1 / step), _text(1 / step)) for step in reversed(kept)]
        return (*below, Tick(50.0, "1"), *(Tick(self.place(step), _text(step)) for step in kept))


def ratio_axis(ratios: Iterable[float], ends: Iterable[float] = ()) -> RatioAxis:
    """The axis for these ratios and ends of intervals, which are positive."""
    farthest = max((abs(math.log(ratio)) for ratio in ratios), default=0.0)
    sizes = sorted(abs(math.log(end)) for end in ends) or [0.0]
    # One figure with a wide interval, such as few losses, must not squeeze all others.
    widest = min(1.05 * sizes[-1], MAX_REACH * max(farthest, sizes[len(sizes) // 2]))
    return RatioAxis(min(max(REACH * farthest, widest, MIN_LIMIT), MAX_LIMIT))


def _text(ratio: float) -> str:
    return f"{ratio:.3g}" if ratio < 1000 else f"{ratio:,.0f}"


OVERVIEW = (
    *("goodput", "transactions", "datagrams", "lost_datagrams", "latency_p50", "latency_p99", "rtt_p50", "rtt_p99"),
    *("cycles_sender", "cycles_receiver", "transaction_cycles_sender", "transaction_cycles_receiver"),
)
"""Columns of the overview, of those that any pair has."""
STEPS = (1.03, 1.1, 1.3, 2.0)
"""Significant ratios from these on, and their inverses, have a color each, from the faintest to the strongest."""


@dataclass(frozen=True)
class FigureRow:
    """A figure of both cells. `whisker` is None where there is no positive ratio."""

    title: str
    a: str
    b: str
    ratio: str
    interval: str
    mark: Mark
    whisker: Whisker | None


@dataclass(frozen=True)
class PairFigures:
    """The figures of a pair, the ticks of its plot, and what limits its cells.

    `is_cut` where an interval goes beyond the axis.
    """

    name: PairName
    rows: tuple[FigureRow, ...]
    ticks: tuple[Tick, ...]
    is_cut: bool
    limited: tuple[tuple[str, str], ...]
    differ: tuple[tuple[str, str, str], ...]
    trials: str
    notes: tuple[str, ...]


@dataclass(frozen=True)
class OverviewEntry:
    """A ratio in the overview; `sort` is what the column is sorted by, `style` its color."""

    text: str
    sort: str
    style: str
    title: str


@dataclass(frozen=True)
class OverviewRow:
    """The main figures of a pair; `link` is empty where the page has no more of it."""

    title: str
    link: str
    entries: tuple[OverviewEntry, ...]


@dataclass(frozen=True)
class Overview:
    """All pairs in one table."""

    columns: tuple[str, ...]
    rows: tuple[OverviewRow, ...]


@dataclass(frozen=True)
class Figures:
    """The section: an overview where there are several pairs, and the figures of pairs."""

    overview: Overview | None
    pairs: tuple[PairFigures, ...]
    left_out: int


def figures_of(comparison: Comparison, given: frozenset[str]) -> Figures:
    """The section. `given` are settings that the page has named before."""
    places = largest(comparison, range(len(comparison.pairs)), MAX_FIGURES)
    pairs = tuple(_pair(comparison.pairs[place], pair_name(comparison, place), given) for place in places)
    overview = _overview(comparison, set(places)) if len(comparison.pairs) > 1 else None
    return Figures(overview, pairs, len(comparison.pairs) - len(pairs))


def _pair(pair: CellPair, name: PairName, given: frozenset[str]) -> PairFigures:
    drawn = [entry for entry in pair.quantities if entry.ratio]
    ends = [end for entry in drawn for end in (entry.ratio_low, entry.ratio_high) if end]
    axis = ratio_axis([entry.ratio for entry in drawn if entry.ratio], ends)
    rows = tuple(
        FigureRow(
            title=entry.title,
            a=value_text(entry.unit, entry.a),
            b=value_text(entry.unit, entry.b),
            ratio=ratio_text(entry.ratio),
            interval=interval_text(entry),
            mark=mark_of(entry.test, entry.better),
            whisker=axis.whisker(entry.ratio, entry.ratio_low, entry.ratio_high) if entry.ratio else None,
        )
        for entry in pair.quantities
    )
    limited = [(name.a, pair.limited_a), (name.b, pair.limited_b)]
    return PairFigures(
        name=name,
        rows=rows,
        ticks=axis.ticks,
        is_cut=any(row.whisker.is_cut for row in rows if row.whisker),
        limited=tuple((label, text) for label, text in limited if text is not None),
        differ=tuple(_differ(pair, given)),
        trials=_trials(pair, name),
        notes=pair.notes,
    )


def interval_text(entry: QuantityDifference) -> str:
    """The interval of a ratio or, where it has none, of the difference."""
    if entry.is_ratio_tested or entry.test.low is None or entry.test.high is None:
        return range_text(entry.ratio_low, entry.ratio_high)
    ends = (signed_value(entry.unit, entry.test.low), signed_value(entry.unit, entry.test.high))
    return f"difference {ends[0]} to {ends[1]}"


def _differ(pair: CellPair, given: frozenset[str]) -> Iterator[tuple[str, str, str]]:
    """Factors that differ, with the level in both cells."""
    for factor, levels in pair.differ.items():
        if factor not in given:
            a, b = (NONE if level is None else level_with_unit(factor, level) for level in levels)
            yield factor_name(factor), a, b


def _trials(pair: CellPair, name: PairName) -> str:
    """The number of trials that the figures are means of."""
    counts = sorted({(entry.trials_a, entry.trials_b) for entry in pair.quantities}, reverse=True)
    if not counts:
        return ""
    a, b = counts[0]
    is_paired = any(entry.test.is_paired for entry in pair.quantities)
    how = "measured in the same blocks and compared block by block" if is_paired else "compared by Welch's test"
    return f"Means over {count(a, 'trial')} of {name.a} and {b:,} of {name.b}, {how}."


def _overview(comparison: Comparison, shown: set[int]) -> Overview:
    present = {entry.name: entry.title for pair in comparison.pairs for entry in pair.quantities}
    names = [name for name in OVERVIEW if name in present]
    rows = []
    for place, pair in enumerate(comparison.pairs):
        name = pair_name(comparison, place)
        found = {entry.name: entry for entry in pair.quantities}
        entries = tuple(_entry(found.get(column)) for column in names)
        rows.append(OverviewRow(name.title, f"#{name.anchor}" if place in shown else "", entries))
    return Overview(tuple(present[name] for name in names), tuple(rows))


def _entry(found: QuantityDifference | None) -> OverviewEntry:
    if found is None:
        return OverviewEntry(NONE, "", "", "not in both cells")
    mark = mark_of(found.test, found.better)
    shown = mark.text.removesuffix(" *")
    title = f"{value_text(found.unit, found.a)} → {value_text(found.unit, found.b)}, {shown}"
    sort = "" if found.ratio is None else f"{found.ratio:.6g}"
    text = ratio_text(found.ratio).removesuffix(" ×") + mark.sign
    return OverviewEntry(text, sort, _style(mark, found.ratio), title)


def _style(mark: Mark, ratio: float | None) -> str:
    """The color of a significant ratio: which direction, and how strong."""
    if not mark.style or not ratio:
        return mark.style and f"{mark.style} step4"
    size = math.exp(abs(math.log(ratio)))
    return f"{mark.style} step{sum(size >= least for least in STEPS)}"


def count_of(pairs: Sequence[CellPair], name: str) -> tuple[int, int, int]:
    """The number of pairs that have a figure, and of those in which it is significantly higher, and lower."""
    tests = [entry.test for pair in pairs for entry in pair.quantities if entry.name == name]
    marked = [test.difference for test in tests if test.is_significant]
    return len(tests), sum(value > 0 for value in marked), sum(value < 0 for value in marked)
