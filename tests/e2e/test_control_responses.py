"""Congestion controls on an emulated path answer a loss as their papers say."""

from pathlib import Path
from typing import Any

import polars as pl
import pytest

from tests.e2e.experiments import Record, measure
from whyperf.run import list_offers

# Registered controls show in the settings of the host, which other tests compare.
pytestmark = [pytest.mark.alone, pytest.mark.root]

#: What is kept of a window at a loss, here of 409 segments (crates/congestion/tests/all/responses.rs). H-TCP's first
#: loss has no throughput to compare with, and takes half.
KEPT = {"reno": 0.5, "scalable": 0.875, "highspeed": 0.62, "bic": 0.8, "ltcp": 0.85, "htcp": 0.5}
#: The segment that is lost, in slow start.
LOST = 400
INITIAL_WINDOW = 10
#: A sandbox that runs no program of BPF on top of its own processes leaves no answer to a loss that comes there: the
#: threshold is then whatever a register held, above any window. Such a control is measured again.
ATTEMPTS = 3


@pytest.fixture(scope="module", autouse=True)
def _registered() -> None:
    offers = [offer for offer in list_offers(None) if offer["source"] == "whyperf" and offer["state"] == "refused"]
    if offers:
        pytest.skip(f"needs a kernel that takes TCP struct_ops of BPF (Linux 6.1); this one: {offers[0]['reason']}")


def last_samples(record: Record) -> dict[str, dict[str, Any]]:
    """The sender's last sample by congestion control."""
    rows = record.table("tcp_info").filter(pl.col("final") & (pl.col("role") == "sender"))
    controls = {trial: record.factors(manifest.cell)["congestion_control"] for trial, manifest in record.trials.items()}
    return {str(controls[row["trial"]]): row for row in rows.iter_rows(named=True)}


def test_a_loss_takes_the_share_of_the_paper(tmp_path: Path) -> None:
    # The line spaces the ACKs, the queue never fills and no buffer holds the sender: slow start has put a segment in
    # for each before the one that is lost, and what remains is that of this loss alone.
    levels: dict[str, Any] = {"path_rtt_ms": 20.0, "path_rate_bps": 100_000_000, "path_queue": "2000p"}
    levels |= {"path_loss": f"segments:{LOST}", "transfer_bytes": 2_000_000}
    levels |= {"send_buffer_bytes": 2 << 20, "receive_buffer_bytes": 2 << 20}
    window = INITIAL_WINDOW + LOST - 1
    found: dict[str, dict[str, Any]] = {}
    for attempt in range(ATTEMPTS):
        unanswered = [name for name in KEPT if name not in found or found[name]["ssthresh_segments"] > window]
        if unanswered:
            found |= last_samples(measure(tmp_path / str(attempt), **levels, congestion_control=unanswered))
    assert found.keys() == KEPT.keys()
    for name, row in found.items():
        assert row["retransmitted_segments"] >= 1, name
        assert row["ssthresh_segments"] / window == pytest.approx(KEPT[name], rel=0.15), (
            name,
            row["ssthresh_segments"],
        )
