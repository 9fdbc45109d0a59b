"""An emulated path through the whole chain: what it did is in the record, and TCP's counts agree with it."""

import shutil
import subprocess
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from tests.e2e.experiments import Record, measure, numbers
from whyperf.record import Manifest
from whyperf.run import RunError
from whyperf.run.session import describe_host

pytestmark = [pytest.mark.paced, pytest.mark.root, pytest.mark.usefixtures("ours")]

PATH: dict[str, Any] = {
    "path_rtt_ms": 10.0,
    "path_rate_bps": 50_000_000,
    "path_queue": "20p",
    "congestion_control": "reno",
    "transfer_bytes": 2_000_000,
}
#: Packets that may be between arriving and leaving when counting begins, before the load does.
UNDER_WAY_PACKETS = 2


def has_token_bucket() -> bool:
    """Whether this kernel can be asked for tbf; with privilege and tc only."""
    take = "unshare --net tc qdisc add dev lo root tbf rate 1mbit burst 10kb limit 10kb"
    return (
        shutil.which("tc") is not None
        and subprocess.run(take.split(), capture_output=True, check=False).returncode == 0
    )


def sums(record: Record, direction: str) -> dict[str, int]:
    """All counts of a direction over all trials."""
    return record.table("path").filter(pl.col("direction") == direction).sum().row(0, named=True)


def carried(manifest: Manifest) -> dict[str, Any]:
    """How well the path was carried. A busy host may void the trial for its lateness; its counts hold all the same."""
    assert manifest.status in {"complete", "void"}, manifest.reason
    audit: dict[str, Any] = manifest.path["audit"]
    for lost in ("socket_dropped_frames", "device_dropped_packets", "refused_frames", "unstamped_frames"):
        assert audit[lost] == 0, lost
    return audit


def sent_again(record: Record) -> int:
    """Segments that the senders sent again in their whole lives."""
    rows = record.table("tcp_info").filter(pl.col("final") & (pl.col("role") == "sender"))
    return sum(numbers(rows, "retransmitted_segments"))


@pytest.mark.parametrize("direction", ["send", "receive"])
def test_the_sender_sends_again_what_the_queue_dropped(tmp_path: Path, direction: str) -> None:
    record = measure(tmp_path, **PATH, direction=direction)
    # With two CPUs the router runs on the receiver's.
    sender, receiver = sorted(record.only.hosts.values(), key=lambda end: end.role, reverse=True)
    assert record.only.path["cpu"] not in sender.own_cpus
    assert (record.only.path["cpu"] in receiver.own_cpus) == (len(describe_host(None)["cpus"]) == 2)
    audit = carried(record.only)
    payload_way, ack_way = ("forward", "backward") if direction == "send" else ("backward", "forward")
    data, acks = sums(record, payload_way), sums(record, ack_way)
    dropped = data["dropped_full_packets"]
    # On a host that stalls the sender probes a loss that was none (RFC 8985 section 7).
    assert 0 < dropped <= sent_again(record) <= dropped + 3
    # What is still under way at the end is not released; the ends wait for all payload, so that is an ACK or a FIN.
    # What is under way when counting begins is released, and arrived before: an ACK of the preamble.
    arrived = data["arrived_packets"] + acks["arrived_packets"]
    assert -UNDER_WAY_PACKETS <= arrived - dropped - audit["released_packets"] <= 4
    assert max(numbers(record.table("path"), "queue_packets_max")) == 20
    assert sum(numbers(record.table("path_lateness"), "released_packets")) == audit["released_packets"]
    # The kernel counts in microseconds.
    assert min(numbers(record.table("tcp_info").filter(role="sender"), "rtt_ns_min")) >= 10_000_000 - 1_000


def test_the_named_segments_are_lost_after_the_connections_have_opened(tmp_path: Path) -> None:
    loss: dict[str, Any] = {"path_rtt_ms": 4.0, "path_loss": "segments:1+100+103", "transfer_bytes": 1_000_000}
    record = measure(tmp_path, **loss, direction=["send", "receive"])
    for trial, manifest in record.trials.items():
        carried(manifest)
        way = "forward" if manifest.factors["direction"] == "send" else "backward"
        data = record.table("path").filter(trial=trial, direction=way).sum().row(0, named=True)
        assert (data["lost_scripted_packets"], data["dropped_full_packets"]) == (3, 0)
    assert sent_again(record) >= 2 * 3


def test_the_sender_hears_of_the_marks_of_the_queue(tmp_path: Path) -> None:
    levels = PATH | {"path_discipline": "codel", "path_codel_interval_ms": 20.0, "path_queue": "400p"}
    record = measure(tmp_path, **levels, path_ecn=[True, False])
    for trial, manifest in record.trials.items():
        carried(manifest)
        is_marking = bool(manifest.factors["path_ecn"])
        data = record.table("path").filter(trial=trial, direction="forward").sum().row(0, named=True)
        assert data["dropped_full_packets"] == 0
        assert (data["marked_packets"] > 0, data["dropped_early_packets"] > 0) == (is_marking, not is_marking)
        samples = record.table("tcp_info").filter(trial=trial, role="sender")
        last = samples.filter(pl.col("final")).row(0, named=True)
        assert last["ecn"] == is_marking
        # A mark is reported from the first acknowledgment that saw it until the sender says that it has slowed down.
        assert (last["delivered_marked_segments"] > 0) == is_marking
        assert (last["retransmitted_segments"] > 0) == (not is_marking)
        assert max(numbers(samples, "cwnd_segments")) > last["ssthresh_segments"]


@pytest.mark.skipif(
    not has_token_bucket(),
    reason="needs a kernel with the queueing discipline tbf (sch_tbf), and tc of the package iproute2 to ask for it",
)
def test_the_kernels_own_disciplines_are_a_path_too(tmp_path: Path) -> None:
    """Without a delay it takes no netem, only tbf; with all of it, see tests/kernels."""
    bottleneck: dict[str, Any] = {"path_rate_bps": 48_000_000, "path_queue": 60_000, "congestion_control": "reno"}
    record = measure(tmp_path, path_implementation=["netem", "router"], **bottleneck, transfer_bytes=2_000_000)
    for trial, manifest in record.trials.items():
        audit = carried(manifest)
        by_netem = record.factors(manifest.cell)["path_implementation"] == "netem"
        rows = record.table("path").filter(trial=trial)
        data = rows.filter(direction="forward").sum().row(0, named=True)
        last = record.table("tcp_info").filter(pl.col("final") & (pl.col("role") == "sender"), trial=trial)
        dropped = data["dropped_full_packets"]
        assert dropped > 0
        # A probe for a loss that was none may be dropped, too.
        assert abs(sum(numbers(last, "retransmitted_segments")) - dropped) <= 3
        # Where the host let the counting start late, that is reported.
        if not any("counting begin late" in sentence for sentence in audit["unaudited"]):
            assert abs(data["arrived_packets"] - data["passed_packets"] - dropped) <= UNDER_WAY_PACKETS
        assert (rows["lateness_ns_max"].null_count() == rows.height) == by_netem
        assert (audit["late_packets"] is None) == by_netem


@pytest.mark.skipif(
    any(ability["can"] for ability in describe_host(None)["abilities"] if ability["name"] == "netem"),
    reason="needs a kernel without the queueing discipline netem",
)
def test_what_the_kernel_lacks_is_named_before_the_run(tmp_path: Path) -> None:
    with pytest.raises(RunError, match=r"lacks a queueing discipline .* choose path_implementation = .router"):
        measure(tmp_path, path_implementation="netem", path_rtt_ms=2.0, transfer_bytes=100_000)
