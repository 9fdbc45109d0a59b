"""The emulated path by a kernel's own netem: what it drops is sent again, and it is as long and slow as asked for."""

from pathlib import Path
from typing import Any

import polars as pl
import pytest

from tests.e2e.experiments import Record, measure, numbers
from tests.kernels.guest import Guest
from whyperf.record import Manifest

pytestmark = [pytest.mark.timeout(900), pytest.mark.usefixtures("agents_in_guest")]

RATE_BPS = 10_000_000
RTT_MS = 20.0
PATH: dict[str, Any] = {
    "path_implementation": "netem",
    "path_rtt_ms": RTT_MS,
    "path_rate_bps": RATE_BPS,
    "congestion_control": "reno",
    "transfer_bytes": 2_000_000,
    "deadline_s": 120.0,
}
#: netem takes a seed from here on.
SEEDED = (6, 6)


def over(tmp_path: Path, **levels: Any) -> tuple[Record, dict[str, int], int]:
    """A transfer over netem: the record, the sums of what the forward way counted, and the segments sent again."""
    record = measure(tmp_path, **PATH | levels)
    manifest: Manifest = record.only
    assert manifest.status == "complete", manifest.reason
    audit = manifest.path["audit"]
    assert (audit["device_dropped_packets"], audit["late_packets"]) == (0, None)
    forward = record.table("path").filter(pl.col("direction") == "forward")
    last = record.table("tcp_info").filter(pl.col("final") & (pl.col("role") == "sender"))
    return record, forward.sum().row(0, named=True), sum(numbers(last, "retransmitted_segments"))


def test_what_a_queue_of_packets_drops_is_sent_again(tmp_path: Path) -> None:
    record, forward, again = over(tmp_path, path_queue="20p")
    dropped = forward["dropped_full_packets"]
    # A slow guest stalls, and then the sender probes a loss that was none (RFC 8985 section 7).
    assert 0 < dropped <= again <= dropped + 3
    assert forward["arrived_packets"] == forward["passed_packets"] + dropped
    rows = record.table("path").filter(pl.col("direction") == "forward")
    assert max(numbers(rows, "queue_packets_max")) <= 20
    assert rows["lateness_ns_max"].null_count() == rows.height
    assert record.table("path_lateness").is_empty()


def test_it_is_never_shorter_nor_faster_than_asked_for(tmp_path: Path) -> None:
    record, _, _ = over(tmp_path, path_queue="40p")
    samples = record.table("tcp_info").filter(pl.col("role") == "sender")
    # The kernel counts in microseconds.
    assert min(numbers(samples, "rtt_ns_min")) >= RTT_MS * 1e6 - 1_000
    # While packets wait, the bottleneck sends without a pause; a starved guest may make it slower, nothing faster.
    rows = record.table("path").filter(pl.col("direction") == "forward").sort("interval")
    busy = rows.filter(pl.col("queue_bytes_min") > 3028)
    assert busy.height > 20
    sent_bits = 8 * sum(numbers(busy, "passed_bytes"))
    time_ns = sum(numbers(busy, "end_mono_ns")) - sum(numbers(busy, "start_mono_ns"))
    assert sent_bits / time_ns * 1e9 <= 1.03 * RATE_BPS


@pytest.mark.parametrize("loss", [0.01, "bursts:0.005/0.5"])
def test_what_is_lost_at_random_is_sent_again(guest: Guest, tmp_path: Path, loss: float | str) -> None:
    record, forward, again = over(tmp_path, path_queue="1000p", path_loss=loss)
    lost = forward["lost_random_packets"]
    assert 0 < lost <= again <= lost + 3
    assert forward["dropped_full_packets"] == 0
    is_seeded = tuple(int(part) for part in guest.series.split(".")) >= SEEDED
    unaudited = record.only.path["audit"]["unaudited"]
    assert any("seed" in sentence for sentence in unaudited) != is_seeded


@pytest.mark.parametrize(
    ("discipline", "levels"),
    [("codel", {"path_queue": "1000p"}), ("red", {"path_queue": 200_000, "path_red_min_bytes": 10_000})],
)
def test_disciplines_drop_early_or_mark(tmp_path: Path, discipline: str, levels: dict[str, Any]) -> None:
    _, dropping, again = over(tmp_path / "drop", path_discipline=discipline, **levels)
    dropped = dropping["dropped_early_packets"]
    # RED drops many in a row, and a sender that times out sends again what had come.
    assert 0 < dropped <= again
    assert dropping["marked_packets"] == 0
    _, marking, _ = over(tmp_path / "mark", path_discipline=discipline, path_ecn=True, **levels)
    assert marking["marked_packets"] > 0
    # RED drops above its upper threshold, where a burst may take its average.
    assert marking["dropped_early_packets"] < dropped


def test_packets_overtake_and_come_twice(tmp_path: Path) -> None:
    record, forward, _ = over(tmp_path, path_queue="1000p", path_reorder=0.02, path_duplicate=0.02, path_jitter_us=500)
    assert forward["reordered_packets"] > 0
    rows = record.table("path").filter(pl.col("direction") == "forward")
    assert rows["duplicated_packets"].null_count() == rows["arrived_packets"].null_count() == rows.height
    # What came twice is acknowledged twice, with a duplicate SACK block (RFC 2883).
    assert any("twice" in sentence for sentence in record.only.path["audit"]["unaudited"])
