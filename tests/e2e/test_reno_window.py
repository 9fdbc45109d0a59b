"""Reno on an emulated path: in congestion avoidance its window grows until path and queue are full."""

from pathlib import Path
from typing import Any

import polars as pl
import pytest

from tests.e2e.experiments import measure, numbers

pytestmark = [pytest.mark.paced, pytest.mark.root, pytest.mark.usefixtures("ours")]

RATE_BPS, RTT_MS, QUEUE_PACKETS = 50_000_000, 10.0, 41
FRAME_BYTES = 1514
#: Congestion state in which nothing is missing.
OPEN = 0


def peaks(samples: pl.DataFrame) -> list[int]:
    """Windows in segments just before each decrease in congestion avoidance: without those of slow start, which
    overshoots by as much as a window before it hears of the first loss, and of the recovery after it."""
    windows, thresholds = numbers(samples, "cwnd_segments"), numbers(samples, "ssthresh_segments")
    is_open = [state == OPEN for state in numbers(samples, "ca_state")]
    in_avoidance = [
        window >= threshold and is_so for window, threshold, is_so in zip(windows, thresholds, is_open, strict=True)
    ]
    return [
        window
        for window, following, is_in in zip(windows, windows[1:], in_avoidance, strict=False)
        if is_in and following < window
    ]


def test_its_peak_window_is_what_path_and_queue_hold(tmp_path: Path) -> None:
    levels: dict[str, Any] = {"path_rtt_ms": RTT_MS, "path_rate_bps": RATE_BPS, "path_queue": f"{QUEUE_PACKETS}p"}
    # A window grows by one segment a round trip, which is 20 ms here: samples as often miss nothing.
    record = measure(tmp_path, **levels, congestion_control="reno", duration_s=2.5, warmup_s=0.0, interval_ms=10)
    samples = record.table("tcp_info").filter(pl.col("role") == "sender")
    held = RATE_BPS * RTT_MS / 8_000 / FRAME_BYTES + QUEUE_PACKETS
    found = peaks(samples)
    assert len(found) >= 2, found
    # A host that stalls lets a burst overflow the queue earlier, never later.
    assert max(found) == pytest.approx(held, rel=0.03), (found, held)
