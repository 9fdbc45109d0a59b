"""Transactions and datagrams: what the application counts of them, and what the limits make of it."""

from pathlib import Path
from typing import Any

import polars as pl
import pytest

from tests.unit.explain.limit_cases import MS, facts, limit_of, share_of
from whyperf.analyze.flow import FlowEnd, FlowTrial
from whyperf.analyze.flow.trial import EndEvidence
from whyperf.explain.causes import Cause
from whyperf.explain.changes.own_load import change_for
from whyperf.explain.gather.application import datagrams, exchanges
from whyperf.explain.setup import Setup
from whyperf.explain.trial_facts import DatagramFacts, ExchangeFacts, Facts, RequestedLoad

SECOND = 1_000 * MS
ONE_BYTE: dict[str, Any] = {"calls.bytes_mean": 1.0, "calls.count": 20_000}
ASKED = ExchangeFacts(count=10_000, per_s=10_000.0, calls_each=2.0, latency_ns=100_000.0)
FLOODED = DatagramFacts(
    sent_count=300_000, taken_count=100_000, dropped_count=200_000, taken_bytes=10**8, span_ns=SECOND
)


def trial(folder: Path) -> FlowTrial:
    ends = {
        host: FlowEnd(host=host, role=role, offset_ns=0, evidence=EndEvidence())
        for host, role in (("near", "sender"), ("far", "receiver"))
    }
    return FlowTrial(folder, "001-c0001", "c0001", "complete", ends, 0, None)


def test_exchanges_are_transactions_with_bytes_both_ways(tmp_path: Path) -> None:
    span = {"start_mono_ns": 0, "end_mono_ns": SECOND}
    rows = [
        {"group": "a", "transaction": "rr", "phase": "measure", "transactions_count": 1000, "sent_bytes": 1000}
        | {"received_bytes": 1000, "calls_count": 2000, **span},
        {"group": "b", "transaction": "push", "phase": "measure", "transactions_count": 7, "sent_bytes": 7}
        | {"received_bytes": 0, "calls_count": 7, **span},
        {"group": "a", "transaction": "rr", "phase": "warm-up", "transactions_count": 50, "sent_bytes": 50}
        | {"received_bytes": 50, "calls_count": 100, **span},
    ]
    pl.DataFrame(rows).write_parquet(tmp_path / "transactions.near.parquet")
    found = exchanges(trial(tmp_path))
    assert found == ExchangeFacts(count=1000, per_s=1000.0, calls_each=2.0, payload_ratio=2000 / 2007)


def test_a_stream_both_ways_is_no_exchange(tmp_path: Path) -> None:
    span = {"start_mono_ns": 0, "end_mono_ns": SECOND, "transaction": "stream", "phase": "measure"}
    counts = {"transactions_count": 9, "calls_count": 9}
    ways = [
        {"group": "send", "sent_bytes": 9, "received_bytes": 0},
        {"group": "receive", "sent_bytes": 0, "received_bytes": 9},
    ]
    pl.DataFrame([span | counts | way for way in ways]).write_parquet(tmp_path / "transactions.near.parquet")
    assert exchanges(trial(tmp_path)) is None


def test_the_kernel_counts_merged_datagrams_that_it_drops_as_one(tmp_path: Path) -> None:
    span = {"connection": 0, "interval": 0, "phase": "measure", "start_mono_ns": 0, "end_mono_ns": SECOND}
    counts = {"sent_count": 0, "received_count": 0, "payload_bytes": 0, "kernel_drops_count": 0}
    pl.DataFrame([span | counts | {"sent_count": 1000}]).write_parquet(tmp_path / "datagrams.near.parquet")
    got = {"received_count": 600, "payload_bytes": 6000, "kernel_drops_count": 10}
    pl.DataFrame([span | counts | got]).write_parquet(tmp_path / "datagrams.far.parquet")
    merged = datagrams(trial(tmp_path), RequestedLoad(batch_count=80, merged_count=40))
    single = datagrams(trial(tmp_path))
    assert merged is not None
    assert single is not None
    assert (merged.dropped_count, single.dropped_count) == (400, 10)


def test_drops_before_the_measured_phase_do_not_count(tmp_path: Path) -> None:
    def row(phase: str, at: int, sent: int, received: int, drops: int) -> dict[str, Any]:
        span = {"connection": 0, "phase": phase, "start_mono_ns": at, "end_mono_ns": at + SECOND}
        return {**span, "sent_count": sent, "received_count": received, "payload_bytes": 64 * received} | {
            "kernel_drops_count": drops
        }

    near = [row("warm-up", 0, 100, 0, 0), row("measure", SECOND, 300, 0, 0)]
    far = [row("warm-up", 0, 0, 10, 90), row("measure", SECOND, 0, 100, 290)]
    pl.DataFrame(near).write_parquet(tmp_path / "datagrams.near.parquet")
    pl.DataFrame(far).write_parquet(tmp_path / "datagrams.far.parquet")
    assert datagrams(trial(tmp_path)) == DatagramFacts(300, 100, 200, 6400, SECOND, steps=(100.0,))


OVER_UDP = Setup({"workload": "udp-stream", "transport": "udp"})


def flood(receiver: dict[str, Any]) -> Facts:
    sender = {"processors.thread_ratio": 0.98, "calls.bytes_mean": 64.0, "calls.count": 300_000}
    return facts(
        sender, {"sockets.buffer_bytes": 8192, **receiver}, transport="udp", datagrams=FLOODED, level="counters"
    )


@pytest.mark.parametrize(
    ("busy", "others", "why", "changed"),
    [
        (0.97, None, "reader_busy", {"datagram_merge": True}),
        # A CPU that others have is no CPU with time.
        (0.3, 0.6, "reader_busy", {"datagram_merge": True}),
        (0.3, None, "small_buffer", {"receive_buffer_bytes": 4 << 20}),
    ],
)
def test_a_flooded_socket_drops_because_its_reader_is_busy_or_its_buffer_small(
    busy: float, others: float | None, why: str, changed: dict[str, object]
) -> None:
    found = flood({"processors.thread_ratio": busy, "processors.other_ratio": others})
    dropping = limit_of(Cause.RECEIVER_LOSS, found)
    assert (dropping.code, dropping.values["other_ratio"]) == (f"receiver_loss.socket.{why}", others)
    assert dropping.share == pytest.approx(2 / 3)
    change = change_for(dropping, found, OVER_UDP)
    assert change is not None
    assert change.factors == changed


def test_datagrams_that_never_arrive_are_lost_by_the_path_and_not_by_the_receiver() -> None:
    lost = DatagramFacts(sent_count=100_000, taken_count=80_000, dropped_count=0, taken_bytes=1, span_ns=SECOND)
    found = facts({"processors.thread_ratio": 0.98}, transport="udp", datagrams=lost, level="counters")
    assert share_of(Cause.RECEIVER_LOSS, found) == 0
    for cause, code in ((Cause.BOTTLENECK, "bottleneck.datagrams"), (Cause.RANDOM_LOSS, "random_loss.datagrams")):
        missing = limit_of(cause, found)
        assert missing.code == code
        assert missing.values["missed_ratio"] == missing.share == pytest.approx(0.2)


def test_small_messages_are_small_writes_only_where_nobody_answers_each() -> None:
    busy = {**ONE_BYTE, "processors.thread_ratio": 0.95}

    def asking(exchanges: ExchangeFacts | None) -> Facts:
        return facts(busy, ONE_BYTE, exchanges=exchanges, level="counters")

    full = limit_of(Cause.CAPACITY, asking(ASKED))
    assert (full.code, full.values["transactions_per_s"]) == ("capacity.transactions", 10_000)
    assert share_of(Cause.TINY_WRITES, asking(ASKED)) == 0
    # Many writes for an answer are tiny all the same.
    for others in (None, ExchangeFacts(count=500, per_s=500.0, calls_each=512.0, latency_ns=2.0 * MS)):
        assert share_of(Cause.TINY_WRITES, asking(others)) > 0.9


@pytest.mark.parametrize("level", ["counters", "segments"])
def test_hosts_that_alternate_wait_for_each_other(level: str) -> None:
    found = facts({"processors.thread_ratio": 0.39}, {"processors.thread_ratio": 0.3}, exchanges=ASKED, level=level)
    alternating = limit_of(Cause.CAPACITY, found)
    assert (alternating.code, alternating.values["transaction_ns"]) == ("capacity.alternating", 100_000)
    assert alternating.share == pytest.approx(0.69)


def test_a_transaction_over_a_path_waits_for_its_round_trip() -> None:
    asked = ExchangeFacts(count=45, per_s=45.0, calls_each=2.0, latency_ns=22.0 * MS)
    far, near = (facts(windows={"rtt_ns_min": trip}, exchanges=asked, level="counters") for trip in (20 * MS, MS // 20))
    assert share_of(Cause.ROUND_TRIP, far) == pytest.approx(20 / 22)
    assert share_of(Cause.ROUND_TRIP, near) == 0


def test_a_pause_is_one_only_where_neither_end_works() -> None:
    def asking(answering: float) -> Facts:
        idle = {"shares": {"not_writing": 0.7}, "processors.thread_ratio": 0.1}
        return facts(idle, {"processors.thread_ratio": answering}, exchanges=ASKED, level="counters")

    assert share_of(Cause.THINK_TIME, asking(0.1)) > 0.5
    assert share_of(Cause.THINK_TIME, asking(0.7)) < share_of(Cause.CAPACITY, asking(0.7)) == pytest.approx(0.8)
    assert share_of(Cause.THINK_TIME, asking(0.9)) == 0


def reordered(again: float) -> Facts:
    """Segments that arrive late, of which the part `again` is sent again for nothing."""
    late = {"out_of_order_ratio": 0.02, "data_segments": 20_000, "spurious_ratio": 1.0, "reordering_events": 40}
    windows = {"cwnd_segments_median": 40, "rtt_ns_median": MS}
    segments = {**late, "retransmitted_ratio": again}
    return facts({"shares": {"unknown": 0.9}}, windows=windows, segments=segments, level="counters")


def test_reordering_without_a_log_costs_what_is_sent_again_for_nothing() -> None:
    assert share_of(Cause.REORDERING, reordered(4e-3)) > 0.4


def test_one_segment_that_is_sent_again_costs_next_to_nothing() -> None:
    assert share_of(Cause.REORDERING, reordered(5e-5)) == 0
