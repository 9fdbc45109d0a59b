"""No gain is predicted beyond a known link rate."""

from dataclasses import replace

import pytest

from whyperf.explain.limits import gain
from whyperf.explain.path_facts import BottleneckRate, Pacing, SegmentFacts, WindowFacts
from whyperf.explain.trial_facts import Facts
from whyperf.explain.wording.catalog import statement

FAR = WindowFacts(rtt_ns_min=10_000_000, rtt_ns_median=15_000_000)
HUGE = gain.Gain(150.0, 100.0, 225.0, statement("larger_calls"))
LINE = SegmentFacts(segment_bytes_mean=1448, bottleneck=BottleneckRate(bps=100e6, steadiness=0.7, use_ratio=0.2))


def test_a_line_that_the_device_states_is_the_most_that_can_be() -> None:
    found = gain.bounded(HUGE, Facts("t", goodput_bps=16.7e6, link_bps=140e6))
    assert found.ratio == pytest.approx(140 / 16.7)
    assert (found.low, found.high) == (1.0, found.ratio)
    assert found.basis == statement("link", link_bps=140e6)
    # Headers take a part of it.
    small = Facts("t", goodput_bps=16.7e6, link_bps=140e6, segments=SegmentFacts(segment_bytes_mean=66.0))
    assert gain.bounded(HUGE, small).ratio == pytest.approx(70 / 16.7)


def test_a_prediction_below_its_bound_keeps_its_ratio_and_loses_what_is_beyond() -> None:
    likely = gain.Gain(5.0, 3.0, 50.0, statement("remaining_time"))
    found = gain.bounded(likely, Facts("t", goodput_bps=10e6, link_bps=100e6))
    assert (found.ratio, found.low, found.high, found.basis) == (5.0, 3.0, 10.0, likely.basis)


def test_a_device_that_carries_more_than_it_states_is_no_bound() -> None:
    assert gain.bounded(HUGE, Facts("t", goodput_bps=20e9, link_bps=10e9)) == HUGE


def test_a_line_seen_on_a_path_bounds_what_is_predicted_of_the_ends() -> None:
    far = Facts("t", goodput_bps=20e6, windows=FAR, segments=LINE)
    assert gain.bounded(HUGE, far).ratio == pytest.approx(5 * 1448 / 1514)
    # Distances that a pacing rate makes are no line's, and between neighbors hosts make them.
    paced = replace(LINE, pacing=Pacing(bps=95e6, constant_ratio=0.9))
    assert gain.bounded(HUGE, replace(far, segments=paced)) == HUGE
    assert gain.bounded(HUGE, replace(far, windows=WindowFacts(rtt_ns_min=40_000))) == HUGE


DELIVERED = replace(FAR, delivered_bps_high=96e6, delivered_bps_max=115e6)


def test_without_a_log_a_path_before_which_a_queue_stands_carries_what_got_acknowledged() -> None:
    full = Facts("t", level="counters", goodput_bps=95e6, windows=DELIVERED)
    found = gain.bounded(HUGE, full)
    assert found.ratio == pytest.approx(96 / 95)
    assert found.low == 1
    assert found.high < 1.2
    # No queue, no line: the sender may have had nothing more to send.
    idle = replace(DELIVERED, rtt_ns_median=FAR.rtt_ns_min)
    assert gain.bounded(HUGE, replace(full, windows=idle)) == HUGE
    # Rates that come and go are no line's, but those that reach the same height are.
    assert gain.bounded(HUGE, replace(full, goodput_bps=20e6)) == HUGE
    level = replace(DELIVERED, delivered_bps_max=100e6)
    assert gain.bounded(HUGE, replace(full, goodput_bps=20e6, windows=level)).ratio == pytest.approx(4.8)


def test_no_interval_goes_beyond_what_can_be_said() -> None:
    assert gain.bounded(gain.idle(500.0, ""), Facts("t")).high == gain.MAX_GAIN
