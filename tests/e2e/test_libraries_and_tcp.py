"""UDT, QUIC and SRT through the whole of whyperf, next to TCP: every byte and its price; and QUIC's datagrams."""

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from tests.e2e.experiments import measure
from tests.e2e.whyperf_command import whyperf
from whyperf.run import list_offers

pytestmark = [pytest.mark.alone, pytest.mark.root, pytest.mark.usefixtures("ours")]

TRANSFER_BYTES = 5_000_003


def present(*names: str) -> list[str]:
    """Those of the transports that the agent has."""
    states = {offer["name"]: offer["state"] for offer in list_offers(None) if offer["kind"] == "transport"}
    return [name for name in names if states[name] != "refused"]


def test_the_same_bytes_arrive_and_their_price_stands_next_to_tcps(tmp_path: Path) -> None:
    transports = present("tcp", "udt", "quic", "srt")
    assert {"tcp", "quic"} <= set(transports)
    profile = tmp_path / "libraries.toml"
    profile.write_text(
        f'about = "Libraries."\n[fixed]\ntransfer_bytes = {TRANSFER_BYTES}\n[design]\ntrials = 1\n'
        f'[[sweep]]\nname = "all"\n[sweep.factors]\ntransport = {json.dumps(transports)}\n'
    )
    done = whyperf("run", profile, "--json", "--out", tmp_path / "results", folder=tmp_path)
    assert done.status == 0, done.err
    cells = json.loads(done.out)["cells"]
    assert [cell["factors"]["transport"] for cell in cells] == transports
    for cell in cells:
        assert cell["goodput_bps"]["median"] > 0
        for end in ("sender", "receiver"):
            assert cell["cycles_per_kbyte"][end] > 0, cell["factors"]
    flows = pl.concat(pl.read_parquet(table) for table in (tmp_path / "results").glob("trials/*/flows.*"))
    assert flows["payload_bytes"].to_list() == [TRANSFER_BYTES] * 2 * len(transports)
    assert set(flows["transport"]) == set(transports)


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
