"""Tests whether a series jumps between two levels.

The split that explains most of the variance is N. Otsu's ("A threshold selection method from
gray-level histograms", IEEE Trans. SMC 9, 1979). The best split of a normal population explains
2/pi = 0.64 of its variance, of a uniform one (a sawtooth) 0.75, of two clean levels nearly all.
"""

from dataclasses import dataclass

import numpy as np

from whyperf.analyze.steady.rates import Floats


@dataclass(frozen=True)
class TwoLevels:
    """The best split of a series into a low and a high level.

    `explained_ratio` is the part of the variance between the levels; `fewer_ratio` the part of the
    observations on the rarer level.
    """

    low: float
    high: float
    explained_ratio: float
    fewer_ratio: float


def two_levels(observations: Floats) -> TwoLevels:
    """Splits `observations`, shape (n,), n at least 2, by value where most variance is explained."""
    values = np.sort(observations)
    count = values.size
    sums = np.cumsum(values)
    lower = np.arange(1, count)
    upper = count - lower
    low_means = sums[:-1] / lower
    high_means = (sums[-1] - sums[:-1]) / upper
    between = lower * upper * (high_means - low_means) ** 2 / count**2
    best = int(np.argmax(between))
    variance = float(np.var(values))
    explained = float(between[best]) / variance if variance > 0 else 0.0
    fewer = float(min(lower[best], upper[best])) / count
    return TwoLevels(float(low_means[best]), float(high_means[best]), explained, fewer)
