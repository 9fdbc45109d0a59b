"""Stability, fairness and harm against hand values and other computations."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from whyperf.analyze.transports.sharing import fairness, goodput_harm, rtt_harm, stability

GOODPUTS = st.lists(st.floats(1e3, 1e10), min_size=2, max_size=30).map(np.array)


@given(GOODPUTS)
def test_stability_is_the_coefficient_of_variation(bps: "np.typing.NDArray[np.float64]") -> None:
    assert stability(bps) == pytest.approx(float(stats.variation(bps, ddof=1)), rel=1e-9, abs=1e-12)


def test_stability_by_hand() -> None:
    # Mean 3, deviations -2 -1 0 1 2: variance 10 / 4.
    assert stability(np.array([1.0, 2.0, 3.0, 4.0, 5.0])) == pytest.approx(2.5**0.5 / 3)
    assert stability(np.array([7.0, 7.0, 7.0])) == 0
    assert stability(np.array([7.0])) is None
    assert stability(np.zeros(5)) is None


def test_fairness_by_hand() -> None:
    assert fairness(np.array([1.0, 1.0, 1.0])) == pytest.approx(1)
    assert fairness(np.array([6.0, 0.0, 0.0])) == pytest.approx(1 / 3)
    # 4 and 2: 36 / (2 x 20).
    assert fairness(np.array([4.0, 2.0])) == pytest.approx(0.9)
    assert fairness(np.array([4.0])) is None
    assert fairness(np.zeros(2)) is None


@given(GOODPUTS, st.floats(1e-3, 1e3))
def test_fairness_knows_no_unit_and_no_order(bps: "np.typing.NDArray[np.float64]", factor: float) -> None:
    index = fairness(bps)
    assert index is not None
    assert 1 / bps.size - 1e-9 <= index <= 1 + 1e-9
    assert fairness(bps * factor) == pytest.approx(index)
    assert fairness(bps[::-1]) == pytest.approx(index)
    # In terms of the coefficient of variation (Jain 1984): F = 1 / (1 + CV²).
    assert index == pytest.approx(1 / (1 + float(stats.variation(bps)) ** 2))


def test_harm_by_hand() -> None:
    assert goodput_harm(80e6, 20e6) == pytest.approx(0.75)
    assert goodput_harm(80e6, 88e6) == pytest.approx(-0.1)
    assert goodput_harm(0, 1) is None
    assert rtt_harm(0.05, 0.2) == pytest.approx(0.75)
    assert rtt_harm(0.05, 0) is None
