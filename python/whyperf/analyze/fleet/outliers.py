"""Which of several rates are low beyond the spread of the others.

Rates of equal hosts are taken to be log-normal. Each is compared with the others by Student's statistic of one
further observation: once with all others, and once without the 15 % of them that are farthest from their median, so
that two slow hosts do not hide each other. The smaller p-value counts. Leaving out, and choosing, make it no
Student's t any more: its distribution among equal hosts is simulated, from a fixed seed. With two factors, as
senders and receivers of a mesh, effects of both are separated first by J. W. Tukey's median polish ("Exploratory
Data Analysis", 1977).
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
_MAX_SIMULATED = 64
"""Among more hosts than these the statistic has about the same distribution."""
_TRIMS = (0.0, 0.15)
"""Parts of the others that are left out."""
_MIN_SPREAD = 0.005
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
        """True where it is too low to be one of them."""
        return self.ratio <= MAX_RATIO and self.p_value <= FALSE_RATIO


def lows(effects: Sequence[Floats]) -> list[list[Low]]:
    """Each of the effects (log rates) compared with the others of its family; all p-values adjusted together.

    A family with fewer than `MIN_COMPARED` has p-values of 1.
    """
    p_values = [_p_values(family) if family.size >= MIN_COMPARED else np.ones(family.size) for family in effects]
    adjusted = iter(_adjusted(np.concatenate([*p_values, np.empty(0)])))
    return [
        [
            Low(float(np.exp(effect - np.median(np.delete(family, at)))), float(next(adjusted)))
            for at, effect in enumerate(family)
        ]
        if family.size > 1
        else [Low(1.0, float(next(adjusted))) for _ in family]
        for family in effects
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


def _scores(values: Floats, trim: float, least: float) -> Floats:
    """Student's statistic of each value among the others of its row, of which a part is left out."""
    scores = np.empty_like(values)
    kept_count = values.shape[1] - 1 - round(trim * (values.shape[1] - 1))
    for at in range(values.shape[1]):
        others = np.delete(values, at, axis=1)
        distances = np.abs(others - np.median(others, axis=1, keepdims=True))
        nearest = np.argsort(distances, axis=1, kind="stable")[:, :kept_count]
        kept = np.take_along_axis(others, nearest, axis=1)
        spread = np.maximum(kept.std(axis=1, ddof=1), least)
        scores[:, at] = (values[:, at] - kept.mean(axis=1)) / (spread * np.sqrt(1 + 1 / kept_count))
    return scores


class _Null(NamedTuple):
    """The values of equal hosts, sorted: the statistic with each part left out, and the smaller of its p-values."""

    scores: tuple[Floats, ...]
    smaller: Floats


@cache
def _of_equals(count: int) -> _Null:
    drawn = np.random.default_rng(_SEED).standard_normal((_SIMULATED // count, count))
    found = [_scores(drawn, trim, 0.0) for trim in _TRIMS]
    ordered = tuple(np.sort(scores, axis=None) for scores in found)
    p_values = [_below(null, scores) for null, scores in zip(ordered, found, strict=True)]
    return _Null(ordered, np.sort(np.minimum.reduce(p_values), axis=None))


def _below(null: Floats, scores: Floats) -> Floats:
    """The probability of a score as low, as (B + 1) / (N + 1)."""
    return np.asarray((np.searchsorted(null, scores, side="right") + 1) / (null.size + 1), dtype=np.float64)


def _p_values(family: Floats) -> Floats:
    null = _of_equals(min(family.size, _MAX_SIMULATED))
    p_values = [
        _below(scores, _scores(family[None, :], trim, _MIN_SPREAD)[0])
        for scores, trim in zip(null.scores, _TRIMS, strict=True)
    ]
    return _below(null.smaller, np.minimum.reduce(p_values))


def _adjusted(p_values: Floats) -> Floats:
    """Adjusted for their number: Y. Benjamini and Y. Hochberg, J. R. Statist. Soc. B 57 (1995) 289-300."""
    if not p_values.size:
        return p_values
    from scipy.stats import false_discovery_control  # noqa: PLC0415 - takes a second to load

    return np.asarray(false_discovery_control(p_values), dtype=np.float64)
