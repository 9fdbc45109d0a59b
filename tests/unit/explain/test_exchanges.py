"""Transactions and datagrams: what the application counts of them, and what the rules make of it."""

from pathlib import Path
from typing import Any

import polars as pl
import pytest

from tests.unit.explain.test_rules import MS, facts
from whyperf.analyze.flow import FlowEnd, FlowTrial
from whyperf.analyze.flow.trial import EndEvidence
from whyperf.explain.causes import Cause
from whyperf.explain.gather.exchanges import datagrams, exchanges
from whyperf.explain.headline import cell_headline
from whyperf.explain.rules import judge
from whyperf.explain.setup import Setup
from whyperf.explain.trial_facts import DatagramFacts, ExchangeFacts, RequestedLoad

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


def flood(receiver: dict[str, Any]) -> Any:
    sender = {"processors.thread_ratio": 0.98, "calls.bytes_mean": 64.0, "calls.count": 300_000}
    return facts(
        sender, {"sockets.buffer_bytes": 8192, **receiver}, transport="udp", datagrams=FLOODED, level="counters"
    )


@pytest.mark.parametrize(
    ("busy", "changed", "why"),
    [(0.97, {"datagram_merge": True}, "reader_busy"), (0.3, {"receive_buffer_bytes": 4 << 20}, "small_buffer")],
)
def test_a_flooded_socket_is_blamed_and_not_the_sender(busy: float, changed: dict[str, object], why: str) -> None:
    verdicts = judge(flood({"processors.thread_ratio": busy}), OVER_UDP)
    assert [verdict.cause for verdict in verdicts] == [Cause.RECEIVER_LOSS]
    assert verdicts[0].confidence == "high"
    assert verdicts[0].code == f"receiver_loss.socket.{why}"
    assert verdicts[0].change is not None
    assert verdicts[0].change.factors == changed
    assert "--evidence" not in cell_headline(verdicts, "counters", "udp")


def test_a_cpu_that_others_have_is_no_cpu_with_time() -> None:
    verdict = judge(flood({"processors.thread_ratio": 0.3, "processors.other_ratio": 0.6}), OVER_UDP)[0]
    assert verdict.cause is Cause.RECEIVER_LOSS
    assert verdict.values["other_ratio"] == 0.6
    assert verdict.change is not None
    assert verdict.change.factors == {"datagram_merge": True}


def test_what_is_lost_before_the_socket_is_reported_and_no_capacity() -> None:
    lost = DatagramFacts(sent_count=100_000, taken_count=80_000, dropped_count=0, taken_bytes=1, span_ns=SECOND)
    found = judge(facts({"processors.thread_ratio": 0.98}, transport="udp", datagrams=lost, level="counters"))[0]
    assert found.cause is Cause.NOT_KNOWN
    assert found.values["missed_ratio"] == pytest.approx(0.2)


def test_exchanges_are_known_without_a_log() -> None:
    busy = {**ONE_BYTE, "processors.thread_ratio": 0.95}
    with_answers = judge(facts(busy, ONE_BYTE, exchanges=ASKED, level="counters"))[0]
    assert with_answers.cause is Cause.CAPACITY
    assert (with_answers.code, with_answers.values["transactions_per_s"]) == ("capacity.transactions", 10_000)
    without = judge(facts(busy, ONE_BYTE, level="counters"))[0]
    assert without.cause is Cause.TINY_WRITES


def test_many_writes_for_an_answer_are_tiny_all_the_same() -> None:
    asked = ExchangeFacts(count=500, per_s=500.0, calls_each=512.0, latency_ns=2.0 * MS)
    found = judge(facts({**ONE_BYTE, "processors.thread_ratio": 0.95}, exchanges=asked, level="counters"))[0]
    assert found.cause is Cause.TINY_WRITES


@pytest.mark.parametrize("level", ["counters", "segments"])
def test_hosts_that_alternate_are_reported_as_waiting_for_each_other(level: str) -> None:
    verdict = judge(
        facts({"processors.thread_ratio": 0.39}, {"processors.thread_ratio": 0.3}, exchanges=ASKED, level=level)
    )[0]
    assert (verdict.code, verdict.values["transaction_ns"]) == ("capacity.alternating", 100_000)


def test_a_transaction_over_a_path_waits_for_its_round_trip() -> None:
    trip = {"rtt_ns_min": 20 * MS}
    asked = ExchangeFacts(count=45, per_s=45.0, calls_each=2.0, latency_ns=22.0 * MS)
    assert judge(facts(windows=trip, exchanges=asked, level="counters"))[0].cause is Cause.ROUND_TRIP


def test_a_pause_is_one_only_where_neither_end_works() -> None:
    idle = {"shares": {"not_writing": 0.7}, "processors.thread_ratio": 0.1}
    assert (
        judge(facts(idle, {"processors.thread_ratio": 0.1}, exchanges=ASKED, level="counters"))[0].cause
        is Cause.THINK_TIME
    )
    answering = judge(facts(idle, {"processors.thread_ratio": 0.7}, exchanges=ASKED, level="counters"))[0]
    assert answering.cause is Cause.CAPACITY


def test_reordering_without_a_log_costs_no_more_than_what_was_sent_again() -> None:
    late = {"out_of_order_ratio": 0.02, "data_segments": 20_000, "spurious_ratio": 1.0, "reordering_events": 40}
    windows = {"cwnd_segments_median": 40, "rtt_ns_median": MS}
    few = facts(
        {"shares": {"unknown": 0.9}}, windows=windows, segments={**late, "retransmitted_ratio": 5e-5}, level="counters"
    )
    assert judge(few)[0].cause is Cause.NOT_KNOWN
    many = facts(
        {"shares": {"unknown": 0.9}}, windows=windows, segments={**late, "retransmitted_ratio": 4e-3}, level="counters"
    )
    found = judge(many)[0]
    assert found.cause is Cause.REORDERING
    assert found.lost_ratio == pytest.approx(0.48)
