"""The interval of a verification's gain, at each of its looks.

The interval is that of the signed ranks (F. Wilcoxon 1945; J. L. Hodges and E. L. Lehmann, Ann. Math. Statist. 34
(1963) 598-611): more than a quarter of the pairs may be wild and the estimate stays, and no distribution is assumed but
that the pairs' logarithms lie alike on both sides of the gain. They do where the change multiplies the rate: the
difference of two values of one distribution is symmetric, however heavy its tails are.
"""

from collections.abc import Sequence
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from whyperf.explain.verify.looks import MAX_WITH_LOOKS

Floats = NDArray[np.float64]


def repeated_interval(logarithms: Sequence[float], taken: tuple[tuple[int, float], ...]) -> tuple[float, float] | None:
    """The interval at the last of the looks taken; None where so few pairs leave none.

    Args:
        logarithms: of the pairs' gains.
        taken: of `Looks.taken`; the last has as many pairs as there are logarithms.
    """
    beyond = critical_ranks(taken)[-1]
    if beyond is None:
        return None
    averages = np.sort(_averages(logarithms))
    return float(averages[beyond]), float(averages[-1 - beyond])


def center(logarithms: Sequence[float]) -> float:
    """The median of all averages of two: the estimate of Hodges and Lehmann."""
    return float(np.median(_averages(logarithms)))


def _averages(values: Sequence[float]) -> Floats:
    given = np.asarray(values, dtype=np.float64)
    first, second = np.triu_indices(len(given))
    return np.asarray((given[first] + given[second]) / 2)


@lru_cache(maxsize=256)
def critical_ranks(taken: tuple[tuple[int, float], ...]) -> tuple[int | None, ...]:
    """Of each look, the largest rank sum of one sign that is too small to be random; None where none is.

    Exact, and the same for every distribution: were the gain 1, each sign would be a fair coin, whatever the order of
    the sizes, and a new pair would be equally likely to come at each place of that order. So the probability of each
    row of signs, in the order of the sizes, follows from that of the rows before it, less those that were rejected
    there. With one look the signs need not be gone through one by one.

    Args:
        taken: pairs at each look, ascending, and the probability of a wrong rejection until then.
    """
    if len(taken) == 1:
        ((pairs, spend),) = taken
        return (_largest(_sums_of(pairs), spend),)
    if taken[-1][0] > MAX_WITH_LOOKS:
        raise ValueError(f"several looks go to {MAX_WITH_LOOKS} pairs, not {taken[-1][0]}")
    spent, found = 0.0, []
    kept, pairs = np.ones(1), 0
    for until, spend in taken:
        while pairs < until:
            kept, pairs = _with_another(kept, pairs), pairs + 1
        sums = _rank_sums(pairs)
        probabilities = np.bincount(sums, weights=kept).astype(np.float64)
        largest = _largest(probabilities, spend - spent)
        found.append(largest)
        if largest is not None:
            spent += float(probabilities[: largest + 1].sum())
            kept = np.where(sums <= largest, 0.0, kept)
    return tuple(found)


def _largest(probabilities: Floats, spend: float) -> int | None:
    # What a sum of halves lacks of its last digit has no probability.
    largest = int(np.searchsorted(np.cumsum(probabilities), spend * (1 + 1e-12), side="right")) - 1
    return largest if largest >= 0 else None


def _sums_of(pairs: int) -> Floats:
    """How likely each rank sum is."""
    probabilities = np.ones(1)
    for rank in range(1, pairs + 1):
        with_rank = np.zeros(len(probabilities) + rank)
        with_rank[: len(probabilities)] += probabilities / 2
        with_rank[rank:] += probabilities / 2
        probabilities = with_rank
    return probabilities


def _rank_sums(pairs: int) -> NDArray[np.int64]:
    """The rank sum of each row of signs; bit i of a row is the sign of the pair of rank i + 1."""
    sums = np.zeros(1, dtype=np.int64)
    for rank in range(1, pairs + 1):
        sums = np.concatenate((sums, sums + rank))
    return sums


def _with_another(kept: Floats, pairs: int) -> Floats:
    """The probabilities of all rows with one pair more, of either sign, at each place of the order."""
    rows = np.arange(len(kept))
    longer = np.zeros(2 * len(kept))
    for place in range(pairs + 1):
        below = rows & ((1 << place) - 1)
        row = ((rows >> place) << (place + 1)) | below
        for sign in (0, 1):
            # No two rows become the same one by the same sign at the same place.
            longer[row | (sign << place)] += kept / (2 * (pairs + 1))
    return longer
