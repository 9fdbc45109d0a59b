"""What a change is predicted to bring: the next limit, by hand-made figures."""

from dataclasses import replace

import pytest

from whyperf.explain.host_facts import Calls, HostFacts, Processors
from whyperf.explain.limits import gain
from whyperf.explain.limits.gain import COLD_NS, MAX_COLDER, WAKE_NS, cold_ns, warm_ns
from whyperf.explain.limits.joint import calibrated
from whyperf.explain.path_facts import BottleneckRate, RequestCycle, SegmentFacts, WindowFacts
from whyperf.explain.trial_facts import ExchangeFacts, Facts, RequestedLoad
from whyperf.explain.wording.catalog import statement

FAR = WindowFacts(rtt_ns_min=2_000_000, rtt_ns_median=2_100_000)
NEAR = WindowFacts(rtt_ns_min=40_000, rtt_ns_median=50_000)


def ends(sender: float, receiver: float, **facts: object) -> Facts:
    """Ends whose calls take so much of a CPU, at 1 Gbit/s."""
    calls = (HostFacts(calls=Calls(in_call_ratio=ratio)) for ratio in (sender, receiver))
    return replace(Facts("t", rate_bps=1e9, sender=next(calls), receiver=next(calls)), **facts)  # type: ignore[arg-type]


# Payload is 99 % of what such segments put on a line.
LINE = SegmentFacts(
    segment_bytes_mean=6534,
    sent_segments_per_packet=1,
    bottleneck=BottleneckRate(bps=10e9 / 0.99, steadiness=0.7, use_ratio=0.1),
)


def test_a_line_that_is_seen_is_the_next_limit() -> None:
    found = gain.of_share(ends(0.01, 0.01, segments=LINE, windows=FAR), 0.5, by_line=True)
    assert found.basis.code == "full_link"
    assert found.ratio == pytest.approx(10)
    assert found.low < 10 < found.high < 12


def test_a_line_is_compared_with_what_was_measured_without_the_log() -> None:
    lucky = ends(0.01, 0.01, segments=LINE, windows=FAR, goodput_bps=0.5e9)
    assert gain.of_share(lucky, 0.5, by_line=True).ratio == pytest.approx(20)


def test_a_line_that_is_hardly_seen_has_a_wider_interval() -> None:
    dim = replace(LINE, bottleneck=replace(LINE.bottleneck, steadiness=0.1))
    found = gain.of_share(ends(0.01, 0.01, segments=dim, windows=FAR), 0.5, by_line=True)
    assert found.ratio == pytest.approx(10)
    assert found.high > 14
    # Between neighbors segments may come as the hosts let them, and time is all there is to go by.
    near = gain.of_share(ends(0.01, 0.01, segments=dim, windows=NEAR), 0.5, by_line=True)
    assert near.ratio == pytest.approx(2)


STOP_AND_GO = SegmentFacts(segment_bytes_mean=4096, bottleneck=BottleneckRate(bps=29e6, steadiness=1.0, use_ratio=1.0))
"""Two segments in flight, each sent when an ACK arrives, at one rate."""


def test_the_rhythm_of_acks_is_no_full_line() -> None:
    def bound(flight: int, trip_ns: int | None, link_bps: float | None) -> str:
        windows = WindowFacts(rtt_ns_min=trip_ns, flight_bytes_max=flight)
        facts = ends(0.57, 0.62, segments=STOP_AND_GO, windows=windows, link_bps=link_bps)
        return gain.of_share(facts, 0.43, by_line=True).basis.code

    assert bound(8192, None, 140e6) == "cpu"
    assert bound(8192, 150_000, None) == "cpu"
    # A link of that rate is full with two segments, and so may be that of a path.
    assert bound(8192, None, 30e6) == "full_link"
    assert bound(8192, None, None) == "full_link"
    assert bound(8192, 2_000_000, None) == "full_link"
    # Of more segments in flight some leave one after the other.
    assert bound(16_384, None, 140e6) == "full_link"


def test_a_busy_end_stands_before_the_line() -> None:
    found = gain.of_share(ends(0.25, 0.01, segments=LINE, windows=FAR), 0.5, by_line=True)
    assert found.ratio == pytest.approx(4)
    assert found.basis.code.startswith("cpu")


SMALL, LARGE = 32_768, 262_144
"""Windows below and above twice the largest packet."""


@pytest.mark.parametrize("trip", [NEAR, FAR])
def test_without_a_window_no_more_is_predicted_than_the_waiting_time_allows(trip: WindowFacts) -> None:
    assert gain.of_window(ends(0.1, 0.2, windows=trip), 0.5, LARGE).ratio == pytest.approx(2)
    # Of a longer wait the CPUs are next.
    assert gain.of_window(ends(0.1, 0.2, windows=trip), 0.9, LARGE).ratio == pytest.approx(5)


def test_a_gain_that_ends_at_the_waiting_time_may_be_none_and_never_more() -> None:
    small = SegmentFacts(segment_bytes_mean=1448, sent_segments_per_packet=3)
    found = gain.of_window(ends(0.5, 0.6, windows=NEAR, segments=small), 0.21, LARGE)
    assert found.ratio == pytest.approx(1 / 0.79)
    assert (found.low, found.high, found.basis) == (1.0, found.ratio, statement("waited", waited_ratio=0.21))
    # The bound holds for the printed interval, too, which errors of other predictions make wider.
    busy = gain.of_window(ends(0.9, 0.95, windows=NEAR, segments=small), 0.21, LARGE)
    assert busy.ratio == pytest.approx(1 / 0.95)
    printed = gain.bounded(calibrated(busy, "counters"), ends(0.9, 0.95, windows=NEAR))
    assert printed.ratio <= printed.high == pytest.approx(1 / 0.79)


def test_a_host_that_sleeps_waits_for_its_cpu_because_of_the_window() -> None:
    facts = ends(0.05, 0.1, windows=NEAR)
    woken = replace(facts, sender=replace(facts.sender, shares={"waits_for_cpu": 0.25}))
    assert gain.of_window(woken, 0.5, LARGE).ratio == pytest.approx(4)


def test_a_window_of_neighbors_that_grows_makes_larger_packets() -> None:
    few = SegmentFacts(segment_bytes_mean=1000, sent_segments_per_packet=2)
    facts = ends(0.3, 0.6, windows=NEAR, segments=few)
    found = gain.of_window(facts, 0.5, SMALL)
    # 2000 bytes in 16 us, three fifths of which are work: 9.6 us, 0.24 us of it for bytes. 65160 bytes: 9.36 + 7.82 us.
    assert found.ratio == pytest.approx(65_160 * 8 / 17.18 / 1000, rel=1e-2)
    # A large window does not keep packets small.
    assert gain.of_window(facts, 0.5, LARGE).ratio == pytest.approx(1 / 0.6)
    # Where less time is waited than the CPUs are idle, only that goes.
    less = gain.of_window(facts, 0.2, SMALL)
    assert less.ratio == pytest.approx(found.ratio * 0.6 / 0.8)
    # A core moves about 32 Gbit/s.
    assert gain.of_window(ends(0.05, 0.1, windows=NEAR, segments=few), 0.95, SMALL).ratio == pytest.approx(32)
    whole = SegmentFacts(segment_bytes_mean=1448, sent_segments_per_packet=45)
    assert gain.of_window(ends(0.1, 0.2, windows=NEAR, segments=whole), 0.9, SMALL).ratio == pytest.approx(5)


def test_an_end_that_sleeps_may_do_several_times_what_it_shows() -> None:
    working, sleeping = gain.of_ends(ends(0.8, 0.1)), gain.of_ends(ends(0.01, 0.01))
    assert working.high / working.ratio < 2 < sleeping.high / sleeping.ratio


def woken(payload: float, wakeups_per_s: float, **facts: object) -> Facts:
    """A sender that takes so much of its CPU, in pieces between which it sleeps, at 1 Gbit/s."""
    sender = HostFacts(calls=Calls(in_call_ratio=payload, wakeups_per_s=wakeups_per_s))
    return Facts("t", rate_bps=1e9, sender=sender, **facts)  # type: ignore[arg-type]


def test_what_waking_up_cold_costs_goes_with_the_sleep() -> None:
    # 50 us each ms, of which 950 us are slept: 4 + 90 * (1 - exp(-0.2375)) = 23.0 us are for waking up cold.
    found = gain.of_ends(replace(woken(0.05, 1000), rate_bps=0.5e9))
    assert found.ratio == pytest.approx(1000 / 27.0, rel=1e-2)
    assert found.low < 20 < found.high
    assert found.basis.code == "cpu_warm"
    # A reader that comes late finds its payload in memory, busy or not.
    assert gain.of_ends(woken(0.05, 1000), behind=True).ratio == pytest.approx(20)
    # At most four fifths are taken off, and no more than what a core usually moves, or shows.
    assert gain.of_ends(woken(0.025, 1000)).ratio == pytest.approx(40)
    assert gain.of_ends(replace(woken(0.025, 1000), rate_bps=0.1e9)).ratio == pytest.approx(200)


def test_the_first_filling_of_buffers_is_no_part_of_the_rate_that_grows() -> None:
    slow = replace(woken(0.01, 0), goodput_bps=0.5e9)
    assert gain.of_ends(slow).ratio == pytest.approx(2 * 100)
    assert gain.of_ends(replace(slow, goodput_bps=2e9)).ratio == pytest.approx(100)


CYCLE = SegmentFacts(cycle=RequestCycle(cycle_ns=1.1e6, exchange_ns=200e3, answer_ns=80e3, think_ns=60e3))


def test_without_its_pauses_an_exchange_takes_what_it_takes_warm() -> None:
    # Slept 1 ms: 4 + 90 * (1 - exp(-0.25)) = 23.9 us less for the exchange, and for taking up its answer.
    found = gain.of_pauses(woken(0.0, 0, segments=CYCLE), 1 / 1.1)
    assert found.ratio == pytest.approx(1100 / (176.1 + 56.1), rel=1e-2)
    # Without a log of the segments: what is left of the time.
    assert gain.of_pauses(woken(0.0, 0), 0.9).ratio == pytest.approx(10)


def test_without_a_wait_within_it_a_cycle_is_its_answer_and_what_comes_after() -> None:
    found = gain.of_held_cycles(woken(0.0, 0, segments=CYCLE), 0.1 / 1.1)
    assert found.ratio == pytest.approx(1100 / (56.1 + 36.1), rel=1e-2)
    assert gain.of_held_cycles(woken(0.0, 0), 0.1).ratio == pytest.approx(10)


def test_a_sleep_costs_more_the_longer_it_is_and_at_most_so_much() -> None:
    assert cold_ns(0) == WAKE_NS
    assert cold_ns(1e6) < cold_ns(5e6) < cold_ns(1e12) == pytest.approx(WAKE_NS + COLD_NS)
    assert warm_ns(10e3, 1e9) == pytest.approx(10e3 / MAX_COLDER)


def test_larger_calls_cost_their_bytes() -> None:
    # 64 bytes in 1 us: 512 Mbit/s; 131072 bytes then take 1 us less 64 bytes' copy, and their own copy: 16.7 us.
    found = gain.of_calls(ends(0.9, 0.1, goodput_bps=512e6), HostFacts(calls=Calls(ns_mean=1000.0)), 64, 131_072)
    assert found is not None
    assert found.ratio == pytest.approx(8e9 * 131_072 / 16_721 / 512e6, rel=1e-3)


def test_larger_calls_make_packets_that_cost_softirqs() -> None:
    small = SegmentFacts(segment_bytes_mean=1000, sent_segments_per_packet=1)
    # 8 us a packet, half of it softirqs: 4 us for each of about two packets of a call.
    sender = HostFacts(calls=Calls(ns_mean=1000.0), processors=Processors(softirq_ratio=0.5))
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
    receiver = HostFacts(processors=Processors(softirq_ratio=0.02))
    found = gain.of_whole_packets(replace(ends(0.9, 0.1, segments=whole), receiver=receiver))
    # A packet goes every 320 us, of which 6.4 us are the receiver's softirqs; its copy takes 4.8 us.
    assert found is not None
    assert found.ratio == pytest.approx(320 / 11.2)
    assert gain.of_whole_packets(ends(0.9, 0.1)) is None


def test_ends_that_share_a_cpu_gain_what_the_busier_lacks() -> None:
    shared = Facts(
        "t",
        sender=HostFacts(processors=Processors(thread_ratio=0.4)),
        receiver=HostFacts(processors=Processors(thread_ratio=0.6)),
    )
    assert gain.of_one_cpu(shared).ratio == pytest.approx(1 / 0.6)


def test_several_exchanges_share_a_wait_up_to_what_they_do_also() -> None:
    idle = ends(0.01, 0.01, windows=FAR)
    assert gain.of_several(idle, 0.99, 8).ratio == pytest.approx(8)
    assert gain.of_several(idle, 0.5, 8).ratio == pytest.approx(2)


def test_no_change_is_predicted_to_cost_rate_nor_to_bring_more_than_can_be_said() -> None:
    assert gain.gain(0.5, 1.5, "").low == 1
    assert gain.gain(1e9, 1.5, "").ratio == gain.MAX_GAIN


@pytest.mark.parametrize(
    ("busy", "latency_ms", "expected"),
    [(None, None, 2.0), (0.5, None, 2.0), (0.8, None, 1.25), (0.8, 35.0, 8 / 7), (0.3, 30.0, 4 / 3), (0.3, 10.0, 2.0)],
)
def test_twice_the_rate_ends_at_a_busy_cpu_or_at_what_may_be_under_way(
    busy: float | None, latency_ms: float | None, expected: float
) -> None:
    """4 transactions may be under way at once; with 100 a second, 35 ms each, 3.5 are."""
    exchanges = None if latency_ms is None else ExchangeFacts(100, 100.0, 2.0, latency_ms * 1e6)
    sender = HostFacts(processors=Processors(thread_ratio=busy))
    found = Facts("t", sender=sender, asked=RequestedLoad(slots=4), exchanges=exchanges)
    assert gain.of_twice(found).ratio == pytest.approx(expected)
