"""Every byte is counted once, on both sides, whatever the factors."""

from pathlib import Path
from typing import Any

import polars as pl
import pytest

from tests.e2e.experiments import Record, measure

pytestmark = [pytest.mark.root, pytest.mark.usefixtures("ours")]

MILLION = 1_000_000


def ends(record: Record, column: str) -> dict[str, Any]:
    """A column of the flows' sums, by end."""
    sums = record.table("flows").group_by("host").agg(pl.col(column).sum())
    return dict(sums.iter_rows())


def assert_exact(record: Record, payload_bytes: int) -> None:
    """All trials complete; what was asked is what each table of each side counts."""
    for manifest in record.trials.values():
        assert (manifest.status, manifest.reason) == ("complete", None)
    per_trial = ["trial", "host"]
    for table in ("flows", "intervals"):
        sums = record.table(table).group_by(per_trial).agg(pl.col("payload_bytes").sum())
        assert sums["payload_bytes"].to_list() == [payload_bytes] * (2 * len(record.trials)), table
    assert set(record.table("flows")["ended"]) == {"complete"}
    for manifest in record.trials.values():
        assert [end.payload_bytes for end in manifest.hosts.values()] == [payload_bytes] * 2


def test_any_number_of_bytes(tmp_path: Path) -> None:
    record = measure(tmp_path, transfer_bytes=4095, connections=3, direction=["send", "receive"])
    assert_exact(record, 3 * 4095)


def test_odd_call_sizes(tmp_path: Path) -> None:
    record = measure(
        tmp_path,
        transfer_bytes=MILLION,
        write_size_bytes=[999, 65537],
        read_size_bytes=1001,
        window_bytes=["default", 8192],
    )
    assert_exact(record, MILLION)
    flows = record.table("flows")
    for row in flows.filter(role="sender").iter_rows(named=True):
        size = record.factors(row["cell"])["write_size_bytes"]
        # A blocking send call moves all it is given, but the last.
        assert row["calls_count"] == -(-MILLION // int(size))
        assert row["short_calls_count"] == 0


def test_one_byte_calls(tmp_path: Path) -> None:
    record = measure(tmp_path, transfer_bytes=20_000, write_size_bytes=1, read_size_bytes=1)
    assert_exact(record, 20_000)
    assert ends(record, "calls_count") == {"near": 20_000, "far": 20_000}


def test_every_transport_option(tmp_path: Path) -> None:
    record = measure(
        tmp_path,
        transfer_bytes=MILLION,
        connections=2,
        congestion_control=["reno", "bbr"],
        ip_version=[4, 6],
        no_delay=True,
        quick_ack=[False, True],
        read_wait="block",
    )
    assert len(record.trials) == 8
    assert_exact(record, 2 * MILLION)
    for row in record.table("flows").iter_rows(named=True):
        factors = record.factors(row["cell"])
        assert row["congestion_control"] == factors["congestion_control"]
        assert (row["no_delay"], row["quick_ack"]) == (factors["no_delay"], factors["quick_ack"])
        assert row["local_address"].startswith("[" if factors["ip_version"] == 6 else "198.18.")
        re_armed = row["other_calls_count"] >= row["calls_count"]
        assert re_armed == (factors["quick_ack"] and row["role"] == "receiver")


def test_mss(tmp_path: Path) -> None:
    record = measure(tmp_path, transfer_bytes=MILLION, mss_bytes=[536, 1000], gso=False, tso=False, gro=False)
    assert_exact(record, MILLION)
    final = record.table("tcp_info").filter(pl.col("final"), role="sender")
    for row in final.iter_rows(named=True):
        mss_bytes = int(record.factors(row["cell"])["mss_bytes"])
        # Time stamps take 12 bytes of every segment (RFC 7323 3.2).
        assert row["send_mss_bytes"] == mss_bytes - 12
        assert row["data_segments_out"] - row["retransmitted_segments"] >= MILLION // row["send_mss_bytes"]


def test_many_connections(tmp_path: Path) -> None:
    record = measure(tmp_path, transfer_bytes=100_000, connections=100, direction=["send", "receive"])
    assert {manifest.status for manifest in record.trials.values()} == {"complete"}
    flows = record.table("flows")
    assert set(flows["payload_bytes"]) == {100_000}
    for trial, manifest in record.trials.items():
        for host, role in (("near", "sender"), ("far", "receiver")):
            mine = flows.filter(trial=trial, host=host)
            assert sorted(mine["connection"]) == list(range(100))
            assert set(mine["role"]) == {role if manifest.factors["direction"] == "send" else other(role)}
        # The same number is the same connection on both sides.
        near, far = (flows.filter(trial=trial, host=host).sort("connection") for host in ("near", "far"))
        assert near["local_address"].to_list() == far["remote_address"].to_list()


def other(role: str) -> str:
    """The other side's role."""
    return "receiver" if role == "sender" else "sender"


def test_a_timed_load_counts_the_same_on_both_sides(tmp_path: Path) -> None:
    record = measure(
        tmp_path,
        duration_s=0.25,
        warmup_s=0.05,
        cooldown_s=[0.0, 0.05],
        connections=3,
        direction=["send", "receive"],
    )
    for manifest in record.trials.values():
        assert (manifest.status, manifest.reason) == ("complete", None)
        near, far = manifest.hosts["near"].payload_bytes, manifest.hosts["far"].payload_bytes
        assert near == far
        assert near
    flows = record.table("flows").select("trial", "host", "connection", "payload_bytes")
    pivoted = flows.pivot("host", index=["trial", "connection"], values="payload_bytes")
    assert pivoted["near"].to_list() == pivoted["far"].to_list()
    per_interval = record.table("intervals").group_by("trial", "host").agg(pl.col("payload_bytes").sum())
    per_life = flows.group_by("trial", "host").agg(pl.col("payload_bytes").sum())
    joined = per_life.join(per_interval, on=["trial", "host"], suffix="_intervals")
    # Bytes moved after the last interval's end are in the connection's life only.
    assert (joined["payload_bytes"] >= joined["payload_bytes_intervals"]).all()
