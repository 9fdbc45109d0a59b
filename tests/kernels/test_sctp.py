"""SCTP where a kernel has it: every byte arrives, options are read back, and its counters are recorded."""

from pathlib import Path
from typing import Any

import polars as pl
import pytest

from tests.e2e.experiments import Record, measure, numbers

pytestmark = [pytest.mark.timeout(900), pytest.mark.usefixtures("agents_in_guest")]

TRANSFER: dict[str, Any] = {"transport": "sctp", "transfer_bytes": 2_000_000, "deadline_s": 120.0}
PHASES: dict[str, Any] = {"duration_s": 1.0, "warmup_s": 0.2, "cooldown_s": 0.2, "deadline_s": 60.0}


def complete(record: Record) -> Record:
    """The record, all of whose trials must have run to their end."""
    for manifest in record.trials.values():
        assert manifest.status == "complete", manifest.reason
    return record


def test_every_byte_arrives_in_messages_of_any_size(tmp_path: Path) -> None:
    sizes = [1000, 100_000, 200_000]
    record = complete(measure(tmp_path, **TRANSFER, write_size_bytes=sizes, connections=2))
    flows = record.table("flows")
    assert flows["payload_bytes"].to_list() == [2_000_000] * (2 * 2 * len(sizes))
    assert flows["transport"].unique().to_list() == ["sctp"]
    for trial, manifest in record.trials.items():
        size = int(record.factors(manifest.cell)["write_size_bytes"])
        sent = flows.filter((pl.col("trial") == trial) & (pl.col("role") == "sender"))
        # A write is a message, whole.
        assert numbers(sent, "calls_count") == [2_000_000 // size] * 2
        assert numbers(sent, "short_calls_count") == [0, 0]


def test_a_write_that_is_too_long_for_a_message_is_refused(tmp_path: Path) -> None:
    record = measure(tmp_path, **TRANSFER, write_size_bytes=110_000, send_buffer_bytes=50_000)
    assert record.only.status == "failed"
    assert "a write of 110000 bytes does not fit the send buffer of 100000 bytes" in str(record.only.reason)
    assert "set send_buffer_bytes to 55000 or more" in str(record.only.reason)


def test_its_counters_are_recorded(tmp_path: Path) -> None:
    record = complete(measure(tmp_path, transport="sctp", **PHASES))
    last = record.table("transport_info").filter(pl.col("final") & (pl.col("role") == "sender"))
    (row,) = last.to_dicts()
    (payload,) = numbers(record.table("flows").filter(role="sender"), "payload_bytes")
    assert row["transport"] == "sctp"
    assert 1000 < row["packet_payload_bytes"] < 1500
    # No packet of the veth testbed carries more than its MTU.
    assert row["sent_packets"] >= payload / 65_536
    assert row["cwnd_bytes"] > 0
    assert row["peer_window_bytes"] > 0
    assert row["acks_received_count"] > 0


def test_streams_and_no_delay_are_read_back(tmp_path: Path) -> None:
    record = complete(measure(tmp_path, **TRANSFER, sctp_streams=7, no_delay=True))
    rows = record.table("sctp")
    expected = [(7, 7, 7)] * 2
    assert rows.select("requested_streams", "outgoing_streams", "incoming_streams").rows() == expected
    assert record.table("flows")["no_delay"].to_list() == [True, True]


def test_buffers_are_a_factor(tmp_path: Path) -> None:
    buffers: dict[str, Any] = {"send_buffer_bytes": 50_000, "receive_buffer_bytes": 60_000}
    record = complete(measure(tmp_path, **TRANSFER, **buffers, write_size_bytes=9000))
    sent, arrived = (record.table("flows").filter(role=role) for role in ("sender", "receiver"))
    assert numbers(sent, "send_buffer_granted_bytes") == [100_000]
    assert numbers(arrived, "receive_buffer_granted_bytes") == [120_000]


@pytest.mark.parametrize(
    "levels", [{"reply_size_bytes": 3000}, {"direction": "receive"}, {"read_wait": "block"}], ids=str
)
def test_streams_of_all_kinds_end_in_order(tmp_path: Path, levels: dict[str, Any]) -> None:
    record = complete(measure(tmp_path, **TRANSFER, write_size_bytes=5000, **levels))
    assert record.table("flows")["payload_bytes"].to_list() == [2_000_000] * 2


def test_what_is_lost_is_counted_as_sent_again(tmp_path: Path) -> None:
    path: dict[str, Any] = {
        "path_rtt_ms": 10.0,
        "path_rate_bps": 10_000_000,
        "path_loss": 0.01,
        "path_implementation": "netem",
    }
    record = complete(measure(tmp_path, **TRANSFER, **path))
    last = record.table("transport_info").filter(pl.col("role") == "sender")
    forward = record.table("path").filter(direction="forward")
    lost = sum(numbers(forward, "lost_random_packets"))
    assert lost > 0
    assert max(numbers(last, "retransmitted_packets")) >= lost
    # What SCTP reports of the round trip is at least the path's; it counts in ms.
    assert max(numbers(last, "rtt_ns")) >= 10_000_000


@pytest.mark.parametrize("io_model", ["blocking", "epoll", "io_uring"])
@pytest.mark.parametrize(
    ("workload", "levels"),
    [("rr", {"response_size_bytes": 20_000}), ("crr", {}), ("bidirectional", {"write_size_bytes": 10_000})],
    ids=str,
)
def test_workloads_run_over_it(tmp_path: Path, io_model: str, workload: str, levels: dict[str, Any]) -> None:
    levels = levels | {"workload": workload, "io_model": io_model, "connections": 2}
    record = complete(measure(tmp_path, transport="sctp", **levels, **PHASES))
    near, far = (record.table("transactions").filter(host=host)["transactions_count"].sum() for host in ("near", "far"))
    assert near == far > 0
