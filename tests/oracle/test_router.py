"""A flow of Reno over whyperf's router and over the kernel's netem."""

import os
from itertools import pairwise
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from tests.e2e.experiments import measure, numbers
from tests.oracle.kernel import ask

DELAY_MS = 20
SECONDS = 20
#: Slow start overshoots by as much as its doubling makes it; from here on windows are Reno's own.
SETTLED_S = 4.0


#: Longest time between two samples that does not mean a stalled guest.
LONGEST_GAP_S = 0.05


def is_fit(samples: list[dict[str, float]]) -> bool:
    """Whether the guest was never stalled for long."""
    return all(later["at_s"] - earlier["at_s"] < LONGEST_GAP_S for earlier, later in pairwise(samples))


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root")
def test_reno_over_drop_tail(tmp_path: Path) -> None:
    bottleneck = ["root netem rate 50mbit limit 165"]
    asked: dict[str, Any] = {"bottleneck": bottleneck, "delay_ms": DELAY_MS, "ecn": False, "congestion_control": "reno"}
    real = ask(tmp_path, is_fit, **asked, seconds=SECONDS)
    record = measure(
        tmp_path,
        path_rtt_ms=2.0 * DELAY_MS,
        path_rate_bps=50_000_000,
        path_rate_back_bps="none",
        path_queue="165p",
        congestion_control="reno",
        duration_s=float(SECONDS),
        warmup_s=0.0,
        cooldown_s=0.1,
        interval_ms=5,
    )
    assert record.only.status == "complete", record.only.reason
    rows = record.table("tcp_info").filter(pl.col("role") == "sender").sort("sample_mono_ns")
    settled = rows.filter(pl.col("sample_mono_ns") >= pl.col("sample_mono_ns").min() + int(SETTLED_S * 1e9))
    samples = [sample for sample in real["flow"] if sample["at_s"] >= SETTLED_S]
    sent_again = real["flow"][-1]["retransmitted_segments"]
    assert numbers(rows, "retransmitted_segments")[-1] == pytest.approx(sent_again, rel=0.05)
    cwnd = max(sample["cwnd_segments"] for sample in samples)
    assert max(numbers(settled, "cwnd_segments")) == pytest.approx(cwnd, rel=0.02)
    rtt_ms = max(sample["rtt_ms"] for sample in samples)
    assert max(numbers(settled, "rtt_ns")) / 1e6 == pytest.approx(rtt_ms, rel=0.02)
