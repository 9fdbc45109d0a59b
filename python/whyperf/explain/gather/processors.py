"""Use of an end's CPUs: threads, CPUs and softirqs over the load.

Thread times are exact (CLOCK_THREAD_CPUTIME_ID, schedstat), those of the CPUs are ticks, those of
softirqs tracepoints: where they differ, what is exact is believed.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import polars as pl

from whyperf.analyze.flow import FlowEnd, FlowTrial
from whyperf.explain.gather.table import read_columns
from whyperf.explain.host_facts import Processors

_BUSY = ("user_ns", "system_ns", "irq_ns", "softirq_ns")
_WALL = (pl.col("end_mono_ns").cast(pl.Int64) - pl.col("start_mono_ns").cast(pl.Int64)).alias("wall_ns")
_SPAN = ("phase", "start_mono_ns", "end_mono_ns")

MIN_TICKED_NS = 100_000_000
"""Ten ticks of the kernel's accounting: shorter times of CPUs say nothing."""


def processors(trial: FlowTrial, end: FlowEnd, *, one_machine: bool = False) -> Processors:
    """Use of the end's CPUs while its load was measured. The load of other sides is no other program: with
    `one_machine` its threads run on the same CPUs.
    """
    threads = _threads(trial, end)
    softirqs = _softirqs(trial, end)
    used = frozenset() if threads is None else frozenset(threads["cpu"].to_list())
    others = [other for other in trial.ends.values() if one_machine and other.host != end.host]
    peers = _by_cpu([found for other in others if (found := _threads(trial, other)) is not None])
    taken = _cpus(trial, end, threads, softirqs, peers)
    return Processors(
        thread_ratio=_highest(threads, "ratio"),
        run_queue_ratio=_highest(threads, "waited"),
        busy_ratio=taken.busy_ratio,
        softirq_ratio=_highest(softirqs, "ratio"),
        own_softirq_ratio=None if softirqs is None else _highest(softirqs.filter(pl.col("cpu").is_in(used)), "ratio"),
        router_ratio=max((trial.router_ratios.get(cpu, 0.0) for cpu in used), default=0.0),
        peer_ratio=max((peers.get(cpu, 0.0) for cpu in used), default=0.0),
        other_ratio=taken.other_ratio,
        steal_ratio=taken.steal_ratio,
        withheld_ratio=_withheld(threads, taken.own),
        own_user_ratio=taken.user_ratio,
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
        .agg(pl.col("cpu").mode().min(), sums)
        .with_columns(
            (pl.col("cpu_ns") / pl.col("wall_ns")).alias("ratio"),
            (pl.col("run_queue_ns") / pl.col("wall_ns")).alias("waited"),
        )
    )


def _by_cpu(threads: Sequence[pl.DataFrame]) -> dict[int, float]:
    """Sums what the threads of several ends had of each CPU."""
    if not threads:
        return {}
    return dict(pl.concat(threads).group_by("cpu").agg(pl.col("ratio").sum()).iter_rows())


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


@dataclass(frozen=True)
class _Cpus:
    """The busiest CPU of the end alone; of the CPUs that the load ran on, what others and the hypervisor took, most;
    `user_ratio` is what the load's threads had of one of them outside the kernel, most; `own` is a row for each of
    these: `cpu`, and the `known_ratio` that threads and softirqs of the load and the path's router had."""

    busy_ratio: float | None = None
    other_ratio: float | None = None
    steal_ratio: float | None = None
    own: pl.DataFrame | None = None
    user_ratio: float | None = None


def _cpus(
    trial: FlowTrial,
    end: FlowEnd,
    threads: pl.DataFrame | None,
    softirqs: pl.DataFrame | None,
    peers: Mapping[int, float],
) -> _Cpus:
    rows = _measured(read_columns(trial, "cpu", end.host, (*_SPAN, "cpu", "own", "steal_ns", *_BUSY)))
    if rows is None:
        return _Cpus()
    busy = pl.sum_horizontal([pl.col(name).cast(pl.Int64) for name in _BUSY])
    cpus = (
        rows.with_columns(busy.alias("busy_ns"), pl.col("steal_ns").cast(pl.Int64).fill_null(0))
        .group_by("cpu")
        .agg(
            pl.col("own").any(),
            pl.col("busy_ns", "steal_ns", "wall_ns").sum(),
            pl.col("user_ns", "system_ns").cast(pl.Int64).sum(),
        )
        .filter(pl.col("wall_ns") >= MIN_TICKED_NS)
        .with_columns((pl.col("busy_ns") / pl.col("wall_ns")).clip(0, 1).alias("ratio"))
    )
    if cpus.is_empty():
        return _Cpus()
    own = _highest(cpus.filter("own"), "ratio")
    if threads is None:
        return _Cpus(own)
    load = threads.group_by("cpu").agg(pl.col("cpu_ns").sum())
    taken = cpus.join(load, on="cpu", how="inner")
    if softirqs is not None:
        taken = taken.join(softirqs.select("cpu", "softirq_ns"), on="cpu", how="left")
    else:
        taken = taken.with_columns(pl.lit(0).alias("softirq_ns"))
    taken = taken.with_columns(
        (
            pl.col("cpu").replace_strict(trial.router_ratios, default=0.0, return_dtype=pl.Float64)
            + pl.col("cpu").replace_strict(peers, default=0.0, return_dtype=pl.Float64)
        ).alias("router")
    )
    used = pl.col("cpu_ns") + pl.col("softirq_ns").fill_null(0)
    # A thread's own clock may count the interrupts in it.
    others = pl.col("busy_ns") - pl.col("cpu_ns")
    taken = taken.with_columns(
        ((pl.col("busy_ns") - used) / pl.col("wall_ns") - pl.col("router")).clip(0, 1).alias("rest"),
        (pl.col("steal_ns") / pl.col("wall_ns")).clip(0, 1).alias("stolen"),
        (used / pl.col("wall_ns") + pl.col("router")).clip(0, 1).alias("known_ratio"),
        # What the load's threads cannot have had was another program's; all of that may be time outside the kernel.
        ((pl.col("user_ns") - others.clip(0)) / pl.col("wall_ns")).clip(0, 1).alias("own_user"),
    )
    return _Cpus(
        own,
        _highest(taken, "rest"),
        _highest(taken, "stolen"),
        taken.select("cpu", "known_ratio"),
        _highest(taken, "own_user"),
    )


def _withheld(threads: pl.DataFrame | None, own: pl.DataFrame | None) -> float | None:
    """Time that a thread waited for a CPU, at most as long as load and router left that CPU to others or idle."""
    if threads is None or own is None:
        return None
    rows = threads.join(own, on="cpu", how="inner")
    return _highest(rows.select(pl.min_horizontal("waited", 1 - pl.col("known_ratio")).alias("withheld")), "withheld")


def _highest(frame: pl.DataFrame | None, column: str) -> float | None:
    if frame is None or frame.is_empty():
        return None
    value = frame[column].max()
    return None if value is None else min(1.0, float(value))  # type: ignore[arg-type]
