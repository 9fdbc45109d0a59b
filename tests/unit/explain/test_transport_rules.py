"""Rules for transports with a library of their own, and for transfers of few round trips."""

from dataclasses import replace
from typing import Any

import pytest

from tests.unit.explain.test_rules import MS, ON_CPU, PATH, at_receiver, facts
from whyperf.explain.causes import Cause
from whyperf.explain.explanation import Change
from whyperf.explain.path_facts import BottleneckRate
from whyperf.explain.rules import judge
from whyperf.explain.rules.changes import change_for
from whyperf.explain.rules.finding import Finding
from whyperf.explain.setup import Setup
from whyperf.explain.trial_facts import RequestedLoad, TransportFacts
from whyperf.profile import Level

QUIC = TransportFacts(
    packet_bytes=1472.0,
    rtt_ns_min=20.0 * MS,
    rtt_ns_median=20.5 * MS,
    cwnd_bytes=40_000.0,
    sent_packets=1_800,
    lost_packets=24,
    sent_bps=14e6,
)


def own_causes(own: TransportFacts, **whole: Any) -> list[Cause]:
    return [verdict.cause for verdict in judge(facts(own=own, transport="quic", level="counters", **whole))]


def test_a_transport_of_its_own_library_that_loses_packets_is_open_between_those_who_lose_them() -> None:
    assert own_causes(QUIC) == [Cause.NOT_KNOWN, Cause.RANDOM_LOSS, Cause.BOTTLENECK, Cause.SMALL_QUEUE]
    queued = replace(QUIC, rtt_ns_median=30.0 * MS)
    assert own_causes(queued) == [Cause.NOT_KNOWN, Cause.BOTTLENECK, Cause.RANDOM_LOSS, Cause.SMALL_QUEUE]
    assert own_causes(replace(QUIC, lost_packets=1)) == [Cause.NOT_KNOWN]
    # What a CPU makes it lose is no matter of the path.
    assert own_causes(QUIC, sender=ON_CPU)[0] is Cause.CAPACITY
    # Between neighbors no path loses anything.
    assert own_causes(replace(QUIC, rtt_ns_min=0.05 * MS)) == [Cause.NOT_KNOWN]


def test_a_library_that_sends_packets_is_no_application_that_computes() -> None:
    works = {"processors.thread_ratio": 0.95, "processors.own_user_ratio": 0.8}
    quiet = replace(QUIC, lost_packets=0)
    assert Cause.SENDER_CPU not in own_causes(quiet, sender=works)
    assert judge(facts(works, level="counters"))[0].cause is Cause.SENDER_CPU


def test_an_application_that_encrypts_is_named() -> None:
    works = {"processors.thread_ratio": 0.95, "processors.own_user_ratio": 0.8, "encrypts": True}
    first = judge(facts(works, level="counters"))[0]
    assert first.cause is Cause.SENDER_CPU
    assert "encrypts (TLS)" in first.claim
    assert first.change is not None
    assert "ktls" in first.change.by_hand
    plain = judge(facts(works | {"encrypts": False}, level="counters"))[0]
    assert (plain.cause, "TLS" in plain.claim) == (Cause.SENDER_CPU, False)


def test_a_transport_of_its_own_library_fills_a_path_at_one_rate() -> None:
    full = replace(QUIC, rtt_ns_median=30.0 * MS, bottleneck=BottleneckRate(20e6, 0.9, 0.99))
    assert own_causes(full) == [Cause.BOTTLENECK]
    assert own_causes(replace(full, bottleneck=BottleneckRate(20e6, 0.9, 0.5)))[0] is Cause.NOT_KNOWN
    # A full window goes at one rate as well, and leaves the path empty.
    assert own_causes(replace(full, rtt_ns_median=21.0 * MS, lost_packets=0)) == [Cause.NOT_KNOWN]


def test_a_window_of_the_receiver_that_is_in_flight_is_its_buffer() -> None:
    held = replace(QUIC, lost_packets=0, peer_window_bytes=30_000.0, flight_bytes=29_000.0)
    assert own_causes(held) == [Cause.RECEIVE_BUFFER]
    # A congestion window that is smaller is full first.
    assert own_causes(replace(held, cwnd_bytes=20_000.0)) == [Cause.NOT_KNOWN]
    assert own_causes(replace(held, flight_bytes=10_000.0)) == [Cause.NOT_KNOWN]


def test_what_a_quic_sender_does_not_use_of_its_window_is_the_receivers() -> None:
    greedy = RequestedLoad(is_greedy=True)
    held = replace(QUIC, lost_packets=0, cwnd_bytes=400_000.0, sent_bps=46e6)
    assert own_causes(held, asked=greedy) == [Cause.RECEIVE_BUFFER]
    # An application that may pause, a loss, a queue or a busy CPU may be what it waits for.
    others = [
        own_causes(held),
        own_causes(replace(held, lost_packets=20), asked=greedy),
        own_causes(replace(held, rtt_ns_median=30.0 * MS), asked=greedy),
        own_causes(replace(held, cwnd_bytes=120_000.0), asked=greedy),
        own_causes(held, asked=greedy, receiver=ON_CPU),
    ]
    assert all(Cause.RECEIVE_BUFFER not in causes for causes in others)


OF_TCP = ("TCP_", "SO_", "tcp_", "initcwnd", "qdisc fq", "writev", "ktls", "sysctl", "ip route")
"""Options, settings and commands that change nothing where a library over UDP carries the payload."""


def advice(transport: str, finding: Finding, **levels: Level) -> Change:
    whole = facts({"sockets.buffer_bytes": 100_000}, own=QUIC, transport=transport, level="counters")
    found = change_for(finding, whole, Setup({"transport": transport, **levels}))
    assert found is not None
    return found


@pytest.mark.parametrize("transport", ["udt", "srt", "quic"])
def test_advice_for_a_library_names_nothing_of_the_kernels_tcp(transport: str) -> None:
    causes = (
        Finding(Cause.RANDOM_LOSS, 0.8, 0.5, (), variant="transport"),
        Finding(Cause.SMALL_QUEUE, 0.8, 0.5, (), variant="transport"),
        Finding(Cause.BOTTLENECK, 0.8, 0.9, (), variant="transport"),
        Finding(Cause.RECEIVE_BUFFER, 0.8, 0.9, (), targets={"window_bytes": 400_000.0}, variant="transport"),
        Finding(Cause.CONNECTION_SETUP, 0.8, 0.9, ()),
        Finding(Cause.TINY_WRITES, 0.8, 0.9, ()),
        Finding(Cause.CAPACITY, 0.0, 0.9, (), values={"changed_class": "encryption", "role": "sender"}),
    )
    for finding in causes:
        found = advice(transport, finding)
        assert not [name for name in OF_TCP if name in f"{found.by_hand} {found.command}"], found
        # QUIC alone has congestion controls to choose from.
        assert "bbr" not in found.by_hand or transport == "quic"


def test_the_receive_buffer_of_a_library_is_its_own() -> None:
    small = Finding(Cause.RECEIVE_BUFFER, 0.8, 0.9, (), targets={"window_bytes": 400_000.0}, variant="transport")
    assert advice("udt", small).factors == {"receive_buffer_bytes": 524_288}
    assert "UDT_RCVBUF" in advice("udt", small).by_hand
    assert advice("srt", small, receive_buffer_bytes=50_000).factors == {"receive_buffer_bytes": "default"}
    assert "initial_max_data" in advice("quic", small, window_bytes=50_000).by_hand


def test_advice_for_tcp_is_as_it_was() -> None:
    found = change_for(Finding(Cause.RANDOM_LOSS, 0.8, 0.5, ()), facts({}), Setup())
    assert found is not None
    assert "TCP_CONGESTION" in found.by_hand


SHORT = facts(
    {"shares": {"not_writing": 0.97}, "sockets.mss_bytes": 1448},
    {"sockets.each_ns": 20 * MS},
    windows={**PATH, "rtt_ns_min": 10 * MS, "cwnd_segments_median": 10},
    asked=RequestedLoad(transfer_bytes=2_000),
    level="counters",
)


@pytest.mark.parametrize(
    ("size", "each_ms", "window", "code"),
    [(2_000, 0, 10, "slow_start.one_window"), (100_000, 35, 80, "slow_start.counted")],
)
def test_a_short_transfer_counts_its_round_trips(size: int, each_ms: int, window: int, code: str) -> None:
    short = replace(SHORT, asked=RequestedLoad(transfer_bytes=size))
    short = replace(short, windows=replace(short.windows, cwnd_segments_median=window))
    short = at_receiver({"sockets.each_ns": each_ms * MS})(short)
    assert judge(short)[0].code == code
    # A transfer of many round trips is no short one, and who pauses in it is slow.
    assert judge(at_receiver({"sockets.each_ns": 900 * MS})(short))[0].cause is Cause.SLOW_WRITER
    lost = replace(short, segments=replace(short.segments, retransmitted_ratio=0.01))
    assert all(verdict.cause is not Cause.SLOW_START for verdict in judge(lost))
