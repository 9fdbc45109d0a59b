"""Convergence, slack and recovery of trials whose course is known."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.unit.analyze.transports.scheduled import Flow, constant, course_of, step
from whyperf.analyze.transports.adapting import Wait, convergence, recoveries, slack_taken_up


def test_bins_lie_in_one_region_and_lose_no_octet() -> None:
    flows = [Flow(0, 33, constant(30e6)), Flow(7, 20, constant(10e6))]
    course = course_of(flows)
    assert [region.flows for region in course.regions] == [(0,), (0, 1), (0,)]
    assert course.bin_s == pytest.approx(0.7, abs=0.05)
    octets = course.bps @ np.diff(course.edges_s) / 8
    assert octets == pytest.approx([33 * 30e6 / 8, 13 * 10e6 / 8])
    assert course.mean_bps(1, 1) == pytest.approx(10e6)


def test_a_flow_that_joins_converges_when_it_has_its_share() -> None:
    # 100 Mbit/s in all from 20 s on: the second flow has 10, and 50 from 32 s on.
    first = Flow(0, 60, lambda at: 100e6 if at < 20 else 90e6 if at < 32 else 50e6)
    second = Flow(20, 60, step(10e6, 32, 50e6))
    ((region, wait),) = convergence(course_of([first, second]))
    assert region == 1
    assert wait.reached
    assert wait.seconds == pytest.approx(12, abs=1)


def test_a_flow_that_never_gets_its_share_is_known_to_take_longer() -> None:
    flows = [Flow(0, 60, constant(90e6)), Flow(20, 60, constant(10e6))]
    assert [wait for _, wait in convergence(course_of(flows))] == [Wait(40.0, reached=False)]


def test_slack_is_taken_up_by_those_who_stay() -> None:
    # The second flow's 40 are free at 30 s; the first has them from 41 s on.
    flows = [Flow(0, 60, lambda at: 100e6 if at < 10 else 60e6 if at < 41 else 100e6), Flow(10, 30, constant(40e6))]
    (slack,) = slack_taken_up(course_of(flows))
    # 19 of the last 30 seconds.
    assert slack.ratio == pytest.approx(19 / 30, rel=1e-3)
    assert slack.wait.reached
    assert slack.wait.seconds == pytest.approx(11, abs=1)


def test_slack_that_nobody_takes() -> None:
    flows = [Flow(0, 60, constant(60e6)), Flow(10, 30, constant(40e6))]
    (slack,) = slack_taken_up(course_of(flows))
    assert slack.ratio == pytest.approx(0, abs=1e-6)
    assert slack.wait == Wait(30.0, reached=False)


def sawtooth(peak: float, low: float, growth: float, count: int) -> "tuple[list[float], list[float]]":
    """A window that grows by `growth` a sample and falls from `peak` to `low`, with the losses counted so far."""
    cwnd, again = [low], [0.0]
    for _ in range(count):
        lost = cwnd[-1] >= peak
        cwnd.append(low if lost else cwnd[-1] + growth)
        again.append(again[-1] + lost)
    return cwnd, again


@given(st.integers(20, 200), st.integers(1, 5))
def test_a_sawtooth_recovers_in_the_time_its_slope_takes(low: int, growth: int) -> None:
    """From low back to 0.9 of the peak, one sample a second."""
    peak = low + 10 * growth + low // 2
    cwnd, again = sawtooth(peak, low, growth, 800)
    at_s = np.arange(len(cwnd), dtype=np.float64)
    found = recoveries(at_s, np.array(cwnd), np.array(again), float(len(cwnd)))
    top = max(cwnd)
    samples = 0
    while low + samples * growth < 0.9 * top:
        samples += 1
    complete = [wait.seconds for wait in found if wait.reached]
    assert complete
    assert set(complete) == {float(samples)}


def test_the_first_loss_ends_slow_start_and_does_not_count() -> None:
    cwnd = np.array([10, 20, 400, 50, 60, 70, 80, 40, 50, 60, 75, 80], dtype=np.float64)
    again = np.array([0, 0, 0, 90, 90, 90, 90, 91, 91, 91, 91, 91], dtype=np.float64)
    at_s = np.arange(12, dtype=np.float64)
    # 80 before the second loss: 0.9 of it is passed by the 75 three samples later.
    assert recoveries(at_s, cwnd, again, 12.0) == [Wait(3.0, reached=True)]


def test_a_window_that_is_not_back_at_the_end_is_known_to_take_longer() -> None:
    cwnd = np.array([10, 50, 50, 80, 40, 41, 42], dtype=np.float64)
    again = np.array([0, 5, 5, 5, 6, 6, 6], dtype=np.float64)
    assert recoveries(np.arange(7.0), cwnd, again, 9.0) == [Wait(5.0, reached=False)]


def test_losses_before_the_window_is_back_belong_to_the_first() -> None:
    cwnd = np.array([10, 50, 50, 100, 50, 60, 30, 50, 80, 95], dtype=np.float64)
    again = np.array([0, 5, 5, 5, 6, 6, 7, 7, 7, 7], dtype=np.float64)
    assert recoveries(np.arange(10.0), cwnd, again, 10.0) == [Wait(5.0, reached=True)]


def test_without_a_loss_there_is_nothing_to_recover_from() -> None:
    flat = np.full(10, 50.0)
    assert recoveries(np.arange(10.0), flat, np.zeros(10), 10.0) == []
    # A loss after which the window was never seen to shrink.
    assert recoveries(np.arange(10.0), flat, np.array([0, 1, 1, 1, 2, 2, 2, 2, 2, 2.0]), 10.0) == []
