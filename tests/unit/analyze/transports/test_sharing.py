"""Stability, fairness and harm against hand values and other computations."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from tests.unit.analyze.synthetic import known
from whyperf.analyze.transports.indicators import fairness, goodput_harm, rtt_harm, stability

GOODPUTS = st.lists(st.floats(1e3, 1e10), min_size=2, max_size=30).map(np.array)


@given(GOODPUTS)
def test_stability_is_the_coefficient_of_variation(bps: "np.typing.NDArray[np.float64]") -> None:
    assert stability(bps) == pytest.approx(float(stats.variation(bps, ddof=1)), rel=1e-9, abs=1e-12)


@given(GOODPUTS, st.floats(1e-3, 1e3))
def test_fairness_knows_no_unit_and_no_order(bps: "np.typing.NDArray[np.float64]", factor: float) -> None:
    index = known(fairness(bps))
    assert 1 / bps.size - 1e-9 <= index <= 1 + 1e-9
    assert fairness(bps * factor) == pytest.approx(index)
    assert fairness(bps[::-1]) == pytest.approx(index)
    # In terms of the coefficient of variation (Jain 1984): F = 1 / (1 + CV²).
    assert index == pytest.approx(1 / (1 + float(stats.variation(bps)) ** 2))


@pytest.mark.parametrize("goodputs", [[7.0], [0.0, 0.0]])
def test_one_flow_and_flows_without_payload_have_neither(goodputs: list[float]) -> None:
    assert stability(np.array(goodputs)) is None
    assert fairness(np.array(goodputs)) is None


def test_harm_by_hand() -> None:
    assert goodput_harm(80e6, 20e6) == pytest.approx(0.75)
    assert goodput_harm(80e6, 88e6) == pytest.approx(-0.1)
    assert goodput_harm(0, 1) is None
    assert rtt_harm(0.05, 0.2) == pytest.approx(0.75)
    assert rtt_harm(0.05, 0) is None
