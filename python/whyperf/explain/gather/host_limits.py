"""Limits of a host's load from outside its sockets, and spans in which it was kept from its work.

Of the table `host_counters` each row has a counter before and after the load. A record of an agent that did not write
the table has none of it.

The sampler takes intervals of even length. It runs in the process of the load, so an interval that is much longer than
the others is one in which the process did not run. Whether its threads were ready to run meanwhile, schedstat shows.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import polars as pl

from whyperf.analyze.flow import FlowEnd, FlowTrial
from whyperf.explain.gather.read import read_columns
from whyperf.explain.host_facts import HostLimits, Interruption, MemoryLimit, Queue, Quota

MIN_PAUSE_NS = 100_000_000
"""A sampler that comes this much too late was not merely late: it runs before other threads, or at real-time priority.
"""
MAX_LATE_TIMES = 2.0
"""An interval more than so many times as long as the median one has a pause."""
WAITED_RATIO = 0.2
"""Share of an interval that a thread waits for a CPU, while the load does not use it, from which on it lacks one."""
MIN_PAUSED_PART = 0.75
"""Part of the time by which a sampler is late in which no thread of the load ran or wanted to."""
MAX_BEHIND_NS = 5_000_000
"""Longest time after the last interval until its sample of the threads is taken."""
MIN_STEPS, MIN_LOOKS = 8, 4
"""Fewer intervals have no usual length, and fewer looks at the threads no usual rate: pauses leave few of them."""
_SPAN = ("phase", "interval", "start_mono_ns", "end_mono_ns")
_STEP = ("start_mono_ns", "end_mono_ns", "waited", "other", "ran")
_TAKEN = ("user_ns", "system_ns")


@dataclass(frozen=True)
class _Step:
    """One look of the sampler at the threads, and what was moved in it."""

    start_ns: int
    end_ns: int
    waited_ratio: float
    other_ratio: float
    ran_ratio: float = 0.0
    late_ns: int = 0

    @property
    def length_ns(self) -> int:
        return self.end_ns - self.start_ns

    @property
    def is_pause(self) -> bool:
        """True where the process did not run: where threads ran on, or waited for a CPU, only the sampler was late."""
        idle = self.late_ns / self.length_ns
        return self.late_ns > 0 and self.ran_ratio + self.waited_ratio <= 1 - MIN_PAUSED_PART * idle


def interruptions(trial: FlowTrial, end: FlowEnd) -> tuple[Interruption, ...]:
    """The pauses of a side's process, and the spans in which its threads lacked a CPU, of each kind together.

    Raises:
        RecordError: a table cannot be read.
    """
    payload = _payload(trial, end)
    if payload is None or payload.height < MIN_STEPS:
        return ()
    steps = _steps(trial, end, payload)
    if len(steps) < MIN_LOOKS:
        return ()
    # The sampler of a watch runs in a process of its own: that it comes late says nothing of the watched one.
    paused = [] if trial.is_watched else [step for step in steps if step.is_pause]
    lacking = [step for step in steps if step.waited_ratio >= WAITED_RATIO]
    found = (_together("paused", paused, steps, payload), _together("withheld", lacking, steps, payload))
    return tuple(span for span in found if span is not None)


def _together(kind: str, chosen: list[_Step], steps: list[_Step], payload: pl.DataFrame) -> Interruption | None:
    """The steps of one kind as one; None without any, or where nothing is left to compare them with."""
    inside = sum(step.length_ns for step in chosen)
    outside = sum(step.length_ns for step in steps) - inside
    # A look that comes late holds the time before the pause, too.
    held = sum(step.late_ns for step in chosen) if kind == "paused" else inside
    if not chosen or not outside or inside + outside - held < held / 4:
        return None
    moved_inside = _moved(payload, chosen)
    moved_outside = _moved(payload, steps) - moved_inside
    if moved_outside <= 0:
        return None
    origin = steps[0].start_ns
    longest = max(chosen, key=lambda step: step.late_ns or step.length_ns)
    return Interruption(
        kind=kind,
        at_ns=longest.start_ns - origin,
        longest_ns=longest.late_ns or longest.length_ns,
        length_ns=held,
        span_ratio=inside / (inside + outside),
        waited_ratio=_mean(chosen, "waited_ratio"),
        other_ratio=_mean(chosen, "other_ratio"),
        rate_ratio=(moved_inside / inside) / (moved_outside / outside),
    )


def _mean(steps: list[_Step], name: str) -> float:
    """The mean over time."""
    return float(sum(getattr(step, name) * step.length_ns for step in steps) / sum(step.length_ns for step in steps))


def _payload(trial: FlowTrial, end: FlowEnd) -> pl.DataFrame | None:
    """Payload that all connections moved, an interval a row."""
    rows = read_columns(trial, "intervals", end.host, (*_SPAN, "payload_bytes"))
    if rows is None:
        return None
    measured = rows.filter(pl.col("phase") == "measure")
    if measured.is_empty():
        return None
    return (
        measured.group_by("interval")
        .agg(
            pl.col("start_mono_ns").cast(pl.Int64).min(),
            pl.col("end_mono_ns").cast(pl.Int64).max(),
            pl.col("payload_bytes").cast(pl.Int64).sum(),
        )
        .sort("interval")
    )


def _moved(payload: pl.DataFrame, steps: list[_Step]) -> float:
    """Payload that was moved in these steps, of intervals that one holds in part the share."""
    instants = np.array([payload["start_mono_ns"][0], *payload["end_mono_ns"]], float)
    until = np.cumsum([0, *payload["payload_bytes"]], dtype=float)
    bounds = np.array([(step.start_ns, step.end_ns) for step in steps], float)
    at = np.interp(bounds, instants, until)
    return float((at[:, 1] - at[:, 0]).sum())


def _steps(trial: FlowTrial, end: FlowEnd, payload: pl.DataFrame) -> list[_Step]:
    """Time that the threads waited in each interval in which they were looked at, and what others took of the CPUs."""
    threads = read_columns(trial, "threads", end.host, (*_SPAN, "cpu", "cpu_ns", "run_queue_ns"))
    if threads is None:
        return []
    threads = threads.filter(pl.col("phase") == "measure").with_columns(pl.col(pl.UInt64).cast(pl.Int64))
    wall = pl.col("end_mono_ns") - pl.col("start_mono_ns")
    # A thread that ended has one more row, of what it did after the last interval.
    last = int(payload["end_mono_ns"].max()) + MAX_BEHIND_NS  # type: ignore[arg-type]
    by_cpu = threads.filter(wall > 0, pl.col("end_mono_ns") <= last).with_columns(wall.alias("wall_ns"))
    if by_cpu.is_empty():
        return []
    own = by_cpu.group_by("interval", "cpu").agg((pl.col("cpu_ns").sum() / pl.col("wall_ns").max()).alias("own"))
    router = _router(trial)
    waits = by_cpu.join(own, on=("interval", "cpu")).with_columns(
        pl.min_horizontal(pl.col("run_queue_ns") / pl.col("wall_ns"), 1 - pl.col("own") - router)
        .clip(0, 1)
        .alias("waited"),
        (pl.col("cpu_ns") / pl.col("wall_ns")).clip(0, 1).alias("ran"),
    )
    whole = waits.group_by("interval").agg(
        pl.col("start_mono_ns").min(), pl.col("end_mono_ns").max(), pl.col("waited", "ran").max()
    )
    steps = whole.join(_others(trial, end, own), on="interval", how="left").sort("start_mono_ns")
    late = _late(payload)
    return [
        _Step(start, stop, waited, other or 0.0, ran, sum(ns for at, ns in late if start < at <= stop))
        for start, stop, waited, other, ran in steps.select(*_STEP).iter_rows()
    ]


def _late(payload: pl.DataFrame) -> list[tuple[int, int]]:
    """Intervals at whose end the sampler came much too late: an instant inside, and by how much."""
    length = pl.col("end_mono_ns") - pl.col("start_mono_ns")
    usual = round(float(payload.select(length.median()).item()))
    late = payload.filter(length - usual >= MIN_PAUSE_NS, length > MAX_LATE_TIMES * usual)
    within = (pl.col("start_mono_ns") + pl.col("end_mono_ns")) // 2
    return [(at, ns) for at, ns in late.select(within, (length - usual).alias("late")).iter_rows()]


def _router(trial: FlowTrial) -> pl.Expr:
    """Part of the CPU in the column `cpu` that the router of an emulated path used."""
    return pl.col("cpu").replace_strict(trial.router_ratios, default=0.0, return_dtype=pl.Float64)


def _others(trial: FlowTrial, end: FlowEnd, own: pl.DataFrame) -> pl.DataFrame:
    """Part of the CPU that the load ran on which neither threads nor softirqs took, an interval a row."""
    empty = pl.DataFrame({"interval": [], "other": []}, schema={"interval": pl.UInt32, "other": pl.Float64})
    cpus = read_columns(trial, "cpu", end.host, (*_SPAN, "cpu", *_TAKEN))
    if cpus is None:
        return empty
    taken = pl.sum_horizontal([pl.col(name) for name in _TAKEN])
    busy = (
        cpus.filter(pl.col("phase") == "measure")
        .with_columns(pl.col(pl.UInt64).cast(pl.Int64))
        .with_columns((pl.col("end_mono_ns") - pl.col("start_mono_ns")).alias("wall_ns"), taken.alias("taken_ns"))
        .filter(pl.col("wall_ns") > 0)
        .group_by("interval", "cpu")
        .agg((pl.col("taken_ns").sum() / pl.col("wall_ns").sum()).alias("taken"))
    )
    joined = busy.join(own, on=("interval", "cpu"))
    if joined.is_empty():
        return empty
    other = (pl.col("taken") - pl.col("own") - _router(trial)).clip(0, 1)
    return joined.group_by("interval").agg(other.max().alias("other"))


_COLUMNS = ("start_mono_ns", "end_mono_ns", "counter", "subject", "kind", "value_at_start", "value_at_end")
_QDISC = "qdisc_"
_CGROUP = "cgroup"
_MODEL = "model"


@dataclass(frozen=True)
class Counter:
    """One counter before and after the load; None where it was not there."""

    start: int | None
    end: int | None

    @property
    def counted(self) -> int:
        """Number counted meanwhile. A counter that was not there before starts at 0."""
        return max(0, (self.end or 0) - (self.start or 0)) if self.end is not None else 0

    @property
    def limit(self) -> int | None:
        """The smaller of two limits: one that was changed meanwhile held for a part of the time."""
        known = [value for value in (self.start, self.end) if value is not None]
        return min(known) if known else None


Group = tuple[str, str]
Counters = Mapping[str, Counter]


def host_limits(trial: FlowTrial, end: FlowEnd) -> HostLimits:
    """Reads what limited that host's load.

    Raises:
        RecordError: the table cannot be read.
    """
    rows = read_columns(trial, "host_counters", end.host, _COLUMNS)
    if rows is None or rows.is_empty():
        return HostLimits(interruptions=interruptions(trial, end))
    subjects: dict[Group, dict[str, Counter]] = {}
    span = 0
    for start, stop, counter, subject, kind, before, after in rows.iter_rows():
        span = max(span, int(stop) - int(start))
        if before is not None or after is not None:
            subjects.setdefault((subject, kind), {})[counter] = Counter(before, after)
    groups = {key: found for key, found in subjects.items() if key[1].startswith(_CGROUP)}
    return HostLimits(
        quota=_quota(groups, span),
        memory=_memory(groups, span),
        queues=tuple(queue for key, found in subjects.items() if (queue := _queue(key, found)) is not None),
        interruptions=interruptions(trial, end),
        parts=_parts(subjects, span),
        adapters_count=_limit(subjects.get(("host", _MODEL), {}), "adapters") or 1,
        counts={
            name: counter.counted
            for (subject, _), found in subjects.items()
            if not subject
            for name, counter in found.items()
        },
        span_ns=span,
    )


_PARTS = {"bus_busy": "bus", "adapter_send_busy": "send_processor", "adapter_receive_busy": "receive_processor"}


def _parts(subjects: Mapping[Group, Counters], span: int) -> dict[str, float]:
    """Busy parts of the whole load, for each part of a host of the model."""
    counted = {
        name: counter.counted
        for (_, kind), found in subjects.items()
        if kind == _MODEL
        for name, counter in found.items()
    }
    return {part: counted[name] / span for name, part in _PARTS.items() if span and name in counted}


def _quota(groups: Mapping[Group, Counters], span: int) -> Quota | None:
    """Of the groups with a quota the one that was kept from its CPUs for longest, then the tightest."""
    found = [quota for key, counters in groups.items() if (quota := _quota_of(key, counters, span)) is not None]
    return max(found, key=lambda quota: (quota.stopped_ratio, -quota.cpus), default=None)


def _quota_of(key: Group, counters: Counters, span: int) -> Quota | None:
    quota, period = _limit(counters, "cpu_quota"), _limit(counters, "cpu_period")
    if not quota or not period or not span:
        return None
    periods = _counted(counters, "cpu_periods")
    return Quota(
        group=key[0],
        kind=key[1],
        cpus=quota / period,
        throttled_ratio=min(1.0, _counted(counters, "cpu_throttled_periods") / periods) if periods else 0.0,
        stopped_ratio=_counted(counters, "cpu_throttled") / span,
    )


def _memory(groups: Mapping[Group, Counters], span: int) -> MemoryLimit | None:
    """Of the groups that met a limit, or limit their sockets, the one that met it most often."""
    found = [memory for key, counters in groups.items() if (memory := _memory_of(key, counters, span)) is not None]
    return max(found, key=lambda memory: (memory.tcp_hits, memory.hits), default=None)


def _memory_of(key: Group, counters: Counters, span: int) -> MemoryLimit | None:
    hits, tcp_hits = sum(_counted(counters, name) for name in _HITS), _counted(counters, "tcp_memory_limit_hits")
    of_sockets = _limit(counters, "tcp_memory_limit")
    if not hits and not tcp_hits and of_sockets is None:
        return None
    limits = [limit for name in _LIMITS if (limit := _limit(counters, name)) is not None]
    stalled = _counted(counters, "memory_stalled") / span if span and "memory_stalled" in counters else None
    return MemoryLimit(key[0], key[1], min(limits, default=None), hits, of_sockets, tcp_hits, stalled)


_HITS = ("memory_limit_hits", "memory_high_hits")
_LIMITS = ("memory_limit", "memory_high")


def _queue(key: Group, counters: Counters) -> Queue | None:
    """A queueing discipline that sent packets during the load."""
    sent, dropped = _counted(counters, f"{_QDISC}sent"), _counted(counters, f"{_QDISC}dropped")
    if not sent and not dropped:
        return None
    rate = _limit(counters, f"{_QDISC}rate")
    return Queue(
        device=key[0],
        kind=key[1],
        sent_packets=sent,
        dropped_packets=dropped,
        overlimits=_counted(counters, f"{_QDISC}overlimits"),
        rate_bps=None if rate is None else float(rate),
        limit_bytes=_limit(counters, f"{_QDISC}limit"),
    )


def _counted(counters: Counters, name: str) -> int:
    return counters[name].counted if name in counters else 0


def _limit(counters: Counters, name: str) -> int | None:
    return counters[name].limit if name in counters else None
