"""Where the warm-up ends: MSER-5.

K. P. White, "An effective truncation heuristic for bias reduction in simulation output",
Simulation 69 (1997) 323-334; batches of five: K. P. White, M. J. Cobb, S. C. Spratt, "A comparison
of five steady-state truncation heuristics for simulation", Winter Simulation Conference 2000.
"""

from dataclasses import dataclass

import numpy as np

from whyperf.analyze.steady.rates import Floats

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
