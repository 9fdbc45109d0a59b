"""Facts of stored trials against what each trial was set up with, against its raw tables, and against other levels.

No expected value here is an output of `explain`: it is a factor of the trial (link rate, loss, sizes), a sum over a raw
table, or a law such as the conservation of payload.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from lab.truth.levels import View
from tests.unit.explain.stored_trials import NAMES, facts_at, unpack_trial
from whyperf.explain.trial_facts import Facts

LEVELS = (View.SEGMENTS, View.COUNTERS, View.USER)
#: Trials of one TCP connection that sends only.
ONE_WAY = ("pacing-rate", "random-loss", "reordering", "slow-reader", "slow-writer", "small-queue")
MS = 1e6


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Has the tables of the trials that send one way."""
    found = tmp_path_factory.mktemp("trials")
    for name in ONE_WAY:
        unpack_trial(name, found)
    return found


def at(facts: Facts, path: str) -> Any:
    """The value at a path such as "sender.calls.count"."""
    found: Any = facts
    for name in path.split("."):
        found = found[name] if isinstance(found, dict) else getattr(found, name)
    return found


#: What a fact must be by the factors of its trial: the levels that show it, the value, and the allowed relative error.
BY_FACTORS = (
    ("pacing-rate", LEVELS, "segments.pacing.bps", 50e6, 0),
    ("pacing-rate", LEVELS, "rate_bps", 50e6, 0.02),
    # A packet of 1,448 bytes of payload has 66 bytes of headers (Ethernet 14, IP 20, TCP 32).
    ("pacing-rate", (View.SEGMENTS,), "segments.bottleneck.bps", 50e6 * 1514 / 1448, 0.01),
    ("slow-writer", LEVELS, "rate_bps", 50e6, 0.01),
    ("random-loss", (View.SEGMENTS,), "segments.bottleneck.bps", 100e6, 0.03),
    # 812 segments: one standard error is 0.0077.
    ("random-loss", LEVELS, "segments.retransmitted_ratio", 0.05, 0.3),
    ("random-loss", LEVELS, "windows.rtt_ns_min", 10 * MS, 0.01),
    ("reordering", (View.SEGMENTS,), "segments.bottleneck.bps", 200e6, 0.01),
    # What comes before others has half of the path's delay, and is no path's of theirs.
    ("reordering", LEVELS, "windows.rtt_ns_min", 40 * MS, 0.02),
    ("reordering", (View.SEGMENTS,), "segments.losses.ratio", 0, 0),
    ("small-queue", LEVELS, "windows.rtt_ns_min", 10 * MS, 0.01),
    ("questions-behind-uploads", LEVELS, "windows.rtt_ns_min", 25 * MS, 0.01),
    ("connection-for-each-question", LEVELS, "exchanges.connect_ns", 40 * MS, 0.01),
    # One round trip to connect, one to ask.
    ("connection-for-each-question", LEVELS, "exchanges.latency_ns", 80 * MS, 0.01),
    # Linux delays an ACK by 40 ms (TCP_DELACK_MIN), here once in each exchange.
    ("nagle-delayed-ack", LEVELS, "exchanges.latency_ns", 40 * MS, 0.11),
    # 1,200 bytes is the payload of a QUIC packet here; all of it fits the link.
    ("quic-over-slow-link", LEVELS, "own.bottleneck.bps", 20e6, 0.05),
    ("udt-and-loss", LEVELS, "own.rtt_ns_min", 10 * MS, 0.1),
)


@pytest.mark.parametrize("name", NAMES)
def test_facts_follow_from_the_factors_of_the_trial(name: str) -> None:
    for own, views, path, expected, error in BY_FACTORS:
        for view in views if own == name else ():
            assert at(facts_at(name, view), path) == pytest.approx(expected, rel=error, abs=1e-12), (path, view)


@pytest.mark.parametrize(
    ("name", "ratio"), [("slow-reader", "receiver.shares.not_reading"), ("slow-writer", "sender.shares.not_writing")]
)
def test_a_program_that_pauses_is_idle_for_most_of_the_time(name: str, ratio: str) -> None:
    assert at(facts_at(name, View.SEGMENTS), ratio) > 0.9


@pytest.mark.parametrize("view", LEVELS)
@pytest.mark.parametrize("name", NAMES)
def test_times_and_payload_add_up(name: str, view: View) -> None:
    facts = facts_at(name, view)
    for side in (facts.sender, facts.receiver):
        if side.shares:
            assert sum(side.shares.values()) == pytest.approx(1, abs=1e-6)
        assert all(share > 0 for share in side.shares.values())
        assert side.shares.keys() == side.spells.keys()
    assert facts.sender.sockets.payload_bytes == facts.receiver.sockets.payload_bytes
    if name in ONE_WAY:
        for side in (facts.sender, facts.receiver):
            moved = (side.calls.count or 0) * (side.calls.bytes_mean or 0.0)
            assert moved == pytest.approx(side.sockets.payload_bytes, rel=0.001)


def table(trial: Path, name: str) -> pl.DataFrame:
    return pl.read_parquet(trial / f"{name}.parquet")


def _by_tables(trial: Path, sender: str, receiver: str) -> Iterator[tuple[str, float]]:
    """Facts of the segment log, computed from the raw rows."""
    near, far = table(trial, f"segments.{sender}"), table(trial, f"segments.{receiver}")
    sent = near.filter(pl.col("direction") == "out", pl.col("payload_bytes") > 0)
    arrived = far.filter(pl.col("direction") == "in", pl.col("payload_bytes") > 0)
    acks = far.filter(pl.col("direction") == "out", pl.col("payload_bytes") == 0)
    acked = near.filter(pl.col("direction") == "in", pl.col("payload_bytes") == 0)
    again = sent.filter(pl.col("retransmission").is_not_null())
    segments = float(sent["wire_segments"].sum())
    yield "segments.data_segments", segments
    yield "segments.retransmitted_ratio", float(again["wire_segments"].sum()) / segments
    yield "segments.segment_bytes_mean", float(sent["payload_bytes"].sum()) / segments
    yield "segments.losses.ratio", 1 - float(arrived["wire_segments"].sum()) / segments
    yield "segments.acks_per_segment", acks.height / float(arrived["wire_segments"].sum())
    yield "segments.acks_arrived_ratio", acked.height / acks.height
    info = table(trial, f"tcp_info.{sender}")
    if not info["reordering_events_count"].max():
        yield "windows.rtt_ns_min", info.filter(pl.col("rtt_ns_min") > 0)["rtt_ns_min"].min()  # type: ignore[misc]
    reads = table(trial, f"flows.{receiver}")
    yield "receiver.calls.count", float(reads["calls_count"].sum())


@pytest.mark.parametrize("name", ONE_WAY)
def test_facts_are_what_the_raw_rows_add_up_to(folder: Path, name: str) -> None:
    facts = facts_at(name, View.SEGMENTS)
    for path, expected in _by_tables(folder / name, facts.sender.host, facts.receiver.host):
        assert at(facts, path) == pytest.approx(expected, rel=0.025, abs=0.005), path


#: What all levels must agree on: its relative error.
AGREED = {
    "rate_bps": 0.05,
    "segments.segment_bytes_mean": 0.003,
    "segments.retransmitted_ratio": 0.01,
    "segments.acks_per_segment": 0.03,
    "segments.acks_arrived_ratio": 0.025,
    "windows.rtt_ns_min": 0,
    "sender.sockets.mss_bytes": 0,
    "receiver.calls.bytes_mean": 0.002,
    "sender.processors.thread_ratio": 0.05,
}


@pytest.mark.parametrize("path", AGREED)
@pytest.mark.parametrize("name", ONE_WAY)
def test_levels_of_evidence_agree_on_what_all_of_them_see(name: str, path: str) -> None:
    of_segments, *others = (at(facts_at(name, view), path) for view in LEVELS)
    assert others == [pytest.approx(of_segments, rel=AGREED[path], abs=1e-4)] * 2
