"""Verdicts on series whose nature is known."""

import numpy as np
import pytest

from whyperf.analyze.steady.changepoint import pettitt
from whyperf.analyze.steady.levels import two_levels
from whyperf.analyze.steady.rates import Floats, rates_between
from whyperf.analyze.steady.steadiness import judge
from whyperf.analyze.steady.warmup import mser5


def noise(count: int, ratio: float, seed: int) -> Floats:
    return 1e9 * (1 + ratio * np.random.default_rng(seed).standard_normal(count))


def wandering(count: int, ratio: float, correlation: float, seed: int) -> Floats:
    rng = np.random.default_rng(seed)
    values = np.empty(count)
    values[0] = rng.standard_normal()
    for index in range(1, count):
        values[index] = correlation * values[index - 1] + np.sqrt(1 - correlation**2) * rng.standard_normal()
    return 1e9 * (1 + ratio * values)


def test_a_flat_series_is_not_cut() -> None:
    assert mser5(np.full(100, 1e9) + np.linspace(0, 1e-3, 100)).drop_count == 0


def test_a_step_is_cut_at_its_batch() -> None:
    series = np.concatenate([np.full(15, 1e8), noise(85, 0.01, 1)])
    cut = mser5(series)
    assert 15 <= cut.drop_count <= 50
    assert mser5(np.concatenate([np.full(15, 1e8), np.full(85, 1e9)])).drop_count == 15


def test_at_most_half_is_cut() -> None:
    cut = mser5(np.concatenate([np.full(70, 1e8), np.full(30, 1e9)]))
    assert cut.drop_count <= 50


@pytest.mark.parametrize("count", [20, 49])
def test_of_a_short_series_nothing_is_cut(count: int) -> None:
    """Two seconds at 27.8 and 18.0 Gbit/s were reported as 18.0."""
    half = count // 2
    series = np.concatenate([27.8 * noise(half, 0.01, 1), 18.0 * noise(count - half, 0.01, 2)])
    assert mser5(series).drop_count == 0
    verdict = judge(series)
    assert (verdict.drop_count, verdict.steady, verdict.reason) == (0, False, "level_changed")


def test_of_a_series_long_enough_to_judge_the_beginning_is_cut() -> None:
    assert mser5(np.concatenate([np.full(10, 1e8), noise(40, 0.01, 1)])).drop_count == 10


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


def test_pettitt_agrees_with_its_definition() -> None:
    values = np.array([3.0, 1.0, 4.0, 1.5, 9.0, 2.6, 5.0, 8.0])
    count = values.size
    sums = [sum(np.sign(values[i] - values[j]) for i in range(t) for j in range(t, count)) for t in range(1, count)]
    assert pettitt(values).index == int(np.argmax(np.abs(sums))) + 1


def test_pettitt_is_sure_of_nothing_in_noise() -> None:
    sure = sum(pettitt(noise(100, 0.05, seed)).p_value < 0.01 for seed in range(300))
    assert sure <= 9


def test_the_best_split_explains_what_theory_says() -> None:
    rng = np.random.default_rng(5)
    assert two_levels(rng.standard_normal(100_000)).explained_ratio == pytest.approx(2 / np.pi, abs=0.01)
    assert two_levels(rng.uniform(size=100_000)).explained_ratio == pytest.approx(0.75, abs=0.01)
    assert two_levels(np.array([1.0, 1.0, 2.0, 2.0])).explained_ratio == pytest.approx(1.0)


def test_rates_of_overlapping_rows_add_up_and_gaps_are_silent() -> None:
    starts, ends = np.array([0.0, 0.0, 3e9]), np.array([2e9, 1e9, 4e9])
    octets = np.array([2.0, 1.0, 5.0])
    edges = np.array([0.0, 1e9, 2e9, 3e9, 4e9])
    assert rates_between(edges, starts, ends, octets) == pytest.approx([16, 8, 0, 40])
