"""Modes of rates: the dip against its definition, how often one mode is taken for several, and modes that are there."""

from collections.abc import Callable

import numpy as np
import pytest

from whyperf.analyze.steady.modes import critical_dip, dip, modes_of, modes_over_time
from whyperf.analyze.steady.rates import Floats

FAMILIES: dict[str, Callable[[np.random.Generator, int], Floats]] = {
    "normal": lambda rng, n: 100 + 8 * rng.standard_normal(n),
    "uniform": lambda rng, n: 80 + 40 * rng.random(n),
    "exponential": lambda rng, n: 50 + 30 * rng.exponential(size=n),
    "left": lambda rng, n: 300 - 30 * rng.exponential(size=n),
    "lognormal": lambda rng, n: 100 * np.exp(0.5 * rng.standard_normal(n)),
    "heavy": lambda rng, n: 100 + 8 * rng.standard_t(3, n),
}


@pytest.mark.parametrize(
    ("values", "distance"),
    [
        # Equal steps are as close as n values can be, 1 / 2n; two heaps are as far as any.
        (np.arange(10.0), 1 / 20),
        (np.append(np.linspace(0, 1e-6, 50), 1 + np.linspace(0, 1e-6, 50)), 1 / 4),
        # A linear program over all distributions with one mode gives the least of the largest distances.
        ([0, 1, 5, 6], 1 / 5),
        ([0, 1, 2, 10, 11, 12], 1 / 5),
        ([0, 0.5, 1, 7, 7.5, 9, 20], 9 / 56),
        ([1, 2, 3, 4, 9, 10, 11, 12], 5 / 32),
    ],
)
def test_the_dip_is_the_distance_from_the_closest_single_mode(values: list[float], distance: float) -> None:
    assert dip(np.array(values, dtype=np.float64)) == pytest.approx(distance, abs=1e-3)


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
