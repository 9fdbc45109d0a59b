"""The segment log is what was on the wire: every segment as tcpdump sees it, on both sides, in the same order.

The counters, the sizes of calls and TCP's own counts are held against the same trials.
"""

import shutil
from contextlib import ExitStack
from pathlib import Path
from statistics import median
from typing import Any

import polars as pl
import pytest

from tests.e2e import pcap, wire
from tests.e2e.experiments import numbers
from tests.e2e.log_counts import assert_calls_agree, assert_counters_agree, assert_sizes_agree
from tests.e2e.logs import (
    COUNT_BYTES,
    FIN,
    HOSTS,
    IS_DATA,
    IS_OUT,
    IS_PURE_ACK,
    PREAMBLE_BYTES,
    SYN,
    Log,
    Logs,
    bytes_covered,
    log_session,
    run_logs,
)

pytestmark = [
    pytest.mark.alone,
    pytest.mark.root,
    pytest.mark.usefixtures("ours"),
    pytest.mark.skipif(shutil.which("tcpdump") is None, reason="needs tcpdump, which make test installs"),
]

TRANSFER_BYTES = 3_000_000
ATM_MTU_BYTES = 9188
#: What a header holds of a segment.
COMPARED = ("sequence", "acknowledgment", "payload_bytes", "flags", "window_field")
#: IP and TCP with time stamps (RFC 7323 3.2); IPv6 takes 20 bytes more.
HEADERS_BYTES = 52
#: Both look at a segment within the same call of the kernel, unless something interrupts it between the two.
APART_NS = 1_000_000
#: Of the data sent, what neither a call nor an ACK sends.
MAX_OTHER = 0.01

Captures = dict[str, pl.DataFrame]


def log_under_capture(folder: Path, **levels: Any) -> tuple[list[Logs], Captures]:
    """Log trials on one testbed while tcpdump captures at both of its devices."""
    with ExitStack() as stack:
        opened, experiment = stack.enter_context(log_session(folder / "results", **levels))
        with ExitStack() as captures:
            for host in HOSTS:
                assert opened.testbed is not None
                end = opened.testbed["near" if host == "near" else "far"]
                captures.enter_context(wire.capture(end["netns"], end["device"], folder / f"{host}.pcap"))
            logs = run_logs(opened, experiment)
    return logs, {host: pcap.read(folder / f"{host}.pcap") for host in HOSTS}


def assert_same(logged: pl.DataFrame, captured: pl.DataFrame) -> None:
    """The same segments in the same order; names the first that differs."""
    log, wire_rows = logged.select(COMPARED).rows(), captured.select(COMPARED).rows()
    for row, pair in enumerate(zip(log, wire_rows, strict=False)):
        assert pair[0] == pair[1], f"segment {row} of {COMPARED}"
    assert len(log) == len(wire_rows), (log[-2:], wire_rows[-2:])


def assert_windows(logged: pl.DataFrame, captured: pl.DataFrame, scale: int) -> None:
    """Announced windows are scaled by what the announcing end offered, except in its SYN (RFC 7323 2.2)."""
    scaled = pl.when(pl.col("flags") & SYN == 0).then(pl.col("window_field") * 2**scale).otherwise("window_field")
    assert logged["window_bytes"].to_list() == captured.select(scaled).to_series().to_list()


def assert_times(log: Log, logged: pl.DataFrame, captured: pl.DataFrame) -> None:
    """Both clocks say the same, by the pair of readings in the manifest."""
    clock = log.manifest.hosts[log.host].clock
    assert clock is not None
    pair = clock.pairs[0]
    shift = pair.realtime_ns - pair.mono_ns
    apart = (logged["segment_mono_ns"].cast(pl.Int64) + shift - captured["realtime_ns"]).to_list()
    assert abs(median(apart)) < APART_NS


def assert_captured(log: Log, captured: pl.DataFrame) -> None:
    """All of a log, connection by connection, direction by direction."""
    segments = log.segments
    assert numbers(segments, "segment_mono_ns") == sorted(numbers(segments, "segment_mono_ns"))
    for connection, (own, peer) in log.ports().items():
        for direction, (source, destination) in {"out": (own, peer), "in": (peer, own)}.items():
            logged = segments.filter(connection=connection, direction=direction)
            seen = captured.filter(from_port=source, to_port=destination)
            assert_same(logged, seen)
            (scale,) = numbers(seen, "scale_offered")
            assert_windows(logged, seen, scale)
            assert_times(log, logged, seen)


def assert_payload(log: Log, transferred_bytes: int = TRANSFER_BYTES) -> None:
    """The payload adds up to the bytes transferred and the greeting, to the byte."""
    segments = log.segments
    is_payload = IS_OUT if log.role == "sender" else ~IS_OUT
    for connection in log.ports():
        data = segments.filter(IS_DATA, connection=connection)
        assert bytes_covered(data.filter(is_payload)) == transferred_bytes + PREAMBLE_BYTES
        assert bytes_covered(data.filter(~is_payload)) == PREAMBLE_BYTES + COUNT_BYTES


def assert_sizes(log: Log, mss_bytes: int, offloads: bool) -> None:
    """Segments are as large as the MTU allows; super-segments say into how many of them they are cut."""
    data = log.segments.filter(IS_DATA)
    several = data.filter(pl.col("wire_segments") > 1)
    cuts = several.select("payload_bytes", "gso_size_bytes").rows()
    assert numbers(several, "wire_segments") == [-(-payload // size) for payload, size in cuts]
    full = numbers(several, "gso_size_bytes") if offloads else numbers(data, "payload_bytes")
    assert max(full) == mss_bytes


def assert_whole(log: Log) -> None:
    """Nothing lost, nothing missed, nothing left out."""
    manifest, evidence = log.manifest, log.evidence
    assert (manifest.status, manifest.reason, manifest.evidence_asked) == ("complete", None, "segments")
    assert (evidence["asked"], evidence["got"], evidence["reason"]) == ("segments", "segments", None)
    assert (evidence["missing"], evidence["broken_off"]) == ([], None)
    assert (evidence["lost_events_count"], evidence["missed_runs_count"]) == ([], 0)
    assert evidence["logged_events_count"] == len(log.segments) > 0


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
        # The receiver's count of the payload may carry the ACK of the sender's FIN.
        assert len(mine.filter(ack_reason="fin")) in ([1] if log.role == "sender" else [0, 1])


@pytest.mark.parametrize(
    ("connections", "offloads", "mtu_bytes", "direction"),
    [(1, False, 1500, "send"), (3, True, ATM_MTU_BYTES, "receive")],
)
def test_the_log_is_what_tcpdump_captures(
    tmp_path: Path, connections: int, offloads: bool, mtu_bytes: int, direction: str
) -> None:
    logs, captures = log_under_capture(
        tmp_path,
        connections=connections,
        direction=direction,
        transfer_bytes=TRANSFER_BYTES,
        # Slow enough for many intervals.
        write_rate_bps=200_000_000,
        interval_ms=5,
        mtu_bytes=mtu_bytes,
        tso=offloads,
        gso=offloads,
        gro=offloads,
        ip_version=[4, 6],
    )
    assert len(logs) == 2
    for log in (log for both in logs for log in both):
        assert_whole(log)
        assert_captured(log, captures[log.host])
        assert_payload(log)
        assert_sizes(log, mtu_bytes - HEADERS_BYTES - (20 if log.manifest.factors["ip_version"] == 6 else 0), offloads)
        assert_tcp_agrees(log)
        assert_reasons(log)
        assert_counters_agree(log)
        assert_sizes_agree(log)
        assert_calls_agree(log)
