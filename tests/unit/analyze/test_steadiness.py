"""Verdicts on series whose nature is known."""

import numpy as np
import pytest

from whyperf.analyze.steady.rates import Floats
from whyperf.analyze.steady.steadiness import judge, mser5


def noise(count: int, ratio: float, seed: int) -> Floats:
    return 1e9 * (1 + ratio * np.random.default_rng(seed).standard_normal(count))


def wandering(count: int, ratio: float, correlation: float, seed: int) -> Floats:
    rng = np.random.default_rng(seed)
    values = np.empty(count)
    values[0] = rng.standard_normal()
    for index in range(1, count):
        values[index] = correlation * values[index - 1] + np.sqrt(1 - correlation**2) * rng.standard_normal()
    return 1e9 * (1 + ratio * values)


@pytest.mark.parametrize("count", [20, 49])
def test_of_a_short_series_nothing_is_cut(count: int) -> None:
    """Two seconds at 27.8 and 18.0 Gbit/s were reported as 18.0."""
    half = count // 2
    series = np.concatenate([27.8 * noise(half, 0.01, 1), 18.0 * noise(count - half, 0.01, 2)])
    assert mser5(series).drop_count == 0
    verdict = judge(series)
    assert (verdict.drop_count, verdict.steady, verdict.reason) == (0, False, "level_changed")


def test_a_long_ramp_never_settles() -> None:
    verdict = judge(np.linspace(1e8, 1e9, 100))
    assert verdict.steady is False


def test_noise_is_steady() -> None:
    flagged = sum(judge(noise(100, 0.05, seed)).steady is not True for seed in range(200))
    assert flagged <= 4


def test_correlated_noise_is_seldom_flagged() -> None:
    flagged = sum(judge(wandering(100, 0.03, 0.6, seed)).steady is not True for seed in range(200))
    assert flagged <= 10


def test_a_drop_half_way_is_named_with_both_levels() -> None:
    series = np.concatenate([noise(50, 0.02, 1), noise(50, 0.02, 2) / 2])
    verdict = judge(series)
    assert (verdict.steady, verdict.reason) == (False, "level_changed")
    assert verdict.from_bps == pytest.approx(1e9, rel=0.02)
    assert verdict.to_bps == pytest.approx(5e8, rel=0.02)
    assert verdict.change_index == pytest.approx(50, abs=1)


def test_a_drop_after_a_warm_up_that_is_cut_is_placed_in_the_whole_series() -> None:
    verdict = judge(np.concatenate([noise(10, 0.002, 1) / 10, noise(60, 0.002, 2), 0.8 * noise(30, 0.002, 3)]))
    assert (verdict.drop_count, verdict.reason) == (10, "level_changed")
    assert verdict.change_index == pytest.approx(10 + 60, abs=1)


@pytest.mark.parametrize("dwell", [3, 5, 10])
def test_a_bistable_series_is_flagged(dwell: int) -> None:
    state = (np.arange(100) // dwell) % 2
    verdict = judge(noise(100, 0.02, 3) * np.where(state, 1.0, 0.6))
    assert verdict.steady is False
    assert verdict.reason in {"two_levels", "level_changed"}


def test_a_small_bistability_is_no_concern() -> None:
    state = (np.arange(100) // 5) % 2
    assert judge(1e9 * np.where(state, 1.0, 0.98)).steady is True


def test_a_sawtooth_is_steady() -> None:
    tooth = (np.arange(100) % 10) / 10
    assert judge(1e9 * (0.7 + 0.3 * tooth)).steady is True


def test_too_short_to_judge() -> None:
    assert judge(noise(19, 0.05, 1)).steady is None
