"""The made-up log is what an agent would write, and the segment flow reads ten million rows of it in little memory."""

import json
import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest

from lab.bench.synthetic_log import Shape, write
from whyperf.analyze.flow import completeness, flow_facts, open_trial

ROOT = Path(__file__).parents[3]
POLARS = {"u32": pl.UInt32(), "u64": pl.UInt64(), "bool": pl.Boolean(), "text": pl.Categorical()}


def test_columns_and_types_are_the_records(tmp_path: Path) -> None:
    write(tmp_path / "log01-c0001", Shape(rows=1000))
    tables = json.loads((ROOT / "schemas/tables.json").read_text())["tables"]
    columns = next(table["columns"] for table in tables if table["name"] == "segments")
    schema = pl.scan_parquet(tmp_path / "log01-c0001" / "segments.near.parquet").collect_schema()
    assert dict(schema) == {column["name"]: POLARS[column["type"]] for column in columns}


@pytest.mark.parametrize(("connections", "gso"), [(1, True), (1, False), (5, True)])
def test_both_sides_logs_are_complete_and_show_the_same(tmp_path: Path, connections: int, gso: bool) -> None:
    write(tmp_path / "log01-c0001", Shape(20_000, connections, gso, hosts=("near", "far")))
    trial = open_trial(tmp_path / "log01-c0001")
    for host in ("near", "far"):
        found = completeness(trial, host)
        assert found is not None
        assert found.reason is None
    facts = flow_facts(trial, whole_life=True)
    for name in ("data_bytes", "data_segments", "data_packets", "acks_count", "segments_per_ack"):
        assert facts.get("sender", name).value == facts.get("receiver", name).value
    assert facts.get("sender", "segment_bytes_mean").value == pytest.approx(1448, rel=0.01)


READ = """
import resource, sys
from pathlib import Path
import whyperf.analyze.flow as flow

trial = flow.open_trial(Path(sys.argv[1]))
found = flow.completeness(trial, "near")
assert found.complete, found.reason
flow.flow_facts(trial, completenesses={"near": found, "far": None})
log = flow.scan_log(trial, "near")
flow.size_histogram(log, of="segments"), flow.ack_ratio(log, "sender"), flow.super_segments(log), flow.contexts(log)
payloads = flow.payload_sequence(flow.read_log(trial, "near", [0], flow.PAYLOAD_COLUMNS))
print(flow.find_payloads(payloads).words, file=sys.stderr)
flow.read_log(trial, "near", [0])
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
"""


@pytest.mark.slow
def test_ten_million_rows_take_less_than_a_gigabyte(tmp_path: Path) -> None:
    write(tmp_path / "log01-c0001", Shape(rows=10_000_000))
    done = subprocess.run(
        [sys.executable, "-c", READ, str(tmp_path / "log01-c0001")],
        check=True,
        capture_output=True,
        text=True,
        cwd=ROOT,
    )
    assert int(done.stdout) < 1_000_000, "KiB"
