"""How busy an end's CPUs were: threads, CPUs and softirqs over the load.

Thread times are exact (CLOCK_THREAD_CPUTIME_ID, schedstat), those of the CPUs are ticks, those of
softirqs tracepoints: where they differ, what is exact is believed.
"""

from dataclasses import dataclass

import polars as pl

from whyperf.analyze.flow import FlowEnd, FlowTrial
from whyperf.explain.gather.table import read_columns

_BUSY = ("user_ns", "system_ns", "irq_ns", "softirq_ns")
_WALL = (pl.col("end_mono_ns").cast(pl.Int64) - pl.col("start_mono_ns").cast(pl.Int64)).alias("wall_ns")
_SPAN = ("phase", "start_mono_ns", "end_mono_ns")

LEAST_TICKED_NS = 100_000_000
"""Ten ticks of the kernel's accounting: shorter times of CPUs say nothing."""


@dataclass(frozen=True)
class Processors:
    """Ratios of the measured phase; None where nothing tells. `own_softirq_ratio` is of the CPUs that the threads ran
    on."""

    thread_ratio: float | None = None
    run_queue_ratio: float | None = None
    busy_ratio: float | None = None
    softirq_ratio: float | None = None
    own_softirq_ratio: float | None = None
    other_ratio: float | None = None
    cpus: frozenset[int] = frozenset()


def processors(trial: FlowTrial, end: FlowEnd) -> Processors:
    """How busy the end's CPUs were while its load was measured."""
    threads = _threads(trial, end)
    softirqs = _softirqs(trial, end)
    used = frozenset() if threads is None else frozenset(threads["cpu"].to_list())
    busy, other = _cpus(trial, end, threads, softirqs)
    return Processors(
        thread_ratio=_highest(threads, "ratio"),
        run_queue_ratio=_highest(threads, "waited"),
        busy_ratio=busy,
        softirq_ratio=_highest(softirqs, "ratio"),
        own_softirq_ratio=None if softirqs is None else _highest(softirqs.filter(pl.col("cpu").is_in(used)), "ratio"),
        other_ratio=other,
        cpus=used,
    )


def _measured(frame: pl.DataFrame | None) -> pl.DataFrame | None:
    """Rows of the measured phase with their length; None without any."""
    if frame is None:
        return None
    rows = frame.filter(pl.col("phase") == "measure").with_columns(_WALL).filter(pl.col("wall_ns") > 0)
    return None if rows.is_empty() else rows


def _threads(trial: FlowTrial, end: FlowEnd) -> pl.DataFrame | None:
    """A row a thread: the CPU it was on last, `cpu_ns`, and its `ratio` running and `waited`."""
    rows = _measured(read_columns(trial, "threads", end.host, (*_SPAN, "thread", "cpu", "cpu_ns", "run_queue_ns")))
    if rows is None:
        return None
    sums = pl.col("cpu_ns", "run_queue_ns", "wall_ns").cast(pl.Int64).sum()
    return (
        rows.group_by("thread")
        .agg(pl.col("cpu").mode().first(), sums)
        .with_columns(
            (pl.col("cpu_ns") / pl.col("wall_ns")).alias("ratio"),
            (pl.col("run_queue_ns") / pl.col("wall_ns")).alias("waited"),
        )
    )


def _softirqs(trial: FlowTrial, end: FlowEnd) -> pl.DataFrame | None:
    """A row a CPU: the `ratio` of the time that softirqs had."""
    rows = read_columns(trial, "softirqs", end.host, (*_SPAN, "cpu", "interval", "softirq_ns"))
    rows = _measured(rows)
    if rows is None:
        return None
    # A vector has a row of its own in an interval, of the interval's length.
    by_interval = rows.group_by("cpu", "interval").agg(pl.col("softirq_ns").cast(pl.Int64).sum())
    bounds = rows.select(pl.col("end_mono_ns").max().cast(pl.Int64) - pl.col("start_mono_ns").min().cast(pl.Int64))
    span = max(1, int(bounds.item()))
    return by_interval.group_by("cpu").agg(
        (pl.col("softirq_ns").sum() / span).alias("ratio"), pl.col("softirq_ns").sum()
    )


def _cpus(
    trial: FlowTrial, end: FlowEnd, threads: pl.DataFrame | None, softirqs: pl.DataFrame | None
) -> tuple[float | None, float | None]:
    """The busiest own CPU, and on the CPUs that the load ran on what others took, most."""
    rows = _measured(read_columns(trial, "cpu", end.host, (*_SPAN, "cpu", "own", *_BUSY)))
    if rows is None:
        return None, None
    busy = pl.sum_horizontal([pl.col(name).cast(pl.Int64) for name in _BUSY])
    cpus = (
        rows.with_columns(busy.alias("busy_ns"))
        .group_by("cpu")
        .agg(pl.col("own").any(), pl.col("busy_ns", "wall_ns").sum())
        .filter(pl.col("wall_ns") >= LEAST_TICKED_NS)
        .with_columns((pl.col("busy_ns") / pl.col("wall_ns")).clip(0, 1).alias("ratio"))
    )
    if cpus.is_empty():
        return None, None
    own = _highest(cpus.filter("own"), "ratio")
    if threads is None:
        return own, None
    load = threads.group_by("cpu").agg(pl.col("cpu_ns").sum())
    taken = cpus.join(load, on="cpu", how="inner")
    if softirqs is not None:
        taken = taken.join(softirqs.select("cpu", "softirq_ns"), on="cpu", how="left")
    else:
        taken = taken.with_columns(pl.lit(0).alias("softirq_ns"))
    rest = taken.with_columns(
        ((pl.col("busy_ns") - pl.col("cpu_ns") - pl.col("softirq_ns").fill_null(0)) / pl.col("wall_ns"))
        .clip(0, 1)
        .alias("rest")
    )
    return own, _highest(rest, "rest")


def _highest(frame: pl.DataFrame | None, column: str) -> float | None:
    if frame is None or frame.is_empty():
        return None
    value = frame[column].max()
    return None if value is None else min(1.0, float(value))  # type: ignore[arg-type]
