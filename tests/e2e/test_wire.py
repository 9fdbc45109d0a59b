"""The truth of the wire: windows, payload and segment sizes as tcpdump sees them."""

import shutil
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from tests.e2e import wire
from tests.e2e.experiments import Quiet, Record, numbers, plan_of, session
from whyperf.profile import Factors
from whyperf.run import run_plan

pytestmark = [
    pytest.mark.alone,
    pytest.mark.root,
    pytest.mark.usefixtures("ours"),
    pytest.mark.skipif(shutil.which("tcpdump") is None, reason="needs tcpdump, which make test installs"),
    pytest.mark.skipif(shutil.which("tshark") is None, reason="needs tshark, which make test installs"),
]

#: The studies' MTU on ATM (RFC 1626 4.1).
ATM_MTU_BYTES = 9188
TRANSFER_BYTES = 400_000
#: How often a cell is measured again that a busy host may have disturbed.
ATTEMPTS = 2
#: What the receiver of a connection says at its end, in addition to the welcome (docs/reference/protocol.md).
COUNT_BYTES = 8


def measure_on_wire(folder: Path, **levels: Any) -> tuple[Record, pl.DataFrame]:
    """Measures transfers of one connection under capture; returns the record and the segments by trial."""
    record, segments = captured(folder, transfer_bytes=TRANSFER_BYTES, **levels)
    return record, of_trials(segments, record)


def captured(folder: Path, **levels: Any) -> tuple[Record, pl.DataFrame]:
    """Runs an experiment under capture on the far side; returns the record and the segments."""
    folder.mkdir(exist_ok=True)
    plan = plan_of(**levels)
    capture_file = folder / "capture.pcap"
    with session(folder / "results", plan) as (opened, experiment):
        assert opened.testbed is not None
        far = opened.testbed["far"]
        with wire.capture(far["netns"], far["device"], capture_file):
            run_plan(opened, experiment, Quiet(), lambda _: None)
        record = Record(experiment)
    return record, wire.segments(capture_file)


def of_trials(segments: pl.DataFrame, record: Record) -> pl.DataFrame:
    """Segments with their trial and the role of the end that sent them."""
    port = pl.col("local_address").str.extract(r":(\d+)$").cast(pl.Int64)
    flows = record.table("flows")
    near = flows.filter(host="near").select("trial", "cell", near_port=port, near_role="role")
    far = flows.filter(host="far").select("trial", far_port=port, far_role="role")
    streams = segments.filter(syn=1).group_by("stream").agg(pl.col("from_port").first(), pl.col("to_port").first())
    # The near side opens, so the first segment of a stream is its SYN.
    named = streams.join(near, left_on="from_port", right_on="near_port")
    named = named.join(far, left_on=["trial", "to_port"], right_on=["trial", "far_port"])
    assert len(named) == len(streams) == len(near)
    joined = segments.join(named.rename({"from_port": "near_port"}).drop("to_port"), on="stream")
    return joined.with_columns(
        role=pl.when(pl.col("from_port") == pl.col("near_port")).then("near_role").otherwise("far_role")
    )


def assert_payload_on_wire(record: Record, segments: pl.DataFrame) -> None:
    """What the wire carried is what both sides count, plus the greeting and the receiver's count."""
    for trial, manifest in record.trials.items():
        assert manifest.status == "complete", manifest.reason
        mine = segments.filter(trial=trial)
        carried = {role: max(numbers(mine.filter(role=role), "stream_end")) for role in ("sender", "receiver")}
        greeting_bytes = carried["receiver"] - COUNT_BYTES
        assert carried["sender"] == greeting_bytes + TRANSFER_BYTES
        assert [end.payload_bytes for end in manifest.hosts.values()] == [TRANSFER_BYTES] * 2


def never_announced(folder: Path, **levels: Any) -> list[Factors]:
    """Cells whose receiver announced less than the window asked for all along; more than it may is an error."""
    record, segments = measure_on_wire(folder, mtu_bytes=ATM_MTU_BYTES, **levels)
    assert_payload_on_wire(record, segments)
    less: list[Factors] = []
    for trial, manifest in record.trials.items():
        window_bytes = int(manifest.factors["window_bytes"])
        announced = segments.filter(trial=trial, role="receiver", reset=0)
        assert len(announced.filter(syn=1)) == 1
        largest = max(numbers(announced, "window_bytes"))
        if window_bytes < ATM_MTU_BYTES:
            assert largest == window_bytes, manifest.factors
        else:
            # The kernel lifts the clamp while segments grow; it never announces more than it granted.
            flow = record.table("flows").filter(trial=trial, role="receiver")
            (granted,) = numbers(flow, "receive_buffer_granted_bytes")
            assert largest <= granted, manifest.factors
            less += [manifest.factors] if largest < window_bytes else []
        samples = record.table("tcp_info").filter(trial=trial, role="receiver")
        assert set(numbers(samples, "own_window_bytes")) <= set(numbers(announced, "window_bytes")), manifest.factors
    return less


def test_the_window_asked_for_is_the_window_announced(tmp_path: Path) -> None:
    varied = ("window_bytes", "write_size_bytes", "ip_version", "direction")
    levels: dict[str, Any] = {
        "window_bytes": [4096, 16384],
        "write_size_bytes": [512, 6000],
        "ip_version": [4, 6],
        "direction": ["send", "receive"],
    }
    less = never_announced(tmp_path, **levels)
    # A reader that waits for its CPU finds data whenever it comes, and then its window is never all free. A busy host
    # does that to a cell once; what is wrong happens to it again.
    for attempt in range(ATTEMPTS):
        less = [
            factors
            for number, cell in enumerate(less)
            for factors in never_announced(tmp_path / f"{attempt}-{number}", **{name: cell[name] for name in varied})
        ]
    assert less == []


@pytest.mark.parametrize("mtu_bytes", [1500, ATM_MTU_BYTES])
def test_segments_fit_the_mtu_with_offloads_off(tmp_path: Path, mtu_bytes: int) -> None:
    record, segments = measure_on_wire(
        tmp_path,
        mtu_bytes=mtu_bytes,
        ip_version=[4, 6],
        tso=False,
        gso=False,
        gro=False,
    )
    assert_payload_on_wire(record, segments)
    for trial, manifest in record.trials.items():
        # Full segments fill the MTU; time stamps make them no longer.
        largest = max(numbers(segments.filter(trial=trial), "frame_bytes"))
        assert largest == mtu_bytes + wire.ETHERNET_HEADER_BYTES, manifest.factors
        final = record.table("tcp_info").filter(pl.col("final"), trial=trial, role="sender")
        on_wire = segments.filter(trial=trial, role="sender").filter(pl.col("payload_bytes") > 0)
        assert final["data_segments_out"].to_list() == [len(on_wire)]


def test_segments_are_joined_with_offloads_on(tmp_path: Path) -> None:
    """So that the test above could fail: the same capture shows super-segments here."""
    record, segments = measure_on_wire(tmp_path, mtu_bytes=1500)
    assert_payload_on_wire(record, segments)
    assert max(numbers(segments, "frame_bytes")) > 1500 + wire.ETHERNET_HEADER_BYTES


def test_rrul_marks_the_packets_of_each_flow_in_its_direction(tmp_path: Path) -> None:
    record, segments = captured(
        tmp_path,
        schedule="rrul",
        schedule_scale=0.02,
        interval_ms=10,
        rtt_probe_ms=2,
        path_rate_bps=20_000_000,
        path_rtt_ms=10,
    )
    assert record.only.status == "complete", record.only.reason
    flows = record.experiment.plan.cells[0].schedule
    assert flows is not None
    near = record.table("flows").filter(host="near")
    port = pl.col("local_address").str.extract(r":(\d+)$").cast(pl.Int64)
    found = {}
    for connection, own_port in near.select("connection", port).iter_rows():
        flow = flows[connection]
        # What comes before is the greeting.
        data = segments.filter((pl.col("payload_bytes") > 0) & (pl.col("stream_end") > 1000))
        side = "from_port" if flow.direction == "send" else "to_port"
        found[flow.name] = set(data.filter(pl.col(side) == own_port)["dscp"])
    marks = {"BE": {0}, "BK": {8}, "CS5": {40}, "EF": {46}}
    assert found == {f"{way} {mark}": dscp for way in ("up", "down") for mark, dscp in marks.items()}
