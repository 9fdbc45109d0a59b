"""TLS through the whole of whyperf: streams and workloads, and what tshark reads on the wire."""

import shutil
import subprocess
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from tests.e2e import wire
from tests.e2e.experiments import Quiet, Record, measure, plan_of, session
from whyperf.run import Kind, run_plan

pytestmark = pytest.mark.usefixtures("ours")

#: A short measurement.
SHORT: dict[str, Any] = {"duration_s": 0.2, "warmup_s": 0.1, "cooldown_s": 0.1}
#: TLS_AES_256_GCM_SHA384, and the suite of TLS 1.2 for the same (RFC 8446 appendix B.4, RFC 5289).
SUITES = {"1.3": 0x1302, "1.2": 0xC02C}
#: Content type of payload (RFC 8446 section 5.1).
APPLICATION_DATA = 23
#: What a record adds to its payload: TLS 1.3 a type and a code (RFC 8446 section 5.2), TLS 1.2 a nonce and a code
#: (RFC 5288 section 3).
ADDED_BYTES = {"1.3": 17, "1.2": 24}


def complete(record: Record) -> Record:
    """The record, all of whose trials must have run to their end."""
    for manifest in record.trials.values():
        assert manifest.status == "complete", manifest.reason
    return record


LOADS: list[dict[str, Any]] = [
    {"workload": "rr", "connections": 3, "request_size_bytes": 100, "response_size_bytes": 70_000},
    {"workload": "rr", "io_model": "epoll", "connections": 2, "outstanding": 4},
    {"workload": "crr", "io_model": "epoll", "connections": 3, "request_size_bytes": 100, "response_size_bytes": 5000},
    {"workload": "bidirectional", "connections": 2, "write_size_bytes": 200_000},
    {"workload": "small-messages", "io_model": "epoll", "connections": 2, "write_size_bytes": 100},
    {"workload": "write-wait", "connections": 2},
]


@pytest.mark.parametrize("levels", LOADS, ids=str)
def test_workloads_run_over_it(tmp_path: Path, levels: dict[str, Any]) -> None:
    ciphers: dict[str, Any] = {"tls_cipher": ["aes-256-gcm", "chacha20-poly1305"]}
    record = complete(measure(tmp_path, kind=Kind.LOOPBACK, transport="tls", **levels, **ciphers, **SHORT))
    totals = record.table("transactions").group_by("host").agg(pl.col("transactions_count").sum()).sort("host")
    near, far = totals["transactions_count"].to_list()[::-1]
    assert near == far > 0
    rows = record.table("tls")
    assert set(rows["version"]) == {"1.3"}
    for trial, manifest in record.trials.items():
        (cipher,) = rows.filter(trial=trial)["cipher"].unique().to_list()
        assert cipher == record.factors(manifest.cell)["tls_cipher"]


@pytest.mark.paced
@pytest.mark.root
@pytest.mark.skipif(shutil.which("tcpdump") is None, reason="needs tcpdump, which make test installs")
@pytest.mark.skipif(shutil.which("tshark") is None, reason="needs tshark, which make test installs")
@pytest.mark.parametrize("version", ["1.2", "1.3"])
def test_the_wire_has_the_version_the_cipher_and_records_of_the_length_asked_for(tmp_path: Path, version: str) -> None:
    plan = plan_of(
        transport="tls",
        tls_version=version,
        tls_cipher="aes-256-gcm",
        tls_record_bytes=1000,
        write_size_bytes=2500,
        transfer_bytes=250_000,
    )
    capture_file = tmp_path / "capture.pcap"
    with session(tmp_path / "results", plan) as (opened, experiment):
        assert opened.testbed is not None
        far = opened.testbed["far"]
        with wire.capture(far["netns"], far["device"], capture_file, most_bytes=70_000):
            run_plan(opened, experiment, Quiet(), lambda _: None)
        record = complete(Record(experiment))
    address = record.table("flows").filter(host="far")["local_address"].item()
    port = int(address.rpartition(":")[2])
    (suite,) = fields(capture_file, port, "tls.handshake.type == 2", "tls.handshake.ciphersuite")
    assert int(suite, 16) == SUITES[version]
    # TLS 1.3 hides the type of what it encrypts, and writes this one (RFC 8446 section 5.2).
    column = {"1.3": "opaque_type", "1.2": "content_type"}[version]
    payload = f"tls.record.{column} == {APPLICATION_DATA} && tcp.dstport == {port}"
    records = fields(capture_file, port, payload, "tls.record.length")
    lengths = [int(length) - ADDED_BYTES[version] for length in records]
    # Each write makes records of its own: 1000, 1000 and 500.
    assert lengths.count(1000) == 200
    assert lengths.count(500) == 100


def fields(capture_file: Path, port: int, chosen: str, field: str) -> list[str]:
    """All values of a field of the packets that are chosen."""
    argv = ["tshark", "-n", "-r", str(capture_file), "-d", f"tcp.port=={port},tls", "-Y", chosen]
    argv += ["-T", "fields", "-E", "occurrence=a", "-E", "aggregator=,", "-e", field]
    text = subprocess.run(argv, capture_output=True, text=True, check=True, timeout=120).stdout
    return [value for line in text.splitlines() for value in line.split(",") if value]


def test_flows_over_tls_join_a_schedule_of_tcp(tmp_path: Path) -> None:
    levels: dict[str, Any] = {"schedule": "mixed", "schedule_scale": 0.005, "interval_ms": 50, "competitor": "tls"}
    record = complete(measure(tmp_path, kind=Kind.LOOPBACK, **levels))
    assert set(record.table("flows")["transport"]) == {"tcp", "tls"}
