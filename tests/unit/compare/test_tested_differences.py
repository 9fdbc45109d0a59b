"""Whether differences are significant: compared with SciPy's tests, and what counting alone explains."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from whyperf.compare.difference import FALSE_DISCOVERY_RATE, Sample, differences_of, significant

ROWS = 5


def sample(values: Any, floor: float = 0.0) -> Sample:
    rows = np.atleast_2d(np.asarray(values, dtype=float))
    return Sample(rows, np.full(len(rows), floor))


def drawn(seed: int, count: int) -> Any:
    return np.random.default_rng(seed).normal(10, 2, size=(ROWS, count))


@given(st.integers(0, 1000), st.integers(2, 9))
def test_paired_differences_are_students_t(seed: int, count: int) -> None:
    a, b = drawn(seed, count), drawn(seed + 5000, count)
    expected = stats.ttest_rel(b, a, axis=1)
    intervals = expected.confidence_interval(0.95)
    for place, found in enumerate(differences_of(sample(a), sample(b), is_paired=True)):
        assert found.p_value == pytest.approx(expected.pvalue[place])
        assert found.difference == pytest.approx((b - a).mean(axis=1)[place])
        assert (found.low, found.high) == pytest.approx((intervals.low[place], intervals.high[place]))
        assert found.is_paired


@given(st.integers(0, 1000), st.integers(2, 9), st.integers(2, 9))
def test_others_are_welchs(seed: int, count_a: int, count_b: int) -> None:
    a, b = drawn(seed, count_a), drawn(seed + 5000, count_b) * 3
    expected = stats.ttest_ind(b, a, axis=1, equal_var=False)
    intervals = expected.confidence_interval(0.95)
    for place, found in enumerate(differences_of(sample(a), sample(b), is_paired=False)):
        assert found.p_value == pytest.approx(expected.pvalue[place])
        assert (found.low, found.high) == pytest.approx((intervals.low[place], intervals.high[place]))


@pytest.mark.parametrize("is_paired", [True, False])
def test_one_trial_has_a_difference_and_no_test(is_paired: bool) -> None:
    (found,) = differences_of(sample([3]), sample([5]), is_paired=is_paired)
    assert (found.difference, found.low, found.high, found.p_value) == (2.0, None, None, None)


@pytest.mark.parametrize("is_paired", [True, False])
def test_equal_values_do_not_differ_and_different_constants_do(is_paired: bool) -> None:
    same, other = differences_of(sample([[7, 7, 7], [7, 7, 7]]), sample([[7, 7, 7], [8, 8, 8]]), is_paired=is_paired)
    assert (same.p_value, same.difference) == (1.0, 0.0)
    assert (other.p_value, other.low, other.high) == (0.0, 1.0, 1.0)


@pytest.mark.parametrize("is_paired", [True, False])
def test_what_counting_explains_is_no_difference(is_paired: bool) -> None:
    """A function with no sample in A and one in each trial of B."""
    never, once = [0, 0, 0, 0], [1, 1, 1, 1]
    (by_values,) = differences_of(sample(never), sample(once), is_paired=is_paired)
    (by_counts,) = differences_of(sample(never, floor=1.0), sample(once, floor=2.0), is_paired=is_paired)
    assert by_values.p_value == 0.0
    assert by_counts.p_value is not None
    assert by_counts.p_value > 0.1
    # Mean 1 of four values of variance 3 in all: 1 / sqrt(3 / 4).
    freedom = 3 if is_paired else (1 / 4 + 2 / 4) ** 2 / ((1 / 4) ** 2 / 3 + (2 / 4) ** 2 / 3)
    assert by_counts.p_value == pytest.approx(2 * stats.t.sf(1 / np.sqrt(3 / 4), freedom))


@given(st.lists(st.floats(0, 1), min_size=1, max_size=60))
def test_what_is_significant_is_by_benjamini_and_hochberg(p_values: list[float]) -> None:
    adjusted = stats.false_discovery_control(p_values)
    clear = [abs(value - FALSE_DISCOVERY_RATE) > 1e-9 for value in adjusted]
    found = significant(p_values)
    assert [mark for mark, is_clear in zip(found, clear, strict=True) if is_clear] == [
        value <= FALSE_DISCOVERY_RATE for value, is_clear in zip(adjusted.tolist(), clear, strict=True) if is_clear
    ]


def test_what_was_not_tested_takes_no_part() -> None:
    assert significant([None, 0.04, None]) == [False, True, False]
    assert significant([0.04, 0.9]) == [False, False]
    assert significant([None]) == [False]
