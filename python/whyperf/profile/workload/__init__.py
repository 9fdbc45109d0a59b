"""The behavior of an application, as data: the workload language, read from TOML and resolved for a cell.

A workload has groups of virtual users; a group has transactions, a transaction has steps. Values may refer to
factors, so that one workload serves many cells. What it becomes for a cell is the JSON of
`crates/schema/src/workload.rs`.
"""

from whyperf.profile.workload.checked import load_workload, looks_like_workload, read_workload
from whyperf.profile.workload.resolved import (
    METRICS,
    STREAM,
    STREAM_RECEIVE,
    Workload,
    has_exchange,
    least_seconds,
    near_receives,
    ready,
)
from whyperf.profile.workload.shipped import shipped_workload, shipped_workload_names, shipped_workloads_folder
from whyperf.profile.workload.tables import Metric

__all__ = [
    "METRICS",
    "STREAM",
    "STREAM_RECEIVE",
    "Metric",
    "Workload",
    "has_exchange",
    "least_seconds",
    "load_workload",
    "looks_like_workload",
    "near_receives",
    "read_workload",
    "ready",
    "shipped_workload",
    "shipped_workload_names",
    "shipped_workloads_folder",
]
