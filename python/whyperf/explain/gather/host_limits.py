"""Limits of a host's load from outside its sockets, from the table `host_counters`.

Each row has a counter before and after the load. A record of an agent that did not write the table has none of it.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from whyperf.analyze.flow import FlowEnd, FlowTrial
from whyperf.explain.gather.interruptions import interruptions
from whyperf.explain.gather.table import read_columns
from whyperf.explain.host_limits import HostLimits, MemoryLimit, Queue, Quota

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
