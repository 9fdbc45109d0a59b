"""What a change is predicted to bring: the next limit, by hand-made figures."""

from dataclasses import replace

import pytest

from whyperf.explain.facts import EndFacts, Facts, SegmentFacts, WindowFacts
from whyperf.explain.rules import gain

FAR = WindowFacts(rtt_ns_min=2_000_000, rtt_ns_median=2_100_000)
NEAR = WindowFacts(rtt_ns_min=40_000, rtt_ns_median=50_000)


def ends(sender: float, receiver: float, **facts: object) -> Facts:
    """Ends whose calls take so much of a CPU, at 1 Gbit/s."""
    made = Facts("t", rate_bps=1e9, sender=EndFacts(in_call_ratio=sender), receiver=EndFacts(in_call_ratio=receiver))
    return replace(made, **facts)  # type: ignore[arg-type]


# Payload is 99 % of what such segments put on a line.
LINE = SegmentFacts(
    line_bps=10e9 / 0.99, line_steadiness=0.7, line_use_ratio=0.1, segment_bytes_mean=6534, sent_segments_per_packet=1
)


def test_a_line_that_is_seen_is_the_next_limit() -> None:
    found = gain.of_share(ends(0.01, 0.01, segments=LINE, windows=FAR), 0.5, by_line=True)
    assert found.basis == "a full line"
    assert found.ratio == pytest.approx(10)
    assert found.low < 10 < found.high < 12


def test_a_line_is_compared_with_what_was_measured_without_the_log() -> None:
    lucky = ends(0.01, 0.01, segments=LINE, windows=FAR, goodput_bps=0.5e9)
    assert gain.of_share(lucky, 0.5, by_line=True).ratio == pytest.approx(20)


def test_a_line_that_is_hardly_seen_is_told_with_less_certainty() -> None:
    dim = replace(LINE, line_steadiness=0.1)
    found = gain.of_share(ends(0.01, 0.01, segments=dim, windows=FAR), 0.5, by_line=True)
    assert found.ratio == pytest.approx(10)
    assert found.high > 14
    # Between neighbors segments may come as the hosts let them, and time is all there is to go by.
    near = gain.of_share(ends(0.01, 0.01, segments=dim, windows=NEAR), 0.5, by_line=True)
    assert near.ratio == pytest.approx(2)


def test_a_busy_end_stands_before_the_line() -> None:
    found = gain.of_share(ends(0.25, 0.01, segments=LINE, windows=FAR), 0.5, by_line=True)
    assert found.ratio == pytest.approx(4)
    assert found.basis.startswith("what calls")


def test_the_window_of_neighbors_ends_at_their_cpus_and_that_of_a_path_at_what_time_is_left() -> None:
    assert gain.of_window(ends(0.1, 0.2, windows=NEAR), 0.5).ratio == pytest.approx(5)
    assert gain.of_window(ends(0.1, 0.2, windows=FAR), 0.5).ratio == pytest.approx(2)


def test_a_window_of_neighbors_that_grows_makes_larger_packets() -> None:
    few = SegmentFacts(segment_bytes_mean=1000, sent_segments_per_packet=2)
    found = gain.of_window(ends(0.1, 0.2, windows=NEAR, segments=few), 0.5)
    # 2000 bytes in 16 us, a fifth of which is work: 3.2 us, 0.24 us of it for bytes. 65160 bytes take 2.96 + 7.82 us.
    assert found.ratio == pytest.approx(65_160 * 8 / 10.78 / 1000, rel=1e-2)
    whole = SegmentFacts(segment_bytes_mean=1448, sent_segments_per_packet=45)
    assert gain.of_window(ends(0.1, 0.2, windows=NEAR, segments=whole), 0.5).ratio == pytest.approx(5)


def test_an_end_that_sleeps_may_do_several_times_what_it_shows() -> None:
    working, sleeping = gain.of_ends(ends(0.8, 0.1)), gain.of_ends(ends(0.01, 0.01))
    assert working.high / working.ratio < 2 < sleeping.high / sleeping.ratio


def test_larger_calls_cost_their_bytes() -> None:
    # 64 bytes in 1 us: 512 Mbit/s; 131072 bytes then take 1 us less 64 bytes' copy, and their own copy: 16.7 us.
    found = gain.of_calls(ends(0.9, 0.1, goodput_bps=512e6), EndFacts(call_ns_mean=1000.0), 64, 131_072)
    assert found is not None
    assert found.ratio == pytest.approx(8e9 * 131_072 / 16_721 / 512e6, rel=1e-3)


def test_larger_calls_make_packets_that_cost_softirqs() -> None:
    small = SegmentFacts(segment_bytes_mean=1000, sent_segments_per_packet=1)
    # 8 us a packet, half of it softirqs: 4 us for each of about two packets of a call.
    sender = EndFacts(call_ns_mean=1000.0, softirq_ratio=0.5)
    found = gain.of_calls(ends(0.9, 0.1, segments=small), sender, 64, 131_072)
    assert found is not None
    assert found.ratio == pytest.approx(8 * 131_072 / (16_721 + 4000 * 131_072 / 65_160), rel=1e-3)


def test_larger_packets_cost_their_bytes() -> None:
    small = SegmentFacts(segment_bytes_mean=1000)
    # 1 Gbit/s in packets of 1000 bytes: 8 us each, of which 0.12 us are for bytes.
    found = gain.of_packets(ends(0.9, 0.9, segments=small), 9000)
    assert found is not None
    assert found.ratio == pytest.approx(8 / (7.88 + 1.08) * 9, rel=1e-3)


def test_packets_that_are_taken_apart_late_cost_a_copy_and_what_the_receiver_spends() -> None:
    whole = SegmentFacts(segment_bytes_mean=1000, sent_segments_per_packet=40)
    receiver = EndFacts(softirq_ratio=0.02)
    found = gain.of_whole_packets(replace(ends(0.9, 0.1, segments=whole), receiver=receiver))
    # A packet goes every 320 us, of which 6.4 us are the receiver's softirqs; its copy takes 4.8 us.
    assert found is not None
    assert found.ratio == pytest.approx(320 / 11.2)
    assert gain.of_whole_packets(ends(0.9, 0.1)) is None


def test_ends_that_share_a_cpu_gain_what_the_busier_lacks() -> None:
    shared = Facts("t", sender=EndFacts(thread_ratio=0.4), receiver=EndFacts(thread_ratio=0.6))
    assert gain.of_one_cpu(shared).ratio == pytest.approx(1 / 0.6)


def test_several_exchanges_share_a_wait_up_to_what_they_do_besides() -> None:
    idle = ends(0.01, 0.01, windows=FAR)
    assert gain.of_several(idle, 0.99, 8).ratio == pytest.approx(8)
    assert gain.of_several(idle, 0.5, 8).ratio == pytest.approx(2)


def test_no_change_is_predicted_to_cost_rate_nor_to_bring_more_than_can_be_said() -> None:
    assert gain.gain(0.5, 1.5, "").low == 1
    assert gain.gain(1e9, 1.5, "").ratio == gain.MOST_GAIN
