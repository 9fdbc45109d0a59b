"""The round-trip probe next to a load."""

from pathlib import Path
from typing import Any

import pytest

from tests.e2e.experiments import measure, numbers
from whyperf.run import Kind

# A datagram that neighbors crowd out of a CPU's queue is never answered (netdev_max_backlog).
pytestmark = pytest.mark.paced

PERIOD_MS = 10
PHASES: dict[str, Any] = {"warmup_s": 0.1, "duration_s": 0.5, "cooldown_s": 0.1}


@pytest.mark.parametrize(("kind", "ip_version"), [(Kind.VETH, 6), (Kind.LOOPBACK, 4)])
def test_requests_leave_all_along_and_are_answered(tmp_path: Path, kind: Kind, ip_version: int) -> None:
    # Slow enough that no socket's buffer overflows.
    levels: dict[str, Any] = {"write_rate_bps": 10_000_000, "write_size_bytes": 8192, "congestion_control": "cubic"}
    record = measure(tmp_path, kind=kind, ip_version=ip_version, rtt_probe_ms=PERIOD_MS, **levels, **PHASES)
    rows = record.table("round_trips")
    assert rows["host"].unique().to_list() == ["near"]
    assert rows["probe"].to_list() == list(range(rows.height))
    # A busy machine may leave turns out, and takes none twice; it may end the load late, and goes on asking until then.
    probes = sum(PHASES.values()) * 1000 / PERIOD_MS
    sent_mono_ns = numbers(rows, "sent_mono_ns")
    most = max(probes, (max(sent_mono_ns) - min(sent_mono_ns)) / (PERIOD_MS * 1_000_000)) + 2
    assert probes / 4 <= rows.height <= most
    assert rows["rtt_ns"].null_count() == 0
    assert min(numbers(rows, "rtt_ns")) > 0
