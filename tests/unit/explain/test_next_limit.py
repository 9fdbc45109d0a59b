"""What removing one cause, or several, leaves: pauses that stay, flow limits that stay, and limits of a known rate."""

from dataclasses import replace

import pytest

from whyperf.explain.causes import Cause
from whyperf.explain.explanation import Value
from whyperf.explain.host_facts import HostFacts, Sockets
from whyperf.explain.limits.gain import Gain
from whyperf.explain.limits.limit import PROBABLE, Limit
from whyperf.explain.limits.next_limit import Ceiling, ceilings, loss_window, time_left, without
from whyperf.explain.path_facts import BottleneckRate, Losses, SegmentFacts, WindowFacts
from whyperf.explain.setup import Setup
from whyperf.explain.trial_facts import ExchangeFacts, Facts
from whyperf.explain.wording.catalog import statement

NEAR = Facts("t", rate_bps=1e9, windows=WindowFacts(rtt_ns_min=40_000))
FAR = Facts("t", rate_bps=10e6, windows=WindowFacts(rtt_ns_min=10_000_000, rtt_ns_median=10_000_000))


def limit(cause: Cause, share: float, ratio: float, basis: str = "full_link", probability: float = 0.5) -> Limit:
    return Limit(cause, share, (), Gain(ratio, ratio / 1.2, ratio * 1.2, statement(basis)), probability=probability)


WINDOW = limit(Cause.RECEIVE_BUFFER, 0.6, 8.0)
THINK = limit(Cause.THINK_TIME, 0.3, 1.5, "exchange")


def gain(*removed: Limit, found: tuple[Limit, ...] = (WINDOW, THINK), known: tuple[Ceiling, ...] = ()) -> float:
    predicted = without(removed, found, known, NEAR)
    assert predicted is not None
    return predicted.ratio


def test_a_window_leaves_the_pauses_and_pauses_leave_the_window() -> None:
    # An eighth of the time on the link, and the pauses; without these what an exchange needs.
    assert gain(WINDOW) == pytest.approx(1 / (1 / 8 + 0.3))
    assert gain(THINK) == pytest.approx(1.5)
    assert gain(WINDOW, THINK) == pytest.approx(8.0)
    # Alone each is as it was.
    assert gain(WINDOW, found=(WINDOW,)) == 8.0


def test_pauses_take_no_less_time_than_the_flow_limits_that_stay() -> None:
    assert gain(limit(Cause.THINK_TIME, 0.3, 5.0, "exchange")) == pytest.approx(1 / 0.6)


@pytest.mark.parametrize(("values", "waits"), [({"waiting_ratio": 0.3}, 0.3), ({"waiting_ratio": 0.9}, 0.4), ({}, 0.4)])
def test_a_late_reader_has_only_the_time_that_its_sender_waits(values: dict[str, Value], waits: float) -> None:
    reader = replace(limit(Cause.SLOW_READER, 0.8, 2.0, "cpu"), values=values)
    assert gain(WINDOW, found=(WINDOW, reader)) == pytest.approx(1 / (1 / 8 + waits))


def test_candidates_for_the_same_time_do_not_bound_each_other() -> None:
    loss = limit(Cause.RANDOM_LOSS, 0.9, 10.0)
    queue = limit(Cause.SMALL_QUEUE, 0.9, 10.0)
    assert gain(loss, found=(loss, queue)) == 10.0
    # Nor does what is improbable itself.
    guess = limit(Cause.THINK_TIME, 0.3, 1.5, probability=PROBABLE / 2)
    assert gain(WINDOW, found=(WINDOW, guess)) == 8.0
    work, computing = limit(Cause.OTHER_LOAD, 0.5, 2.0, "cpu"), limit(Cause.SENDER_CPU, 0.4, 1.6, "cpu")
    assert gain(work, found=(work, computing)) == 2.0


def test_small_calls_between_which_a_thread_computes_leave_the_gain_open() -> None:
    calls = limit(Cause.READ_SIZE, 0.7, 20.0, "larger_calls")
    found = without([calls], [calls, limit(Cause.RECEIVER_CPU, 0.3, 1.4, "cpu")], (), NEAR)
    assert found is not None
    assert found.low == pytest.approx(1 / 0.35)
    assert found.high == pytest.approx(20)


def test_small_calls_that_fill_single_packets_leave_the_gain_open() -> None:
    calls = limit(Cause.TINY_WRITES, 0.9, 70.0, "larger_calls")

    def facts(size: float, per_packet: float) -> Facts:
        segments = SegmentFacts(segment_bytes_mean=size, sent_segments_per_packet=per_packet)
        return Facts("t", rate_bps=1e9, segments=segments, sender=HostFacts(sockets=Sockets(mss_bytes=524)))

    found = without([calls], [calls], (), facts(515, 1.0))
    assert found is not None
    assert (found.low, found.basis.code) == (1.0, "packets_stay")
    assert found.high == pytest.approx(70)
    # Packets that hold less than a segment, or more than one, grow with the calls.
    assert without([calls], [calls], (), facts(300, 1.0)) == calls.gain
    assert without([calls], [calls], (), facts(515, 1.4)) == calls.gain


def test_a_known_rate_bounds_all_but_the_change_that_lifts_it() -> None:
    top = Ceiling(2.0, frozenset({Cause.RECEIVE_BUFFER}), "set_window")
    other = limit(Cause.SLOW_WRITER, 0.9, 50.0, "cpu")
    assert gain(other, found=(other,), known=(top,)) == 2.0
    assert gain(WINDOW, found=(WINDOW,), known=(top,)) == 8.0


def test_nothing_is_predicted_of_what_predicts_nothing() -> None:
    line = Limit(Cause.BOTTLENECK, 0.9)
    assert time_left([line], [line]) is None
    assert without([WINDOW, line], [WINDOW, line], (), NEAR) is None


def test_without_a_link_that_is_seen_the_hosts_are_only_an_upper_bound() -> None:
    window = limit(Cause.RECEIVE_BUFFER, 0.9, 30.0, "cpu")
    found = without([window], [window], (), FAR)
    assert found is not None
    assert found.basis.code == "unseen_link"
    near = without([window], [window], (), NEAR)
    assert near == window.gain


def codes(facts: Facts, setup: Setup | None = None, *found: Limit) -> dict[str, float]:
    return {ceiling.code: ceiling.ratio for ceiling in ceilings(facts, setup or Setup(), found)}


def test_a_window_that_a_program_set_carries_one_window_per_round_trip() -> None:
    windows = WindowFacts(rtt_ns_min=10_000_000, announced_bytes_max=125_000)
    facts = Facts("t", rate_bps=10e6, windows=windows)
    # 1 Mbit each 10 ms: 100 Mbit/s.
    assert codes(facts, Setup({"receive_buffer_bytes": 125_000})) == {"set_window": pytest.approx(10)}
    # A window that the kernel sizes grows.
    assert codes(facts) == {}
    # Where a window held the sender, what was in flight is the limit, whoever set it.
    held = Facts("t", rate_bps=10e6, windows=WindowFacts(rtt_ns_min=10_000_000, flight_bytes_max=25_000))
    assert codes(held, None, WINDOW) == {"set_window": pytest.approx(2)}
    assert codes(held, None, THINK) == {}


def test_losses_that_stay_bound_the_rate_but_not_that_of_bbr() -> None:
    # Mathis: 1.22 / sqrt(0.01) = 12.2 segments a round trip; CUBIC on a short path is no faster.
    assert loss_window(0.01, 0.01, "reno") == pytest.approx(12.2)
    assert loss_window(0.01, 0.01, "cubic") == pytest.approx(12.2)
    assert loss_window(1e-4, 0.1, "cubic") == pytest.approx(1.054 * 1000**0.75)
    assert loss_window(0.01, 0.01, "bbr") is None
    segments = SegmentFacts(data_segments=1000, losses=Losses(events=10))
    facts = Facts(
        "t", rate_bps=7e6, windows=FAR.windows, segments=segments, sender=HostFacts(sockets=Sockets(mss_bytes=1448))
    )
    loss = limit(Cause.RANDOM_LOSS, 0.3, 10.0)
    reno = Setup({"congestion_control": "reno"})
    assert codes(facts, reno, loss) == {"loss_rate": pytest.approx(12.2 * 1448 * 8 / 0.01 / 7e6, rel=1e-3)}
    # Losses of a queue are gone with the rate that makes them.
    assert codes(facts, reno, limit(Cause.SMALL_QUEUE, 0.3, 10.0)) == {}


def test_one_request_at_a_time_takes_a_round_trip() -> None:
    exchanges = ExchangeFacts(count=100, per_s=20, calls_each=2)
    facts = Facts("t", level="counters", rate_bps=10e6, windows=FAR.windows, exchanges=exchanges)
    assert codes(facts) == {"one_exchange": pytest.approx(5)}
    line = SegmentFacts(bottleneck=BottleneckRate(bps=100e6, steadiness=0.9, use_ratio=0.1))
    # 50 ms each now: 10 ms for the round trip, and 5 ms on the link.
    busy = Facts("t", level="counters", rate_bps=10e6, windows=FAR.windows, exchanges=exchanges, segments=line)
    assert codes(busy) == {"one_exchange": pytest.approx(50 / 15)}


def test_a_requested_rate_bounds_everything_but_its_own_change() -> None:
    facts = Facts("t", rate_bps=10e6, connections=2)
    (ceiling,) = ceilings(facts, Setup({"write_rate_bps": 20_000_000}), ())
    assert (ceiling.code, ceiling.ratio) == ("asked_rate", 4.0)
    assert Cause.SLOW_WRITER in ceiling.causes
