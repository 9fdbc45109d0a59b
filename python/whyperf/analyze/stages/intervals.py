"""Intervals of ratios of sums, such as CPU time per byte, over batches of packets in the order of time.

Neighbors in time resemble each other, so single rows are no independent samples: rows are put together to at most
`BATCHES` batches, and these are resampled (batch means, as in A. M. Law, Simulation Modeling and Analysis). Intervals
are percentiles of the bootstrap (B. Efron, JASA 82 (1987) 171-185). A resample takes each batch so many times as a
multinomial draw says, so that sums over all resamples are one product of matrices: `scipy.stats.bootstrap`, which
copies every resample, takes 20 times as long, and a page has hundreds of such figures.
"""

from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

BATCHES = 100
MIN_BATCHES = 8
"""With fewer batches there is no interval."""
RESAMPLES = 2000
MAX_COLUMNS = 1000
"""More columns are put together, neighbor to neighbor, before they are resampled."""
LOW, HIGH = 0.025, 0.975


class Amount(NamedTuple):
    """A figure and its 95 % interval; None where there are too few rows for one."""

    value: float
    low: float | None = None
    high: float | None = None

    def times(self, factor: float) -> "Amount":
        """In another unit."""
        ends = [None if end is None else end * factor for end in (self.low, self.high)]
        return Amount(self.value * factor, *ends)


def batches_of(order: Ints) -> Ints:
    """A batch number for each row, shape (n,): `order` is a packet's number in the order of time."""
    _, number = np.unique(order, return_inverse=True)
    groups = int(number.max()) + 1 if number.size else 0
    return (number * min(BATCHES, groups) // max(groups, 1)).astype(np.int64)


def sums_by_batch(values: Floats, batch: Ints, batches: int) -> Floats:
    """Sums of values by batch, shape (batches,)."""
    return np.bincount(batch, weights=values, minlength=batches).astype(np.float64)


def ratios(over: Floats, under: Floats, seed: int = 0) -> list[Amount]:
    """The ratio of sums of each row of `over` to that of `under`, both of shape (figures, batches)."""
    values = _over(over.sum(axis=1), under.sum(axis=1))
    if over.shape[1] < MIN_BATCHES:
        return [Amount(float(value)) for value in values]
    return amounts(values, _over(resampled_sums(over, seed), resampled_sums(under, seed)))


def resampled_sums(samples: Floats, seed: int) -> Floats:
    """The sum of each row over resamples of its columns, shape (rows, `RESAMPLES`); the same columns for a seed."""
    if samples.shape[1] > MAX_COLUMNS:
        first = np.arange(MAX_COLUMNS) * samples.shape[1] // MAX_COLUMNS
        samples = np.add.reduceat(samples, first, axis=1)
    found: Floats = samples @ _taken(samples.shape[1], seed)
    return found


@lru_cache(maxsize=8)
def _taken(columns: int, seed: int) -> Floats:
    """Number of times that each resample takes each column, shape (columns, `RESAMPLES`)."""
    drawn = np.random.default_rng(seed).multinomial(columns, np.full(columns, 1 / columns), size=RESAMPLES)
    return np.ascontiguousarray(drawn.T.astype(np.float64))


def amounts(values: Floats, resampled: Floats) -> list[Amount]:
    """Figures with the percentiles of their resamples, shape (figures, resamples)."""
    low, high = np.quantile(resampled, [LOW, HIGH], axis=1)
    return [Amount(float(value), float(low[at]), float(high[at])) for at, value in enumerate(values)]


def _over(over: Floats, under: Floats) -> Floats:
    found: Floats = np.divide(over, under, out=np.zeros(np.shape(over)), where=under > 0)
    return found
