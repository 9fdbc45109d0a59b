"""The distance of a sample from every distribution with one mode: Hartigan's dip.

J. A. Hartigan and P. M. Hartigan, "The dip test of unimodality", Annals of Statistics 13 (1985) 70-84. The dip is the
largest distance between the empirical distribution and the nearest one with a single mode, which is convex below the
mode and concave above it. The uniform distribution has the largest dips of all with one mode, for all practical
samples, so its quantiles hold for skewed and heavy-tailed ones too.
"""

from typing import Final

import numpy as np
from numpy.typing import NDArray

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
