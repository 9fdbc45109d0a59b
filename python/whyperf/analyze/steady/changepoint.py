"""Pettitt's test of whether a series changed its level once.

A. N. Pettitt, "A non-parametric approach to the change-point problem", Applied Statistics 28
(1979) 126-135. The test assumes independent observations; interval goodputs of one connection are
not. The statistic's variance grows by about (1 + r) / (1 - r) for lag-1 correlation r (G. V. Bayley
and J. M. Hammersley, 1946), so it is divided by that, with r taken within the two levels.
"""

from dataclasses import dataclass

import numpy as np

from whyperf.analyze.steady.rates import Floats


@dataclass(frozen=True)
class Change:
    """The most likely change point: `index` is the first observation of the new level."""

    index: int
    before: float
    after: float
    p_value: float


def pettitt(observations: Floats) -> Change:
    """Finds the most likely change point of `observations`, shape (n,), n at least 2.

    `before` and `after` are the medians on either side. The p-value is Pettitt's approximation,
    good to two digits below 0.5, after the correction for correlation.
    """
    count = observations.size
    # Ranks, equal values sharing their mean: scipy.stats has a function for it, and takes a second to load.
    _, places, counts = np.unique(observations, return_inverse=True, return_counts=True)
    ranks = (np.cumsum(counts) - (counts - 1) / 2)[places]
    positions = np.arange(1, count)
    # U(t) = 2 * sum of the first t ranks - t (n + 1), Pettitt's form with ranks.
    statistic = 2 * np.cumsum(ranks)[:-1] - positions * (count + 1)
    index = int(np.argmax(np.abs(statistic))) + 1
    before, after = observations[:index], observations[index:]
    inflation = _inflation(np.concatenate([before - before.mean(), after - after.mean()]))
    squared = float(statistic[index - 1]) ** 2 / inflation
    p_value = min(1.0, 2 * float(np.exp(-6 * squared / (count**3 + count**2))))
    return Change(index, float(np.median(before)), float(np.median(after)), p_value)


def _inflation(residuals: Floats) -> float:
    """(1 + r) / (1 - r) for the lag-1 correlation r of `residuals`; at least 1."""
    power = float(np.dot(residuals, residuals))
    if power <= 0:
        return 1.0
    correlation = float(np.dot(residuals[:-1], residuals[1:])) / power
    correlation = min(max(correlation, 0.0), 0.95)
    return (1 + correlation) / (1 - correlation)
