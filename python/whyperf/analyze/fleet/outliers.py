"""Which of several rates are low beyond the spread of the others.

Rates of equal hosts are taken to be log-normal. Each is compared with the others by Student's statistic of one further
observation. The others' mean and spread leave out what a modified z-score above 3.5 takes for outliers (B. Iglewicz and
D. Hoaglin, "How to detect and handle outliers", 1993), so that two slow hosts do not hide each other. Leaving out makes
the statistic no Student's t any more: its distribution among equal hosts is simulated, from a fixed seed. With two
factors, as senders and receivers of a mesh, effects of both are separated first by J. W. Tukey's median polish
("Exploratory Data Analysis", 1977).
"""

from collections.abc import Sequence
from functools import cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

FALSE_RATIO = 0.05
"""Of the hosts that are called slow so many may be equal to the others, on average."""
MAX_RATIO = 0.9
"""From 10 % below the others a host is worth a word, however even they are."""
MIN_COMPARED = 4
"""With fewer, no ratio is improbable enough."""

_SEED = 1995
_SIMULATED = 60_000
_FAR = 3.5 / 0.6745
"""The modified z-score, in median absolute deviations."""
_LEAST_SPREAD = 0.005
"""Standard deviation of the log rates, at least: clocks and windows are no better."""
_FLOOR = 1e-3
"""A host that moved nothing counts as one with this part of the median."""
_POLISHES = 30


class Low(NamedTuple):
    """A value among others: its ratio to them, and the adjusted probability of one as low."""

    ratio: float
    p_value: float

    @property
    def is_slow(self) -> bool:
        """Whether it is too low to be one of them."""
        return self.ratio <= MAX_RATIO and self.p_value <= FALSE_RATIO


def lows(effects: Sequence[Floats]) -> list[list[Low]]:
    """Each of the effects (log rates) compared with the others of its family; all p-values adjusted together.

    A family with fewer than `MIN_COMPARED` has p-values of 1.
    """
    statistics = [_statistics(family[None, :], _LEAST_SPREAD) for family in effects]
    p_values = [
        _p_values(found.scores[0], family.size) if family.size >= MIN_COMPARED else np.ones(family.size)
        for found, family in zip(statistics, effects, strict=True)
    ]
    together = np.concatenate([*p_values, np.empty(0)])
    adjusted = iter(_adjusted(together))
    return [
        [Low(float(np.exp(log)), float(next(adjusted))) for log in found.logs[0]]
        for found, family in zip(statistics, effects, strict=True)
    ]


def centered(rates: Floats) -> Floats:
    """The log rate of each column over the trials (rows), less what moves a whole trial: shape (columns,).

    A trial in which a column is missing (NaN) does not count for it.
    """
    largest = np.nanmedian(rates, axis=1, keepdims=True)
    positive = np.where(largest > 0, largest, 1.0)
    logs = np.log(np.maximum(rates, _FLOOR * positive))
    return np.asarray(np.nanmedian(logs - np.nanmedian(logs, axis=1, keepdims=True), axis=0), dtype=np.float64)


def polished(table: Floats) -> tuple[Floats, Floats]:
    """Row and column effects of a table of log rates, in which NaN is no pair, by median polish."""
    rest = table.copy()
    rows, columns = np.zeros(table.shape[0]), np.zeros(table.shape[1])
    for _ in range(_POLISHES):
        by_row = np.nan_to_num(np.nanmedian(rest, axis=1))
        rest -= by_row[:, None]
        rows += by_row
        by_column = np.nan_to_num(np.nanmedian(rest, axis=0))
        rest -= by_column[None, :]
        columns += by_column
        if max(np.abs(by_row).max(), np.abs(by_column).max()) < 1e-9:
            break
    return rows - np.median(rows), columns - np.median(columns)


class _Statistics(NamedTuple):
    """By row and column: Student's statistic of the value among the others of its row, and its log ratio to them."""

    scores: Floats
    logs: Floats


def _statistics(values: Floats, least: float) -> _Statistics:
    median = np.median(values, axis=1, keepdims=True)
    deviations = np.abs(values - median)
    spread = np.maximum(np.median(deviations, axis=1, keepdims=True), least * 0.6745)
    kept = deviations <= _FAR * spread
    counts = kept.sum(axis=1, keepdims=True) - kept
    shifted = np.where(kept, values - median, 0.0)
    sums = shifted.sum(axis=1, keepdims=True) - shifted
    squares = (shifted**2).sum(axis=1, keepdims=True) - shifted**2
    known = np.maximum(counts, 2)
    means = sums / known
    variances = np.maximum((squares - known * means**2) / (known - 1), least**2)
    logs = values - median - means
    return _Statistics(logs / np.sqrt(variances * (1 + 1 / known)), logs)


@cache
def _of_equals(count: int) -> Floats:
    """The statistic of equal hosts, so many at a time, sorted."""
    drawn = np.random.default_rng(_SEED).standard_normal((max(1000, _SIMULATED // count), count))
    return np.sort(_statistics(drawn, 0.0).scores, axis=None)


def _p_values(scores: Floats, count: int) -> Floats:
    """How probable a score as low is among equal hosts, as (B + 1) / (N + 1)."""
    null = _of_equals(count)
    below = np.searchsorted(null, scores, side="right")
    return np.asarray((below + 1) / (null.size + 1), dtype=np.float64)


def _adjusted(p_values: Floats) -> Floats:
    """Adjusted for their number: Y. Benjamini and Y. Hochberg, J. R. Statist. Soc. B 57 (1995) 289-300."""
    if not p_values.size:
        return p_values
    from scipy.stats import false_discovery_control  # noqa: PLC0415 - takes a second to load

    return np.asarray(false_discovery_control(p_values), dtype=np.float64)
