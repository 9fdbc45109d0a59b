"""A logarithmic axis of ratios around 1, and where dots and whiskers are on it."""

import math
from collections.abc import Iterable
from dataclasses import dataclass

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
