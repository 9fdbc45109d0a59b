"""Slow hosts among equal ones: found if they are slow, and seldom if they are not."""

import numpy as np
import pytest

from whyperf.analyze.fleet.outliers import centered, lows, polished

RNG_SEED = 4


def draws(times: int, count: int, spread: float) -> np.ndarray:
    return np.random.default_rng(RNG_SEED).normal(0.0, spread, (times, count))


@pytest.mark.parametrize("count", [4, 8, 15])
def test_equal_hosts_are_seldom_called_slow(count: int) -> None:
    times = 400
    found = sum(any(low.is_slow for low in lows([effects])[0]) for effects in draws(times, count, 0.3))
    # At most 5 %, and two standard deviations of so many tries.
    assert found <= times * 0.05 + 2 * np.sqrt(times * 0.05 * 0.95)


@pytest.mark.parametrize(("ratio", "spread", "power"), [(0.5, 0.05, 0.99), (0.7, 0.05, 0.95), (0.4, 0.15, 0.85)])
def test_one_slow_host_of_eight_is_found(ratio: float, spread: float, power: float) -> None:
    times = 200
    hits = 0
    for effects in draws(times, 8, spread):
        effects[3] += np.log(ratio)
        slow = [at for at, low in enumerate(lows([effects])[0]) if low.is_slow]
        hits += 3 in slow
    assert hits >= power * times


def test_two_slow_hosts_do_not_hide_each_other() -> None:
    effects = np.array([0.01, -0.02, 0.02, 0.0, -0.01, 0.015, np.log(0.5), np.log(0.45)])
    (found,) = lows([effects])
    assert [low.is_slow for low in found] == [False] * 6 + [True] * 2
    assert found[6].ratio == pytest.approx(0.5, rel=0.02)
    assert found[7].ratio == pytest.approx(0.45, rel=0.02)


def test_even_hosts_need_a_tenth() -> None:
    effects = np.array([0.0, 1e-6, -1e-6, 0.0, 0.0, 0.0, 0.0, np.log(0.92)])
    assert not any(low.is_slow for low in lows([effects])[0])
    effects[-1] = np.log(0.88)
    assert [low.is_slow for low in lows([effects])[0]] == [False] * 7 + [True]


def test_families_are_adjusted_together() -> None:
    effects = np.array([0.0, 0.05, -0.04, 0.03, -0.02, 0.01, -0.03, -0.32])
    alone = lows([effects])[0][7].p_value
    many = lows([effects, *draws(9, 8, 0.05)])[0][7].p_value
    assert many > alone


def test_a_bad_trial_makes_no_host_slow() -> None:
    rates = np.full((5, 6), 1e9)
    rates[2] *= 0.3
    rates[4, 1] = 1e8
    assert centered(rates) == pytest.approx(np.zeros(6))


def test_a_host_that_moved_nothing_has_a_rate_all_the_same() -> None:
    rates = np.full((1, 5), 1e9)
    rates[0, 2] = 0.0
    assert centered(rates)[2] == pytest.approx(np.log(1e-3))


def test_a_pair_that_is_missing_in_a_trial_does_not_count_there() -> None:
    rates = np.array([[1e9, 1e9, 5e8], [2e9, 2e9, np.nan]])
    assert centered(rates)[2] == pytest.approx(np.log(0.5))


def test_median_polish_separates_senders_from_receivers() -> None:
    rows, columns = np.log([1.0, 1.0, 0.5, 1.0]), np.log([1.0, 0.8, 1.0, 1.0])
    table = rows[:, None] + columns[None, :]
    np.fill_diagonal(table, np.nan)
    of_rows, of_columns = polished(table)
    assert of_rows == pytest.approx(rows)
    assert of_columns == pytest.approx(columns)
