"""Tests whether a setting has several rates: modes of its trials, and of its intervals over time.

Two criteria, of which one must hold. The first is the dip test at 1 %. It needs no shape of a mode, but rare
modes are beyond it: a mode of 2 of 25 trials never has a dip that large. So the second is a gap, from
`MIN_GAP_OBSERVATIONS` on: no observation lies between the groups, and the gap is `MIN_GAP_RANGES` times as wide as the
wider of both groups. Of a heavy tail, in which gaps are wide too, the rarer group is as wide as its gap.

In addition, medians of modes are `MATERIAL_RATIO` of the mean apart, and a mode has a share of at least `MIN_SHARE`
and two observations.

The distance of a sample from every distribution with one mode: Hartigan's dip.

J. A. Hartigan and P. M. Hartigan, "The dip test of unimodality", Annals of Statistics 13 (1985) 70-84. The dip is the
largest distance between the empirical distribution and the nearest one with a single mode, which is convex below the
mode and concave above it. The uniform distribution has the largest dips of all with one mode, for all practical
samples, so its quantiles hold for skewed and heavy-tailed ones too.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

import numpy as np
from numpy.typing import NDArray

from whyperf.analyze.steady import MATERIAL_RATIO
from whyperf.analyze.steady.levels import two_levels
from whyperf.analyze.steady.rates import Floats

Ints = NDArray[np.int64]

CRITICAL: Final[tuple[tuple[float, float], ...]] = (
    *((8, 0.495), (10, 0.505), (12, 0.52), (15, 0.53), (20, 0.535), (25, 0.547)),
    *((30, 0.555), (40, 0.57), (60, 0.58), (100, 0.6), (200, 0.61), (400, 0.63)),
)
"""Observations, and sqrt(observations) times the dip that one uniform sample in 100 exceeds: quantiles of 1,500 to
4,000 samples each, which are good to 2 %."""


def dip(observations: Floats) -> float:
    """The dip of `observations`, shape (n,), n at least 1: from 1 / (2 n) to 0.25."""
    values, counts = np.unique(observations, return_counts=True)
    after = np.cumsum(counts).astype(np.float64)
    before = after - counts
    total = float(after[-1])
    low, high, found = 0, values.size - 1, 1.0
    while low < high:
        places = np.arange(low, high + 1)
        convex, concave = _hull(values, before, places, 1), _hull(values, after, places, -1)
        below = np.interp(values[places], values[convex], before[convex])
        above = np.interp(values[places], values[concave], after[concave])
        apart = above - below
        widest = int(np.argmax(apart))
        if apart[widest] <= found:
            break
        left = int(convex[np.searchsorted(convex, places[widest], side="right") - 1])
        right = int(concave[np.searchsorted(concave, places[widest])])
        # Outside of the new interval the hulls stand, as far as the steps are from them.
        outside = [(after[places] - below)[: left - low + 1], (above - before[places])[right - low :]]
        found = max(found, *(float(side.max()) for side in outside if side.size > 1), 1.0)
        if (left, right) == (low, high):
            break
        low, high = left, right
    return found / (2 * total)


def _hull(values: Floats, heights: Floats, places: Ints, sign: int) -> Ints:
    """The places of the knots of the greatest convex minorant (`sign` 1) or least concave majorant (-1)."""
    knots: list[int] = []
    for place in places.tolist():
        while len(knots) > 1:
            first, last = knots[-2], knots[-1]
            slope = (heights[last] - heights[first]) * (values[place] - values[first])
            if sign * slope < sign * (heights[place] - heights[first]) * (values[last] - values[first]):
                break
            knots.pop()
        knots.append(place)
    return np.array(knots)


def critical_dip(observations: float) -> float:
    """The dip that one sample in 100 of a distribution with one mode exceeds, of so many independent observations."""
    numbers, scaled = zip(*CRITICAL, strict=True)
    return float(np.interp(observations, numbers, scaled)) / float(np.sqrt(observations))


MIN_OBSERVATIONS = 8
"""Fewer, also after what correlation takes off them, have no modes."""

MIN_SHARE = 0.08
"""A few outliers are no mode."""

MIN_GAP_OBSERVATIONS = 20
MIN_GAP_RANGES = 1.5
"""Of 25 trials with a uniform, normal, exponential, lognormal or Student's t distribution (3 degrees of freedom), fewer
than 1 in 100 have such a gap (tests/unit/analyze/test_modes.py)."""

MAX_MODES = 4
MAX_CORRELATION = 0.98
MAX_OBSERVATIONS = 4000
"""Of a longer series so many are looked at, evenly spread."""


@dataclass(frozen=True)
class Level:
    """A mode: the median and range of its observations, and their share of all."""

    median: float
    low: float
    high: float
    share: float


def modes_of(observations: Floats) -> list[Level]:
    """The modes of independent observations, shape (n,), from the lowest; a single one where there are no several."""
    return _levels(observations, np.sort(observations), float(observations.size))


def modes_over_time(series: Sequence[Floats], resolution: float = 0.0) -> list[Level]:
    """The modes of the values of several series, each in the order of time.

    Neighbors in time resemble each other, so that n values count as n (1 - r) / (1 + r) (Bayley and Hammersley, 1946).
    Here r is their lag-1 correlation about the levels. `resolution` is the step in which values were counted: they are
    spread evenly over it, because steps of equal values would be modes.
    """
    known = [values for values in series if values.size > 1]
    if not known:
        return []
    joined = np.concatenate(known)
    split = two_levels(joined)
    middle = (split.low + split.high) / 2
    about = [np.where(values > middle, values - split.high, values - split.low) for values in known]
    power = sum(float(np.dot(values, values)) for values in about)
    lagged = sum(float(np.dot(values[:-1], values[1:])) for values in about)
    correlation = min(max(lagged / power, 0.0), MAX_CORRELATION) if power > 0 else 0.0
    # Weyl's sequence of the golden ratio is spread evenly, and needs no seed.
    spread = np.mod(np.arange(joined.size) * 0.6180339887498949, 1.0) - 0.5
    values = joined + resolution * spread
    effective = joined.size * (1 - correlation) / (1 + correlation)
    step = -(-values.size // MAX_OBSERVATIONS)
    found = _levels(joined, np.sort(values[::step]), effective)
    # Trials of different rates are no change over time: one of them has to be in two modes.
    if len(found) > 1 and not any(_visited(values, found) > 1 for values in known):
        return [Level(float(np.median(joined)), float(joined.min()), float(joined.max()), 1.0)]
    return found


def _visited(values: Floats, levels: Sequence[Level]) -> int:
    """In how many of the modes one trial is for at least `MIN_SHARE` of its time and two intervals."""
    counts = [int(np.count_nonzero((values >= level.low) & (values <= level.high))) for level in levels]
    return sum(count >= max(2, MIN_SHARE * values.size) for count in counts)


def _levels(observed: Floats, values: Floats, effective: float) -> list[Level]:
    """The modes of `observed`, which `values` are in order, without what they are too coarse to show."""
    if not values.size:
        return []
    edges = [-np.inf, *_cuts(values, effective / max(values.size, 1), float(values.mean()), values.size), np.inf]
    inner = [observed[(observed > low) & (observed <= high)] for low, high in pairwise(edges)]
    return [
        Level(float(np.median(own)), float(own.min()), float(own.max()), own.size / observed.size)
        for own in inner
        if own.size
    ]


def _cuts(values: Floats, weight: float, mean: float, total: int) -> list[float]:
    """Values between the modes, in order; `weight` is what an observation counts as."""
    if values.size * weight < MIN_OBSERVATIONS or mean <= 0:
        return []
    place = _split(values, total)
    if place is None:
        return []
    low, high = values[:place], values[place:]
    gap = float(high[0] - low[-1])
    widest = max(float(np.ptp(low)), float(np.ptp(high)))
    is_material = float(np.median(high) - np.median(low)) >= MATERIAL_RATIO * mean
    is_many = values.size * weight >= MIN_GAP_OBSERVATIONS and min(low.size, high.size) * weight >= 2
    is_apart = is_many and gap >= MIN_GAP_RANGES * widest
    if not is_material or not (is_apart or dip(values) > critical_dip(values.size * weight)):
        return []
    cut = float(low[-1] + high[0]) / 2
    found = [*_cuts(low, weight, mean, total), cut, *_cuts(high, weight, mean, total)]
    return found[: MAX_MODES - 1]


def _split(values: Floats, total: int) -> int | None:
    """Where the upper of two groups begins: at the best explanation of the variance, both being large enough."""
    least = max(2, int(np.ceil(MIN_SHARE * total)))
    if values.size < 2 * least:
        return None
    sums, count = np.cumsum(values), values.size
    lower = np.arange(least, count - least + 1)
    low, high = sums[lower - 1] / lower, (sums[-1] - sums[lower - 1]) / (count - lower)
    return int(lower[np.argmax(lower * (count - lower) * (high - low) ** 2)])
