"""A log trial loses nothing: every segment, a reason for every ACK, and counters that say the same."""

from pathlib import Path
from typing import Any

import polars as pl
import pytest

from tests.e2e.log_counts import assert_calls_agree, assert_counters_agree, assert_sizes_agree
from tests.e2e.logs import (
    COUNT_BYTES,
    FIN,
    IS_DATA,
    IS_OUT,
    IS_PURE_ACK,
    SYN,
    Log,
    bytes_covered,
    log_session,
    run_logs,
)

pytestmark = [pytest.mark.alone, pytest.mark.root, pytest.mark.usefixtures("ours")]

#: As in the profile window-sweep; its corners and its center.
SWEEP: dict[str, Any] = {
    "read_wait": "block",
    "mtu_bytes": 9188,
    "read_size_bytes": "=write_size_bytes",
    "interval_ms": 5,
    "transfer_bytes": 2_000_000,
    "window_bytes": [4096, 16384, 52428],
    "write_size_bytes": [512, 8192, 32768],
}
MAX_OTHER = 0.01


def assert_whole(log: Log) -> None:
    """Nothing lost, nothing missed, nothing left out."""
    manifest, evidence = log.manifest, log.evidence
    assert (manifest.status, manifest.reason, manifest.evidence_asked) == ("complete", None, "segments")
    assert (evidence["asked"], evidence["got"], evidence["reason"]) == ("segments", "segments", None)
    assert (evidence["missing"], evidence["broken_off"]) == ([], None)
    assert (evidence["lost_events_count"], evidence["missed_runs_count"]) == ([], 0)
    assert evidence["logged_events_count"] == len(log.segments) > 0


def assert_payload(log: Log) -> None:
    """What is logged is what was moved, between the greeting and the count, to the byte."""
    segments = log.segments.filter(IS_DATA)
    is_payload = IS_OUT if log.role == "sender" else ~IS_OUT
    for connection, moved in log.table("flows").select("connection", "payload_bytes").rows():
        mine = segments.filter(connection=connection)
        greeting_bytes = bytes_covered(mine.filter(~is_payload)) - COUNT_BYTES
        assert greeting_bytes > 0
        assert bytes_covered(mine.filter(is_payload)) == moved + greeting_bytes


def assert_tcp_agrees(log: Log) -> None:
    """The kernel's own counts of each connection, up to its last sample."""
    segments = log.segments
    for row in log.table("tcp_info").filter(pl.col("final")).iter_rows(named=True):
        until = pl.col("segment_mono_ns") <= row["sample_mono_ns"]
        mine = segments.filter(until, connection=row["connection"])
        out, arrived = mine.filter(IS_OUT), mine.filter(~IS_OUT)
        again = out.filter(pl.col("retransmission").is_not_null())
        assert {
            "data_segments_out": out.filter(IS_DATA)["wire_segments"].sum(),
            "data_segments_in": arrived.filter(IS_DATA)["wire_segments"].sum(),
            "bytes_sent": out["payload_bytes"].sum(),
            "retransmitted_segments": again["wire_segments"].sum(),
            "bytes_retransmitted": again["payload_bytes"].sum(),
        }.items() <= row.items(), (log.manifest.trial, log.host)


def assert_reasons(log: Log) -> None:
    """Every pure ACK sent has a reason and nothing else has; contexts are recorded."""
    segments = log.segments
    assert segments.filter(pl.col("ack_reason").is_not_null() != (IS_OUT & IS_PURE_ACK)).is_empty()
    data = segments.filter(IS_OUT, IS_DATA)
    assert len(data.filter(context="other")) <= MAX_OTHER * len(data)
    can_be_again = IS_OUT & (IS_DATA | (pl.col("flags") & (SYN | FIN) > 0))
    assert segments.filter(~can_be_again, pl.col("retransmission").is_not_null()).is_empty()
    for connection in log.ports():
        mine = segments.filter(connection=connection)
        # The end that connects completes the handshake.
        assert len(mine.filter(ack_reason="handshake")) == (1 if log.host == "near" else 0)
        # Each side closes once; a busy host sends some segments twice.
        fins = mine.filter(pl.col("flags") & FIN > 0).group_by("direction")
        ends = fins.agg((pl.col("sequence") + pl.col("payload_bytes")).n_unique().alias("places"))
        assert sorted(ends.rows()) == [("in", 1), ("out", 1)]
        # The receiver's count of the payload may carry the ACK of the sender's FIN.
        assert len(mine.filter(ack_reason="fin")) in ([1] if log.role == "sender" else [0, 1])


def assert_all(log: Log) -> None:
    """All that a test of this file holds a log to."""
    assert_whole(log)
    assert_payload(log)
    assert_tcp_agrees(log)
    assert_reasons(log)
    assert_counters_agree(log)
    assert_sizes_agree(log)


def test_a_window_sweep_is_logged_whole(tmp_path: Path) -> None:
    with log_session(tmp_path / "results", **SWEEP) as (opened, experiment):
        logs = run_logs(opened, experiment)
    assert len(logs) == 9
    for both in logs:
        for log in both:
            assert_all(log)
            assert_calls_agree(log)


def test_a_timed_load_of_several_connections_is_logged_whole(tmp_path: Path) -> None:
    with log_session(
        tmp_path / "results",
        warmup_s=0.02,
        duration_s=0.1,
        interval_ms=20,
        cooldown_s=0.05,
        connections=3,
        ip_version=[4, 6],
        direction=["send", "receive"],
    ) as (opened, experiment):
        logs = run_logs(opened, experiment)
    for both in logs:
        for log in both:
            assert_all(log)
