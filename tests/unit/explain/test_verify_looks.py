"""The looks at a verification: ranks by hand, and how often several looks err."""

import math

import numpy as np
import pytest

from whyperf.explain.verify.looks import SIDE, Looks
from whyperf.explain.verify.signed_ranks import center, critical_ranks, repeated_interval

ALL = (Looks(6, 16), Looks(6, 20), Looks(8, 16), Looks(3, 12))


def taken(looks: Looks) -> tuple[tuple[int, float], ...]:
    return looks.taken(looks.at)


@pytest.mark.parametrize(
    ("first", "most", "at"),
    [(6, 16, (6, 9, 13, 16)), (6, 20, (6, 11, 15, 20)), (6, 7, (6, 7)), (10, 10, (10,)), (30, 30, (30,))],
)
def test_it_is_looked_at_evenly_between_first_and_most(first: int, most: int, at: tuple[int, ...]) -> None:
    assert Looks(first, most).at == at


@pytest.mark.parametrize(
    # The table of one-sided 2.5 % (F. Wilcoxon, S. K. Katti and R. A. Wilcox, 1970).
    ("pairs", "rank"),
    [(5, None), (6, 0), (7, 2), (8, 3), (9, 5), (10, 8), (12, 13), (16, 29), (20, 52), (50, 434)],
)
def test_one_look_has_the_ranks_of_the_table(pairs: int, rank: int | None) -> None:
    assert critical_ranks(((pairs, SIDE),)) == (rank,)


def test_going_through_all_signs_says_the_same_as_counting_sums() -> None:
    # A first look that shows nothing: all is spent at the second.
    for pairs in range(6, 13):
        assert critical_ranks(((4, SIDE), (pairs, SIDE)))[-1] == critical_ranks(((pairs, SIDE),))[0]


@pytest.mark.parametrize("looks", ALL)
def test_no_more_is_rejected_at_random_than_was_laid_down(looks: Looks) -> None:
    """Signs of fair coins and sizes of a heavy-tailed distribution: drawn anew, not counted."""
    generator = np.random.default_rng(1)
    runs = 20_000
    values = generator.standard_cauchy((runs, looks.most))
    rejected = np.zeros(runs, dtype=bool)
    for (pairs, _), rank in zip(taken(looks), critical_ranks(taken(looks)), strict=True):
        if rank is None:
            continue
        seen = values[:, :pairs]
        ranks = np.argsort(np.argsort(np.abs(seen), axis=1), axis=1) + 1
        rejected |= np.where(seen > 0, 0, ranks).sum(axis=1) <= rank
    deviation = math.sqrt(SIDE * (1 - SIDE) / runs)
    assert rejected.mean() < SIDE + 3 * deviation
    # Nearly all of it is used, or the looks would be wider than need be.
    assert rejected.mean() > 0.85 * SIDE - 3 * deviation


def test_intervals_of_all_looks_hold_the_gain_at_once() -> None:
    generator = np.random.default_rng(2)
    looks, runs, gain = Looks(6, 16), 1500, 0.7
    left_out = 0
    for _ in range(runs):
        first, other = generator.standard_t(2, looks.most), generator.standard_t(2, looks.most)
        logarithms = (gain + first - other).tolist()
        for number, pairs in enumerate(looks.at, start=1):
            interval = repeated_interval(logarithms[:pairs], looks.taken(looks.at[:number]))
            assert interval is not None
            if not interval[0] <= gain <= interval[1]:
                left_out += 1
                break
    assert left_out / runs < 2 * SIDE + 3 * math.sqrt(2 * SIDE / runs)


def test_each_look_of_six_pairs_is_their_range() -> None:
    six = [0.3, 0.1, 0.2, 0.5, 0.4, 0.9]
    assert repeated_interval(six, Looks(6, 16).taken([6])) == (0.1, 0.9)


def test_a_wild_pair_moves_neither_center_nor_interval_far() -> None:
    steady = [0.1 + 0.001 * number for number in range(16)]
    wild = [*steady[:-2], -50.0, 40.0]
    assert center(wild) == pytest.approx(center(steady), abs=0.01)
    low, high = repeated_interval(wild, Looks(16, 16).taken([16])) or (0.0, 0.0)
    assert 0.09 < low < high < 0.13


def test_pairs_without_a_result_make_a_look_smaller_and_not_two_of_it() -> None:
    assert [pairs for pairs, _ in Looks(6, 16).taken([5, 8, 8, 10])] == [5, 8, 10]


def test_more_pairs_than_signs_can_be_gone_through_are_refused() -> None:
    with pytest.raises(ValueError, match="several looks go to 20 pairs"):
        critical_ranks(((6, 0.01), (24, SIDE)))
