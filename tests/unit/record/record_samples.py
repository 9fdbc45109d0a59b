"""A small plan, manifests and tables to fill experiments with."""

import io
from functools import cache
from typing import Any

import polars as pl

from whyperf.plan import Plan, build
from whyperf.profile import parse
from whyperf.record import Experiment

PROFILE_TEXT = """
about = "A question."
[fixed]
transfer_bytes = 1048576
[design]
trials = 3
[[sweep]]
name = "one"
[sweep.factors]
window_bytes = [4096, 8192]
"""


def sample_plan(**options: Any) -> Plan:
    """Two cells, three trials each."""
    return build(parse(PROFILE_TEXT, name="sample", where="sample.toml"), **options)


def manifest(plan: Plan, trial: str, status: str = "complete") -> dict[str, Any]:
    """What the controller writes of a trial."""
    block, cell = trial.split("-")
    end = {
        "outcome": {"ended": "complete"},
        "payload_bytes": 1048576,
        "notes": [],
        "clock": {"offset_ns": -5, "uncertainty_ns": 20, "pairs": [{"mono_ns": 1, "realtime_ns": 2}]},
        "own_cpus": [0],
        "own_cpus_exclusive": True,
        "tsc_hz": None,
        "spec": {},
    }
    return {
        "record_version": 1,
        "trial": trial,
        "cell": cell,
        "block": int(block.removeprefix("log")),
        "status": status,
        "reason": None if status == "complete" else "the connection was reset",
        "origin": "host",
        "testbed": "veth",
        "started_realtime": "2026-01-01T00:00:00Z",
        "versions": {"controller": "0.1.0", "near": "0.1.0", "far": "0.1.0"},
        "factors": plan.cell(cell).factors,
        "hosts": {"near": {"role": "sender", **end}, "far": {"role": "receiver", **end}},
        "warnings": [],
    }


@cache
def table(host: str, rows: int = 3) -> bytes:
    """A Parquet file such as an agent sends. Made once: polars cannot be used in a forked process."""
    frame = pl.DataFrame(
        {"host": [host] * rows, "interval": range(rows), "payload_bytes": [1000] * rows},
        schema={"host": pl.String, "interval": pl.UInt32, "payload_bytes": pl.UInt64},
    )
    buffer = io.BytesIO()
    frame.write_parquet(buffer)
    return buffer.getvalue()


def record(experiment: Experiment, trial: str, status: str = "complete") -> None:
    """Writes one trial as the controller does."""
    with experiment.begin_trial(trial) as writer:
        for host in ("near", "far"):
            with writer.open_table("intervals", host) as file:
                file.write(table(host))
        writer.commit(manifest(experiment.plan, trial, status))
