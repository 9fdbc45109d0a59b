"""QUIC's datagrams."""

from pathlib import Path
from typing import Any

import polars as pl
import pytest

from tests.e2e.experiments import measure
from tests.e2e.whyperf_command import whyperf

pytestmark = [pytest.mark.root, pytest.mark.usefixtures("ours")]


def test_datagrams_over_quic_are_counted_where_they_arrive(tmp_path: Path) -> None:
    # Less than the socket's buffer holds, so that a slow host loses none in flight.
    sent_bytes = 1400 * 1000
    levels: dict[str, Any] = {
        "workload": "udp-stream",
        "transport": "quic",
        "transfer_bytes": sent_bytes,
        "datagram_batch": 16,
    }
    record = measure(tmp_path, write_rate_bps=50_000_000, **levels)
    assert record.only.status == "complete", record.only.reason
    rows = record.table("datagrams").group_by("host").agg(pl.col("sent_count", "received_count", "late_count").sum())
    near, far = rows.filter(host="near").to_dicts()[0], rows.filter(host="far").to_dicts()[0]
    assert near["sent_count"] == 1000
    assert 0 < far["received_count"] <= near["sent_count"]
    info = record.table("transport_info").filter("final")
    assert info["transport"].to_list() == ["quic", "quic"]
    # At most what QUIC takes for lost did not arrive.
    lost = info.sort("host")["lost_packets"].to_list()[1]
    assert near["sent_count"] - far["received_count"] <= lost


def test_a_datagram_that_is_too_long_for_quic_is_named(tmp_path: Path) -> None:
    done = whyperf(
        *("run", "udp-stream", "--set", "transport=quic", "--set", "datagram_size_bytes=1472", "--trials", "1"),
        folder=tmp_path,
    )
    assert done.status != 0
    assert "datagram_bytes is 1472; a datagram of QUIC has room for" in done.out + done.err
