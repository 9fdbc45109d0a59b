"""Transports with a library of their own, and transfers of few round trips: what limits them, and what to change."""

from dataclasses import replace
from typing import Any

import pytest

from tests.unit.explain.limit_cases import MS, PATH, counted, cpu, facts, limit_of, share_of, shares
from whyperf.explain.causes import Cause
from whyperf.explain.changes.own_load import change_for
from whyperf.explain.explanation import Change
from whyperf.explain.limits.limit import Limit
from whyperf.explain.path_facts import BottleneckRate
from whyperf.explain.setup import Setup
from whyperf.explain.trial_facts import Facts, RequestedLoad, TransportFacts
from whyperf.explain.wording.catalog import render
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


LOSSES = (Cause.RANDOM_LOSS, Cause.SMALL_QUEUE, Cause.BURST_LOSS)


def of_library(own: TransportFacts, **whole: Any) -> Facts:
    return counted(own=own, **{"transport": "quic", **whole})


def test_losses_of_a_library_may_be_those_of_a_full_path_where_a_queue_stands() -> None:
    def taken(cause: Cause, **changed: Any) -> float:
        return share_of(cause, of_library(replace(QUIC, **changed)))

    assert min(taken(cause) for cause in LOSSES) > 2 * taken(Cause.BOTTLENECK)
    assert taken(Cause.BOTTLENECK, rtt_ns_median=30.0 * MS) > 0.5
    # Few losses, and those between neighbors, are none of the path's.
    for cause in (*LOSSES, Cause.BOTTLENECK):
        assert taken(cause, lost_packets=1) == taken(cause, rtt_ns_min=0.05 * MS) == 0


WORKS = cpu(thread=0.95, own_user=0.8)


def test_a_library_that_sends_packets_is_no_application_that_computes() -> None:
    assert share_of(Cause.SENDER_CPU, of_library(QUIC, sender=WORKS)) == 0
    assert share_of(Cause.SENDER_CPU, counted(WORKS)) == pytest.approx(0.8)


@pytest.mark.parametrize(("encrypts", "code"), [(True, "sender_cpu.encrypting"), (False, "sender_cpu")])
def test_an_application_that_encrypts_is_named(*, encrypts: bool, code: str) -> None:
    of = counted(WORKS | {"encrypts": encrypts})
    limit = limit_of(Cause.SENDER_CPU, of)
    assert limit.code == code
    claim = render("claim", limit.code, {"lost_ratio": limit.share, **limit.values})
    assert ("encrypts (TLS)" in claim) is encrypts
    change = change_for(limit, of, Setup())
    assert change is not None
    assert ("ktls" in change.by_hand) is encrypts


def test_a_library_fills_a_path_at_one_rate() -> None:
    def taken(use_ratio: float, median_ms: float) -> float:
        seen = replace(QUIC, rtt_ns_median=median_ms * MS, bottleneck=BottleneckRate(20e6, 0.9, use_ratio))
        return share_of(Cause.BOTTLENECK, of_library(seen))

    assert taken(0.99, 30.0) > 0.9
    assert taken(0.5, 30.0) < 0.6
    # A full window goes at one rate as well, and leaves the path empty.
    assert taken(0.99, 20.2) < 0.1


@pytest.mark.parametrize(("flight", "expected"), [(29_000.0, 0.95), (10_000.0, 0.33), (1_000.0, 0.0)])
def test_a_window_of_the_receiver_that_is_in_flight_is_its_buffer(flight: float, expected: float) -> None:
    held = of_library(replace(QUIC, lost_packets=0, peer_window_bytes=30_000.0, flight_bytes=flight))
    assert share_of(Cause.RECEIVE_BUFFER, held) == pytest.approx(expected, abs=0.02)


def test_what_a_quic_sender_does_not_use_of_its_window_is_the_receivers() -> None:
    held = replace(QUIC, lost_packets=0, cwnd_bytes=400_000.0, sent_bps=46e6)
    limit = limit_of(Cause.RECEIVE_BUFFER, of_library(held))
    assert limit.code == "receive_buffer.flow_control"
    assert limit.share == pytest.approx(0.7, abs=0.02)
    assert share_of(Cause.RECEIVE_BUFFER, of_library(replace(held, cwnd_bytes=120_000.0))) == 0
    # Of another library only what it says of the window counts.
    assert share_of(Cause.RECEIVE_BUFFER, of_library(held, transport="udt")) == 0


OF_TCP = ("TCP_", "SO_", "tcp_", "initcwnd", "qdisc fq", "writev", "ktls", "sysctl", "ip route")
"""Options, settings and commands that change nothing where a library over UDP carries the payload."""


SMALL_BUFFER = Limit(Cause.RECEIVE_BUFFER, 0.8, targets={"window_bytes": 400_000.0}, variant="transport")


def advice(transport: str, limit: Limit, **levels: Level) -> Change:
    whole = facts({"sockets.buffer_bytes": 100_000}, own=QUIC, transport=transport, level="counters")
    found = change_for(limit, whole, Setup({"transport": transport, **levels}))
    assert found is not None
    return found


@pytest.mark.parametrize("transport", ["udt", "srt", "quic"])
def test_advice_for_a_library_names_nothing_of_the_kernels_tcp(transport: str) -> None:
    limits = (
        Limit(Cause.RANDOM_LOSS, 0.8, variant="transport"),
        Limit(Cause.SMALL_QUEUE, 0.8, variant="transport"),
        Limit(Cause.BOTTLENECK, 0.8, variant="transport"),
        SMALL_BUFFER,
        Limit(Cause.CONNECTION_SETUP, 0.8),
        Limit(Cause.TINY_WRITES, 0.8),
        Limit(Cause.CAPACITY, 0.9, values={"changed_class": "encryption", "role": "sender"}),
    )
    for limit in limits:
        found = advice(transport, limit)
        assert not [name for name in OF_TCP if name in f"{found.by_hand} {found.command}"], found
        # QUIC alone has congestion controls to choose from.
        assert "bbr" not in found.by_hand or transport == "quic"


def test_the_receive_buffer_of_a_library_is_its_own() -> None:
    assert advice("udt", SMALL_BUFFER).factors == {"receive_buffer_bytes": 524_288}
    assert "UDT_RCVBUF" in advice("udt", SMALL_BUFFER).by_hand
    assert advice("srt", SMALL_BUFFER, receive_buffer_bytes=50_000).factors == {"receive_buffer_bytes": "default"}
    assert "initial_max_data" in advice("quic", SMALL_BUFFER, window_bytes=50_000).by_hand


def test_advice_for_tcp_is_as_it_was() -> None:
    found = change_for(Limit(Cause.RANDOM_LOSS, 0.8), facts({}), Setup())
    assert found is not None
    assert "TCP_CONGESTION" in found.by_hand


def transfer(size: int, each_ms: int) -> Facts:
    """Connections that carry so many bytes, each of which takes so long, over round trips of 10 ms."""
    sender = shares(not_writing=0.97) | {"sockets.mss_bytes": 1448}
    receiver = {"sockets.each_ns": each_ms * MS}
    return counted(sender, receiver, windows=PATH, asked=RequestedLoad(transfer_bytes=size))


@pytest.mark.parametrize(
    ("size", "each_ms", "code", "expected"),
    [
        # Half of a round trip, of one and a half.
        (2_000, 10, "slow_start.one_window", 1 / 3),
        (2_000, 0, "slow_start.one_window", 1.0),
        # 10, 20 and 40 segments leave in three round trips, of four.
        (100_000, 35, "slow_start.counted", 2.5 / 4),
    ],
)
def test_a_short_transfer_counts_its_round_trips(size: int, each_ms: int, code: str, expected: float) -> None:
    limit = limit_of(Cause.SLOW_START, transfer(size, each_ms))
    assert limit.code == code
    assert limit.share == pytest.approx(expected)


def test_a_transfer_of_many_round_trips_is_no_short_one_and_who_pauses_in_it_is_slow() -> None:
    long = transfer(2_000, 900)
    assert share_of(Cause.SLOW_START, long) == 0
    assert share_of(Cause.SLOW_WRITER, long) == pytest.approx(0.97)
