"""The activity of an end's threads in and between their read and write calls."""

import polars as pl

from whyperf.analyze.flow import FlowEnd, FlowTrial
from whyperf.explain.gather.table import first, read_columns
from whyperf.explain.host_facts import Calls

_COLUMNS = (
    *("thread", "call", "start_mono_ns", "end_mono_ns", "moved_bytes", "outcome", "blocked_ns", "preempted_ns"),
    *("softirq_ns", "waited_before_ns", "runnable_before_ns", "softirq_before_ns"),
)
_SPENT = ("blocked_ns", "preempted_ns", "softirq_ns", "waited_before_ns", "runnable_before_ns", "softirq_before_ns")


def calls(trial: FlowTrial, end: FlowEnd) -> Calls:
    """Reads what the table `calls` has of the host; nothing where it has none."""
    table = read_columns(trial, "calls", end.host, _COLUMNS)
    if table is None:
        return Calls()
    rows = table.filter(pl.col("start_mono_ns").is_not_null()).with_columns(
        pl.col("start_mono_ns", "end_mono_ns", "moved_bytes").cast(pl.Int64),
        pl.col(*_SPENT).cast(pl.Int64).fill_null(0),
    )
    rows = _of_the_load(rows.sort("thread", "end_mono_ns"), trial, end)
    own = rows.filter(pl.col("call") == ("write" if end.role == "sender" else "read"))
    moved = own.filter(pl.col("moved_bytes") > 0)
    if moved.is_empty():
        return Calls()
    threads = rows.group_by("thread").agg(pl.col("end_mono_ns").max() - pl.col("start_mono_ns").min())
    life = max(1, int(threads["end_mono_ns"].sum()))
    in_call = pl.col("end_mono_ns") - pl.col("start_mono_ns") - pl.sum_horizontal("blocked_ns", "preempted_ns")
    between = (pl.col("start_mono_ns") - pl.col("end_mono_ns").shift(1).over("thread")) - pl.sum_horizontal(
        "waited_before_ns", "runnable_before_ns", "softirq_before_ns"
    )
    asleep = pl.col("waited_before_ns").sum() / life
    slept = (pl.col("blocked_ns") + pl.col("waited_before_ns")) > 0
    return Calls(
        count=moved.height,
        bytes_mean=first(moved, pl.col("moved_bytes").mean()),
        ns_mean=first(moved, in_call.mean()),
        in_call_ratio=first(rows, in_call.clip(0).sum() / life),
        asleep_ratio=first(own, asleep),
        computing_ratio=first(rows, between.clip(0).sum() / life),
        runnable_ratio=first(rows, (pl.col("preempted_ns") + pl.col("runnable_before_ns")).sum() / life),
        in_softirqs_ratio=first(rows, pl.col("softirq_ns").sum() / life),
        wakeups_per_s=first(rows, slept.sum() * 1e9 / life),
    )


def _of_the_load(rows: pl.DataFrame, trial: FlowTrial, end: FlowEnd) -> pl.DataFrame:
    """Without the calls before the load began: token and welcome."""
    start = trial.zero_mono_ns + end.offset_ns
    return rows.filter(pl.col("end_mono_ns") >= start)
