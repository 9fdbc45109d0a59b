"""Writes a trial with a segment log of any length, from a seed, for measuring what reads it.

    python -m lab.bench.synthetic_log --rows 10000000 FOLDER

One bulk transfer from near to far (`lab.bench.synthetic_flow`). Columns and types are those of
`schemas/tables.json`; rows are in order of time per CPU and not overall, as an agent writes them.
"""

import argparse
import json
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from lab.bench.synthetic_flow import (
    LOAD_NS,
    PREAMBLE_BYTES,
    START_NS,
    Connection,
    burst,
    closing,
    far_log,
    near_log,
    opening,
)

COLUMNS = [
    column["name"]
    for table in json.loads((Path(__file__).parents[2] / "schemas/tables.json").read_text())["tables"]
    if table["name"] == "segments"
    for column in table["columns"]
]
CHUNK_ROWS = 1_000_000
FAR_OFFSET_NS = 1_000_000_000
SAMPLE_NS = 100_000_000


@dataclass(frozen=True)
class Shape:
    """The shape to make: about `rows` in a log, of `connections` together, with super-segments or without."""

    rows: int
    connections: int = 1
    gso: bool = True
    hosts: Sequence[str] = ("near",)
    seed: int = 1995


def write(folder: Path, shape: Shape) -> None:
    """Writes `shape` to the new `folder`, a `trials/<trial>`; memory does not grow with the rows."""
    folder.mkdir(parents=True)
    rng = np.random.default_rng(shape.seed)
    numbers = rng.integers(0, 1 << 32, (shape.connections, 2), dtype=np.int64)
    flows = [Connection(index, int(own), int(peer)) for index, (own, peer) in enumerate(numbers)]
    rows = dict.fromkeys(shape.hosts, 0)
    with tempfile.TemporaryDirectory(dir=folder) as parts:
        for count, frames in enumerate(_chunks(shape, flows, rng)):
            for host, frame in frames.items():
                rows[host] += frame.height
                frame.write_parquet(f"{parts}/{host}-{count:05}.parquet")
        for host in shape.hosts:
            pl.scan_parquet(f"{parts}/{host}-*.parquet").sink_parquet(folder / f"segments.{host}.parquet")
    for host in ("near", "far"):
        for name, table in _small_tables(host, flows).items():
            table.write_parquet(folder / f"{name}.{host}.parquet")
    (folder / "manifest.json").write_text(json.dumps(_manifest(folder.name, rows), indent=1))


def _chunks(shape: Shape, flows: list[Connection], rng: np.random.Generator) -> Iterator[dict[str, pl.DataFrame]]:
    """The logs piece by piece, all connections together, each piece of a host in order of time per CPU."""

    def both(made: list[dict[str, Any]]) -> dict[str, pl.DataFrame]:
        logs: dict[str, list[pl.DataFrame]] = {}
        for flow, rows in zip(flows, made, strict=True):
            if "near" in shape.hosts:
                logs.setdefault("near", []).append(near_log(flow, rows, rng))
            if "far" in shape.hosts:
                logs.setdefault("far", []).append(far_log(flow, rows, rng, FAR_OFFSET_NS))
        return {host: _labeled(host, pl.concat(frames)) for host, frames in logs.items()}

    yield both([opening(flow) for flow in flows])
    for flow in flows:
        flow.at_ns = START_NS + LOAD_NS
    left = shape.rows
    while left > 0:
        made = [burst(flow, max(2, min(left, CHUNK_ROWS) // len(flows)), rng, gso=shape.gso) for flow in flows]
        left -= max(1, sum(rows["at"].size for rows in made))
        yield both(made)
    yield both([closing(flow) for flow in flows])


def _labeled(host: str, log: pl.DataFrame) -> pl.DataFrame:
    """The log of all connections in the record's columns."""
    role = "sender" if host == "near" else "receiver"
    labels = {name: pl.lit(word).cast(pl.Categorical) for name, word in (("host", host), ("role", role))}
    return log.sort("cpu", "segment_mono_ns").with_columns(**labels).select(COLUMNS)


def _small_tables(host: str, flows: list[Connection]) -> dict[str, pl.DataFrame]:
    """Tables `flows` and `intervals`, with the columns that the segment flow reads."""
    role = "sender" if host == "near" else "receiver"
    start = START_NS + LOAD_NS + (FAR_OFFSET_NS if host == "far" else 0)
    end = max(flow.at_ns for flow in flows) + (FAR_OFFSET_NS if host == "far" else 0)
    keys = [{"host": host, "connection": flow.number, "role": role} for flow in flows]
    moved = [
        {
            **key,
            "payload_bytes": flow.payload_bytes,
            "calls_count": flow.payload_bytes // 65536 + 1,
            "ended": "complete",
        }
        for key, flow in zip(keys, flows, strict=True)
    ]
    spans = [
        {**key, "interval": number, "phase": "measure", "start_mono_ns": at, "end_mono_ns": min(end, at + SAMPLE_NS)}
        for key in keys
        for number, at in enumerate(range(start, end, SAMPLE_NS))
    ]
    kinds = {"connection": pl.UInt32, "payload_bytes": pl.UInt64, "calls_count": pl.UInt64, "interval": pl.UInt32}
    kinds |= {"start_mono_ns": pl.UInt64, "end_mono_ns": pl.UInt64}
    tables = {
        "flows": pl.DataFrame(moved),
        "intervals": pl.DataFrame(spans).with_columns(payload_bytes=0, calls_count=0),
    }
    return {
        name: table.cast({column: kind for column, kind in kinds.items() if column in table.columns})
        for name, table in tables.items()
    }


def _manifest(trial: str, rows: dict[str, int]) -> dict[str, Any]:
    ends = {}
    for host, role, offset in (("near", "sender", 0), ("far", "receiver", FAR_OFFSET_NS)):
        level = "segments" if host in rows else "user"
        evidence: dict[str, Any] = {"asked": level, "got": level, "reason": None, "missing": [], "broken_off": None}
        counts = {"logged_events_count": rows.get(host, 0), "lost_events_count": [], "missed_runs_count": 0}
        clock = {"offset_ns": offset, "uncertainty_ns": 1000, "pairs": []}
        ends[host] = {"role": role, "clock": clock, "evidence": {**evidence, **counts}}
    return {
        "record_version": 1,
        "trial": trial,
        "cell": trial.rpartition("-")[2],
        "block": 1,
        "status": "complete",
        "testbed": "veth",
        "hosts": ends,
        "preamble_bytes": PREAMBLE_BYTES,
    }


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description="Writes a trial with a made-up segment log.")
    parser.add_argument("folder", type=Path, help="to make, such as log01-c0001")
    parser.add_argument("--rows", type=int, default=10_000_000, help="of each log (10000000)")
    parser.add_argument("--connections", type=int, default=1, help="together (1)")
    parser.add_argument("--no-gso", action="store_true", help="single segments only")
    parser.add_argument("--both", action="store_true", help="the far side's log too")
    parser.add_argument("--seed", type=int, default=1995, help="of everything (1995)")
    given = parser.parse_args()
    hosts = ("near", "far") if given.both else ("near",)
    write(given.folder, Shape(given.rows, given.connections, not given.no_gso, hosts, given.seed))


if __name__ == "__main__":
    main()
