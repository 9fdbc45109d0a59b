"""The segment log is what was on the wire: every segment as tcpdump sees it, on both sides, in the same order."""

import shutil
from contextlib import ExitStack
from pathlib import Path
from statistics import median
from typing import Any

import polars as pl
import pytest

from tests.e2e import pcap, wire
from tests.e2e.experiments import numbers
from tests.e2e.logs import (
    COUNT_BYTES,
    HOSTS,
    IS_DATA,
    IS_OUT,
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

TRANSFER_BYTES = 16_000_000
ATM_MTU_BYTES = 9188
#: What a header holds of a segment.
COMPARED = ("sequence", "acknowledgment", "payload_bytes", "flags", "window_field")
#: IP and TCP with time stamps (RFC 7323 3.2); IPv6 takes 20 bytes more.
HEADERS_BYTES = 52
#: Both look at a segment within the same call of the kernel, unless something interrupts it between the two.
APART_NS = 1_000_000

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


def assert_payload(log: Log, transfer_bytes: int) -> None:
    """The payload adds up to the bytes transferred and the greeting, to the byte."""
    segments = log.segments
    is_payload = IS_OUT if log.role == "sender" else ~IS_OUT
    for connection in log.ports():
        data = segments.filter(IS_DATA, connection=connection)
        assert bytes_covered(data.filter(is_payload)) == transfer_bytes + PREAMBLE_BYTES
        assert bytes_covered(data.filter(~is_payload)) == PREAMBLE_BYTES + COUNT_BYTES


def assert_sizes(log: Log, mss_bytes: int, offloads: bool) -> None:
    """Segments are as large as the MTU allows; super-segments say into how many of them they are cut."""
    data = log.segments.filter(IS_DATA)
    several = data.filter(pl.col("wire_segments") > 1)
    cuts = several.select("payload_bytes", "gso_size_bytes").rows()
    assert numbers(several, "wire_segments") == [-(-payload // size) for payload, size in cuts]
    full = numbers(several, "gso_size_bytes") if offloads else numbers(data, "payload_bytes")
    assert max(full) == mss_bytes


@pytest.mark.parametrize("mtu_bytes", [1500, ATM_MTU_BYTES])
@pytest.mark.parametrize("offloads", [False, True], ids=["segments", "super-segments"])
@pytest.mark.parametrize(("connections", "transfer_bytes"), [(1, TRANSFER_BYTES), (3, TRANSFER_BYTES // 4)])
def test_the_log_is_what_tcpdump_captures(
    tmp_path: Path, connections: int, transfer_bytes: int, offloads: bool, mtu_bytes: int
) -> None:
    logs, captures = log_under_capture(
        tmp_path,
        connections=connections,
        transfer_bytes=transfer_bytes,
        mtu_bytes=mtu_bytes,
        tso=offloads,
        gso=offloads,
        gro=offloads,
        ip_version=[4, 6],
    )
    assert len(logs) == 2
    for log in (log for both in logs for log in both):
        assert log.manifest.status == "complete"
        assert_captured(log, captures[log.host])
        assert_payload(log, transfer_bytes)
        assert_sizes(log, mtu_bytes - HEADERS_BYTES - (20 if log.manifest.factors["ip_version"] == 6 else 0), offloads)
        assert (log.evidence["logged_events_count"], log.evidence["lost_events_count"]) == (len(log.segments), [])


def test_super_segments_hold_what_leaves_as_segments(tmp_path: Path) -> None:
    """With GSO without TSO the device layer cuts: the log says what tcpdump sees only behind the cut."""
    logs, captures = log_under_capture(
        tmp_path, transfer_bytes=TRANSFER_BYTES, mtu_bytes=1500, tso=False, gso=True, gro=False
    )
    ((near, far),) = logs
    assert_captured(far, captures["far"])
    (own, peer) = near.ports()[0]
    captured = captures["near"].filter(pl.col("payload_bytes") > 0, from_port=own, to_port=peer)
    cut = near.segments.filter(IS_OUT, IS_DATA)
    size = pl.when(pl.col("wire_segments") > 1).then("gso_size_bytes").otherwise("payload_bytes")
    sizes = [
        min(each, payload - at)
        for payload, each in cut.select("payload_bytes", size).rows()
        for at in range(0, payload, each)
    ]
    assert len(cut) < len(captured)
    assert sizes == numbers(captured, "payload_bytes")
    assert int(cut["wire_segments"].sum()) == len(captured)
