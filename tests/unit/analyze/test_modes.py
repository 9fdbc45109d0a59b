"""Modes of rates: the dip against its definition, how often one mode is taken for several, and modes that are there."""

from collections.abc import Callable

import numpy as np
import pytest
from scipy.optimize import linprog

from whyperf.analyze.steady.dip import critical_dip, dip
from whyperf.analyze.steady.modes import modes_of, modes_over_time
from whyperf.analyze.steady.rates import Floats

FAMILIES: dict[str, Callable[[np.random.Generator, int], Floats]] = {
    "normal": lambda rng, n: 100 + 8 * rng.standard_normal(n),
    "uniform": lambda rng, n: 80 + 40 * rng.random(n),
    "exponential": lambda rng, n: 50 + 30 * rng.exponential(size=n),
    "left": lambda rng, n: 300 - 30 * rng.exponential(size=n),
    "lognormal": lambda rng, n: 100 * np.exp(0.5 * rng.standard_normal(n)),
    "heavy": lambda rng, n: 100 + 8 * rng.standard_t(3, n),
}


def smallest_distance(values: Floats) -> float:
    """The dip by its definition: a linear program for each place of the mode."""
    x, n = np.sort(values), values.size
    found: list[float] = []
    for mode in range(n):
        rows: list[Floats] = []
        bounds: list[float] = []

        def below(parts: dict[int, float], bound: float, into: list[Floats] = rows, to: list[float] = bounds) -> None:
            row = np.zeros(n + 1)
            row[list(parts)] = list(parts.values())
            into.append(row)
            to.append(bound)

        for i in range(n):
            below({i: -1, n: -1}, -(i + 1) / n)
            below({i: 1, n: -1}, i / n)
        for i in range(1, n - 1):
            before, after = x[i] - x[i - 1], x[i + 1] - x[i]
            sign = 1 if i < mode else -1
            if i != mode:
                below({i - 1: -sign / before, i: sign * (1 / before + 1 / after), i + 1: -sign / after}, 0)
        cost = np.append(np.zeros(n), 1)
        solved = linprog(cost, A_ub=np.array(rows), b_ub=bounds, bounds=[(None, None)] * n + [(0, None)])
        found.append(float(solved.fun or 0.0))
    return min(found)


@pytest.mark.parametrize("seed", range(4))
def test_the_dip_is_the_smallest_distance_from_a_distribution_with_one_mode(seed: int) -> None:
    rng = np.random.default_rng(seed)
    values = np.concatenate([rng.random(5), 2 + rng.random(3 + seed)])
    assert dip(values) == pytest.approx(smallest_distance(values), abs=1e-7)


def test_the_dip_of_equal_steps_is_the_smallest_and_of_two_heaps_the_largest() -> None:
    assert dip(np.arange(10.0)) == pytest.approx(1 / 20)
    assert dip(np.append(np.linspace(0, 1e-6, 50), 1 + np.linspace(0, 1e-6, 50))) == pytest.approx(0.25, abs=1e-3)


def test_one_uniform_sample_in_100_has_a_larger_dip() -> None:
    rng = np.random.default_rng(1)
    larger = sum(dip(rng.random(25)) > critical_dip(25) for _ in range(1500))
    assert 3 <= larger <= 32


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("count", [8, 12, 25])
def test_one_mode_is_hardly_ever_taken_for_several(family: str, count: int) -> None:
    rng = np.random.default_rng(count)
    several = sum(len(modes_of(FAMILIES[family](rng, count))) > 1 for _ in range(400))
    # One in 100: the binomial distribution has more than 11 of 400 once in 1,000.
    assert several <= 11


def correlated(rng: np.random.Generator, count: int, correlation: float) -> Floats:
    values = rng.standard_normal(count)
    for place in range(1, count):
        values[place] = correlation * values[place - 1] + np.sqrt(1 - correlation**2) * values[place]
    return 100 + 8 * values


@pytest.mark.parametrize("correlation", [0.0, 0.8, 0.97])
def test_a_rate_that_wanders_has_one_mode(correlation: float) -> None:
    rng = np.random.default_rng(5)
    several = sum(len(modes_over_time([correlated(rng, 80, correlation) for _ in range(4)])) > 1 for _ in range(60))
    assert several <= 3


def test_a_sawtooth_and_trials_of_different_rates_have_one_mode() -> None:
    rng = np.random.default_rng(6)
    teeth = [80 + 40 * ((np.arange(100) + start) / 23 % 1) for start in range(5)]
    assert len(modes_over_time(teeth)) == 1
    apart = [100 + 8 * rng.standard_normal() + rng.standard_normal(50) for _ in range(6)]
    assert len(modes_over_time(apart)) == 1


def test_steps_of_counting_are_no_modes() -> None:
    rng = np.random.default_rng(7)
    steps = [np.round((100 + 6 * rng.standard_normal(100)) / 8) * 8 for _ in range(4)]
    assert len(modes_over_time(steps, resolution=8)) == 1


def test_two_rates_over_time_have_their_shares() -> None:
    rng = np.random.default_rng(8)
    series = [np.repeat([140.0, 125.0], [40, 60]) + rng.standard_normal(100) for _ in range(3)]
    low, high = modes_over_time(series)
    assert (low.share, high.share) == (0.6, 0.4)
    assert low.median == pytest.approx(125, abs=0.5)
    assert high.median == pytest.approx(140, abs=0.5)


def test_rates_of_trials_are_divided_where_nothing_lies_between() -> None:
    rng = np.random.default_rng(9)
    rare = np.append(100 + 0.2 * rng.standard_normal(22), 120 + 0.2 * rng.standard_normal(3))
    assert [round(level.share, 2) for level in modes_of(rare)] == [0.88, 0.12]
    three = np.concatenate([middle + 0.2 * rng.standard_normal(12) for middle in (100, 120, 150)])
    assert [round(level.median) for level in modes_of(three)] == [100, 120, 150]
    # Too close to matter, too few, or a single outlier.
    assert len(modes_of(np.append(np.full(15, 100.0), np.full(15, 102.0)))) == 1
    assert len(modes_of(np.append(np.full(3, 100.0), np.full(3, 150.0)))) == 1
    assert len(modes_of(np.append(100 + rng.standard_normal(24), 200.0))) == 1
    assert len(modes_of(np.full(30, 100.0))) == 1


def test_nothing_observed_has_no_modes() -> None:
    assert modes_of(np.empty(0)) == []


def test_trials_of_different_rates_are_no_modes_over_time() -> None:
    rng = np.random.default_rng(10)
    assert len(modes_over_time([rate + rng.standard_normal(50) for rate in (100.0, 120.0, 140.0)])) == 1
