"""The application's calls on one connection, and what its thread did between them.

Of the time between two calls on a connection the table shows exactly what came after the thread's own last call:
so long it slept, so long it was runnable. Before that the thread served other connections, or slept between them.
"""

from dataclasses import dataclass

import numpy as np
import polars as pl

from whyperf.analyze.flow import FlowTrial
from whyperf.analyze.flow.trial import reported_unreadable
from whyperf.explain.segment_log import Bools, Ints, slices_of

_OPTIONAL = (
    *("blocked_ns", "preempted_ns", "softirq_ns", "waited_before_ns", "runnable_before_ns"),
    *("softirq_before_ns", "moved_bytes"),
)


@dataclass(frozen=True)
class Calls:
    """Calls of one kind on one connection, by time, shape (n,) each; no two overlap.

    Of a call: `blocked` of it asleep, `preempted` runnable, `softirq` under softirqs (ns). Before it: from `slept_to`
    back to the call before, the thread slept; from there to `served_to` it served other connections; from `woken` to
    the start it was runnable. `rested` is whether it slept at all between the two calls.
    """

    start: Ints
    end: Ints
    moved: Ints
    would_block: Bools
    blocked: Ints
    preempted: Ints
    softirq: Ints
    slept_to: Ints
    served_to: Ints
    woken: Ints
    rested: Bools


def read_calls_of(trial: FlowTrial, host: str, call: str) -> dict[int, Calls] | None:
    """The calls of kind `call` (write or read) of each connection at `host`; None when they were not logged.

    Raises:
        RecordError: the file cannot be read.
    """
    source = trial.table("calls", host)
    if source is None:
        return None
    shift = trial.zero_mono_ns + trial.ends[host].offset_ns
    with reported_unreadable(source.path):
        found = source.rows
        there = found.collect_schema().names()
        end = pl.col("end_mono_ns").cast(pl.Int64) - shift
        start = (pl.col("start_mono_ns").cast(pl.Int64) - shift).fill_null(end)
        counts = [
            (pl.col(name).cast(pl.Int64).fill_null(0) if name in there else pl.lit(0, pl.Int64)).alias(name)
            for name in _OPTIONAL
        ]
        thread = pl.col("thread").cast(pl.Int64) if "thread" in there else pl.col("connection").cast(pl.Int64)
        table = found.select(
            "connection",
            thread.alias("thread"),
            (pl.col("call").cast(pl.String) == call).alias("is_wanted"),
            pl.min_horizontal(start, end).alias("start"),
            end.alias("end"),
            (pl.col("outcome").cast(pl.String) == "would_block").alias("would_block"),
            *counts,
        ).collect()
    wanted = with_thread(table).filter("is_wanted").sort("connection", "end", maintain_order=True)
    return {connection: calls_from(wanted[rows]) for connection, rows in slices_of(wanted["connection"].to_numpy())}


def with_thread(table: pl.DataFrame) -> pl.DataFrame:
    """Adds what the thread did: `thread_end` of its call before, and `asleep`, its sleep so far, this call's too."""
    slept = pl.col("blocked_ns") + pl.col("waited_before_ns")
    return table.sort("thread", "end").with_columns(
        pl.col("end").shift(1).over("thread").alias("thread_end"), slept.cum_sum().over("thread").alias("asleep")
    )


def calls_from(table: pl.DataFrame) -> Calls:
    """The calls of one connection, `table` being of `with_thread` and in the order of their ends."""
    column = {name: table[name].to_numpy() for name in table.columns if name not in {"is_wanted", "thread_end"}}
    end = column["end"]
    before = _shifted(end, column["start"])
    # Two threads may call at once on one connection; the later call then begins where the earlier one ended.
    start = np.clip(column["start"], before, end)
    length = end - start
    blocked = np.minimum(column["blocked_ns"], length)
    preempted = np.minimum(column["preempted_ns"], length - blocked)
    softirq = np.minimum(column["softirq_ns"], length - blocked - preempted)
    served_to = np.clip(table["thread_end"].fill_null(0).to_numpy(), before, start)
    slept = column["asleep"] - column["blocked_ns"] - column["waited_before_ns"] - _shifted(column["asleep"], None)
    same_thread = _shifted(column["thread"], column["thread"]) == column["thread"]
    slept_to = np.where(same_thread, np.clip(before + slept, before, served_to), served_to)
    return Calls(
        start=start,
        end=end,
        moved=column["moved_bytes"],
        would_block=column["would_block"],
        blocked=blocked,
        preempted=preempted,
        softirq=softirq,
        slept_to=slept_to,
        served_to=served_to,
        woken=np.clip(start - column["runnable_before_ns"], served_to, start),
        rested=(slept_to > before) | (column["waited_before_ns"] > 0) | ~same_thread,
    )


def _shifted(values: Ints, first: Ints | None) -> Ints:
    """Each row's value of the row before; of the first that of `first`, or its own."""
    if values.size == 0:
        return values
    return np.concatenate(((values if first is None else first)[:1], values[:-1]))
