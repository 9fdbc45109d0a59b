"""Bootstrap intervals cover what they say."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from whyperf.analyze.bootstrap import coverage_limit, median_intervals


@pytest.mark.parametrize(("size", "least", "most"), [(3, 0.70, 0.80), (10, 0.92, 0.98), (25, 0.92, 0.98)])
def test_coverage_of_the_median_of_a_skewed_population(size: int, least: float, most: float) -> None:
    samples = np.random.default_rng(11).lognormal(0, 0.5, (800, size))
    intervals = median_intervals(samples.tolist(), seed=1)
    covered = np.mean([low <= 1.0 <= high for low, high in intervals if low is not None and high is not None])
    assert least <= covered <= most


def test_the_limit_for_three_trials_is_three_quarters() -> None:
    assert [coverage_limit(count) for count in range(5)] == [0, 0, 0.5, 0.75, 0.875]
    assert coverage_limit(6) > 0.95


def test_few_values() -> None:
    assert median_intervals([[], [5.0], [7.0, 6.0]], seed=1) == [(None, None), (None, None), (6.0, 7.0)]


@settings(max_examples=30)
@given(st.lists(st.lists(st.floats(1, 1e12), min_size=3, max_size=9), min_size=1, max_size=6), st.integers(0, 2**32))
def test_an_interval_is_inside_the_range_and_around_the_median(samples: list[list[float]], seed: int) -> None:
    for sample, (low, high) in zip(samples, median_intervals(samples, seed), strict=True):
        assert low is not None
        assert high is not None
        slack = 1e-9 * max(sample)
        assert min(sample) - slack <= low <= np.median(sample) + slack
        assert np.median(sample) - slack <= high <= max(sample) + slack


def test_a_sample_does_not_depend_on_its_company() -> None:
    rng = np.random.default_rng(3)
    many = rng.lognormal(0, 1, (300, 10)).tolist()
    assert median_intervals(many, seed=9)[17] == median_intervals([many[17]], seed=9)[0]
