"""Judges whether a trial reached a steady state, and says what was cut to get there.

Pettitt's test of whether a series changed its level once.

A. N. Pettitt, "A non-parametric approach to the change-point problem", Applied Statistics 28
(1979) 126-135. The test assumes independent observations; interval goodputs of one connection are
not. The statistic's variance grows by about (1 + r) / (1 - r) for lag-1 correlation r (G. V. Bayley
and J. M. Hammersley, 1946), so it is divided by that, with r taken within the two levels.

Where the warm-up ends: MSER-5.

K. P. White, "An effective truncation heuristic for bias reduction in simulation output",
Simulation 69 (1997) 323-334; batches of five: K. P. White, M. J. Cobb, S. C. Spratt, "A comparison
of five steady-state truncation heuristics for simulation", Winter Simulation Conference 2000.
"""

from dataclasses import dataclass

import numpy as np

from whyperf.analyze.steady import MATERIAL_RATIO
from whyperf.analyze.steady.levels import two_levels
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


BATCH = 5
"""Observations a batch mean is made of: the 5 of MSER-5."""

MIN_BATCHES = 10
"""Below this nothing is cut: a change cannot be separated from noise. Of m batch means without any change, the m/2
lowest come first, or last, with probability 2 / C(m, m/2) (rank-sum test; Mann and Whitney, Annals of Mathematical
Statistics 18 (1947) 50-60): 33 % for 4 batches, 2.9 % for 8, and below 1 % from 10 on."""

FLAT_RATIO = 1e-6
"""A series whose deviation is below this part of its mean is flat; what varies is rounding."""


@dataclass(frozen=True)
class Truncation:
    """The number of leading observations to drop.

    `at_limit` says that the best point was the last one allowed (half of the series), which is
    the heuristic's way of saying that the series is too short or never settles.
    """

    drop_count: int
    at_limit: bool


def mser5(observations: Floats) -> Truncation:
    """The truncation that minimizes the squared standard error of the mean of what remains.

    `observations` has shape (n,). The statistic for dropping d of m batches is the sum of squared
    deviations of the remaining batches over (m - d) squared. At most half of the batches go.
    """
    batches_count = observations.size // BATCH
    if batches_count < MIN_BATCHES:
        return Truncation(0, at_limit=False)
    batches = observations[: batches_count * BATCH].reshape(batches_count, BATCH).mean(axis=1)
    if float(np.std(batches)) <= FLAT_RATIO * abs(float(np.mean(batches))):
        return Truncation(0, at_limit=False)
    limit = batches_count // 2
    statistic = [float(np.var(batches[drop:])) / (batches_count - drop) for drop in range(limit + 1)]
    best = int(np.argmin(statistic))
    return Truncation(best * BATCH, at_limit=best == limit)


MIN_INTERVALS = 20
"""Shorter series are not judged: Pettitt's test is at its best sure to 0.2 % of a change at the center of 20 values
(its p value is 2 exp(-6 K^2 / (n^3 + n^2)) with K = n^2 / 4), to 1.5 % of one in 14."""

CHANGE_P_VALUE = 0.01
"""Pettitt's test must be this sure."""

TWO_LEVELS_EXPLAINED_RATIO = 0.85
"""Between a uniform population (0.75) and two clean levels (1)."""

TWO_LEVELS_GAP_RATIO = 0.10
"""Gap between the levels, as part of the mean."""

TWO_LEVELS_FEWER_RATIO = 0.10
"""A single outlier is not a level."""


@dataclass(frozen=True)
class Steadiness:
    """The verdict on one series of interval rates.

    `steady` is None when the series is too short to judge. `reason` is None, `never_settled`,
    `level_changed` or `two_levels`; then `from_bps`, `to_bps` and, for a change, `change_index`
    (position in the whole series) are the evidence.
    """

    drop_count: int
    steady: bool | None
    reason: str | None = None
    from_bps: float | None = None
    to_bps: float | None = None
    change_index: int | None = None


def judge(rates_bps: Floats) -> Steadiness:
    """Cuts the rest of the warm-up from `rates_bps`, shape (n,), and judges what remains."""
    if rates_bps.size < MIN_INTERVALS:
        return Steadiness(0, steady=None)
    truncation = mser5(rates_bps)
    drop = truncation.drop_count
    kept = rates_bps[drop:]
    mean = float(np.mean(kept))
    if mean <= 0:
        return Steadiness(drop, steady=None)
    if truncation.at_limit:
        early = float(np.mean(rates_bps[:drop]))
        if abs(mean - early) >= MATERIAL_RATIO * mean:
            # A step there is a change of level; a slope, of which two levels explain less, is not.
            step = two_levels(rates_bps).explained_ratio >= TWO_LEVELS_EXPLAINED_RATIO
            reason = "level_changed" if step else "never_settled"
            return Steadiness(drop, False, reason, early, mean, drop)
    change = pettitt(kept)
    if change.p_value < CHANGE_P_VALUE and abs(change.after - change.before) >= MATERIAL_RATIO * mean:
        return Steadiness(drop, False, "level_changed", change.before, change.after, drop + change.index)
    levels = two_levels(kept)
    if (
        levels.explained_ratio >= TWO_LEVELS_EXPLAINED_RATIO
        and levels.fewer_ratio >= TWO_LEVELS_FEWER_RATIO
        and levels.high - levels.low >= TWO_LEVELS_GAP_RATIO * mean
    ):
        return Steadiness(drop, False, "two_levels", levels.low, levels.high)
    return Steadiness(drop, steady=True)
