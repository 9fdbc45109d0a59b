"""The log of calls of one host: when its threads wrote and read, and what kept them from it."""

from collections.abc import Collection

import polars as pl

from whyperf.analyze.flow.trial import FlowTrial, reported_unreadable
from whyperf.record import code_words

CALLS, OUTCOMES = code_words("calls", "call"), code_words("calls", "outcome")

SPENT = (
    *("blocked_ns", "preempted_ns", "softirq_ns"),
    *("waited_before_ns", "runnable_before_ns", "softirq_before_ns"),
)
"""Durations of a call, and of its thread between its last call and this one; null where the start is."""


def read_calls(trial: FlowTrial, host: str, connections: Collection[int] | None = None) -> pl.DataFrame | None:
    """The calls of the end at `host` in the order of their ends; None where calls were not logged.

    Args:
        trial: whose.
        host: near or far.
        connections: numbers of those wanted; all when absent.

    Columns: `start_ns` and `end_ns` (Int64, ns after the start of the load, as `read_log` has them; `start_ns`
    is null of a thread that was not seen before), `connection`, `thread`, `call` (write, read), `moved_bytes`,
    `outcome` (done, would_block, failed), those of `SPENT` (Int64, ns) and `cpu`.

    Raises:
        RecordError: the file cannot be read.
    """
    source = trial.table("calls", host)
    if source is None:
        return None
    shift = trial.ends[host].offset_ns + trial.zero_mono_ns
    instants = [(pl.col(f"{which}_mono_ns").cast(pl.Int64) - shift).alias(f"{which}_ns") for which in ("start", "end")]
    with reported_unreadable(source.path):
        rows = source.rows
        if connections is not None:
            rows = rows.filter(pl.col("connection").is_in(list(connections)))
        columns = (
            *instants,
            pl.col("connection", "thread"),
            pl.col("call").cast(pl.Enum(list(CALLS))),
            pl.col("moved_bytes").cast(pl.Int64),
            pl.col("outcome").cast(pl.Enum(list(OUTCOMES))),
            pl.col(SPENT).cast(pl.Int64),
            pl.col("cpu"),
        )
        return rows.select(columns).sort("end_ns", maintain_order=True).collect()
