"""A waterfall from the cost of A to that of B: one bar for each class, each starting where the one before it ends."""

from collections.abc import Sequence
from dataclasses import dataclass

from whyperf.analyze.cost.text import EVENTS, cycles
from whyperf.analyze.text import count, significant
from whyperf.compare.comparison import ClassDifference, SideDifference
from whyperf.report.compare.texts import Mark, mark_of, signed_cycles
from whyperf.report.cost.styles import look_of
from whyperf.report.explanation.styles import Look

MAX_BARS = 12
"""Classes with a bar of their own at most."""
MIN_RATIO = 0.01
"""Classes with a smaller part of the sum of all changes are one bar."""
ROOM = 0.6
"""Where the axis does not start at 0, the totals are drawn this part of the range of the changes long, at least."""
MIN_VISIBLE = 0.25
"""The axis starts at 0 where the changes have at least this part of it."""
_ROUNDING = 1e-9
"""Changes below this part of the total are those of floating-point numbers."""


@dataclass(frozen=True)
class Factor:
    """A part of a bar that is due to one factor, from `start` to `end` in cycles: more events, or dearer ones."""

    kind: str
    start: float
    end: float


@dataclass(frozen=True)
class Bar:
    """A class, or the many small ones together (`look` is None), from `start` to `end` in cycles.

    Where what the class does is counted, `parts` go from `start` to `end`, too; `why` is the same in words.
    """

    title: str
    look: Look | None
    start: float
    end: float
    mark: Mark
    parts: tuple[Factor, ...] = ()
    why: str = ""

    @property
    def amount(self) -> str:
        """The difference with its sign."""
        return signed_cycles(self.end - self.start)

    @property
    def style(self) -> str:
        """The style of a bar that grew, or of one that shrank."""
        return "grew" if self.end > self.start else "shrank"


@dataclass(frozen=True)
class Waterfall:
    """The bars of a side from `a` to `b`, on an axis from `low` to `high`, all in cycles per unit of work."""

    a: float
    b: float
    bars: tuple[Bar, ...]
    low: float
    high: float

    def place(self, value: float) -> float:
        """Where a value is, in percent of the width."""
        return round(100 * (value - self.low) / (self.high - self.low), 2) if self.high > self.low else 0.0

    def span(self, start: float, end: float) -> str:
        """A bar between two values, as a style."""
        left, right = self.place(min(start, end)), self.place(max(start, end))
        return f"left:{left:g}%;width:{right - left:.4g}%"


def waterfall_of(side: SideDifference) -> Waterfall:
    """The waterfall of a side that is compared."""
    changes = sum(abs(entry.test.difference) for entry in side.classes)
    large = [entry for entry in side.classes if abs(entry.test.difference) > MIN_RATIO * changes][:MAX_BARS]
    small = [entry for entry in side.classes if entry not in large and entry.test.difference != 0]
    bars, at = [], side.a
    for entry in large:
        bars.append(_bar(entry, at, side.work))
        at += entry.test.difference
    if small:
        title = small[0].title if len(small) == 1 else count(len(small), "smaller class", "smaller classes")
        look = look_of(small[0].name) if len(small) == 1 else None
        mark = mark_of(small[0].test, "lower") if len(small) == 1 else Mark("", "", "")
        # They add up to the difference of the totals but for rounding.
        bars.append(Bar(title, look, at, side.b, mark))
    return Waterfall(side.a, side.b, tuple(bars), *_limits(side, bars))


def _limits(side: SideDifference, bars: Sequence[Bar]) -> tuple[float, float]:
    """The axis: from 0 on unless the changes are small compared with the totals."""
    values = [side.a, side.b, *(bar.end for bar in bars), *(part.end for bar in bars for part in bar.parts)]
    low, high = min(values), max(values)
    if high - low <= _ROUNDING * high:
        return 0.0, high or 1.0
    # Where parts cancel out, one of them may go below 0.
    return (low - ROOM * (high - low), high) if high - low < MIN_VISIBLE * high else (min(low, 0.0), high)


def _bar(entry: ClassDifference, start: float, work: str) -> Bar:
    mark = mark_of(entry.test, "lower")
    bar = Bar(entry.title, look_of(entry.name), start, start + entry.test.difference, mark)
    if entry.by_count is None or entry.by_unit_cost is None or not entry.per or entry.count_a == entry.count_b:
        return bar
    between = start + entry.by_count
    parts = (Factor("count", start, between), Factor("each", between, bar.end))
    return Bar(entry.title, bar.look, start, bar.end, mark, parts, why_text(entry, work))


def why_text(entry: ClassDifference, work: str) -> str:
    """The parts of the difference of a counted class that are due to more events, and to dearer ones.

    Empty where nothing is counted, or as much in both.
    """
    if entry.by_count is None or entry.by_unit_cost is None or entry.count_a == entry.count_b:
        return ""
    _, events = EVENTS[entry.per or ""]
    counts = f"{significant(entry.count_a or 0)} → {significant(entry.count_b or 0)}"
    each = f"{cycles(entry.cycles_each_a or 0)} → {cycles(entry.cycles_each_b or 0)}"
    return (
        f"{events[:1].upper()}{events[1:]} per {work} {counts}: {signed_cycles(entry.by_count)}. "
        f"Each costs {each}: {signed_cycles(entry.by_unit_cost)}."
    )
