"""Limits of a host's load from outside its sockets: control groups, queueing disciplines, counters of the kernel.

Plain figures for the limits, gathered by `gather/host_limits.py`; part of `trial_facts.HostFacts`. What is not known is
None, or empty.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Quota:
    """The CPU quota of a control group that the load is in.

    Attributes:
        group: path of the group, and `kind` the version of control groups.
        cpus: quota over period: how many CPUs it allows.
        throttled_ratio: of the periods in which the group wanted to run, those in which it used up its quota.
        stopped_ratio: how long it was kept from a CPU, of the time between the readings; summed over CPUs, so that it
            can be above 1.
    """

    group: str
    kind: str
    cpus: float
    throttled_ratio: float
    stopped_ratio: float


@dataclass(frozen=True)
class MemoryLimit:
    """The memory limit of a control group that the load is in.

    Attributes:
        group: path of the group, and `kind` the version of control groups.
        limit_bytes: the limit, or the one from which on memory is reclaimed; None without a limit.
        hits: how often the group met it during the load; page cache that is reclaimed counts as well.
        tcp_limit_bytes: the limit of its sockets alone; None without one.
        tcp_hits: how often its sockets met that.
        stalled_ratio: how long a thread of the group waited for memory.
    """

    group: str
    kind: str
    limit_bytes: int | None
    hits: int
    tcp_limit_bytes: int | None = None
    tcp_hits: int = 0
    stalled_ratio: float | None = None


@dataclass(frozen=True)
class Queue:
    """A queueing discipline of a device of the host.

    Attributes:
        device: its name, and `kind` that of the discipline.
        sent_packets: what it sent during the load, `dropped_packets` what it dropped.
        overlimits: how often it could not send at once.
        rate_bps: the rate that it allows, headers of the link included; None where it has none.
        limit_bytes: most bytes that wait in it.
    """

    device: str
    kind: str
    sent_packets: int
    dropped_packets: int = 0
    overlimits: int = 0
    rate_bps: float | None = None
    limit_bytes: int | None = None


@dataclass(frozen=True)
class Interruption:
    """The spans in which a side's load was kept from its work, all of one kind together.

    Attributes:
        kind: `paused`, the process did not run although it could have; `withheld`, its threads waited for a CPU.
        at_ns: when the longest began, from the start of the measured phase, and `longest_ns` how long it was.
        length_ns: how long all were; of pauses without the time in which the process ran.
        span_ratio: part of the measured phase of the intervals that hold them.
        waited_ratio: part of these intervals in which a thread waited for a CPU.
        other_ratio: part of the CPU that other programs had in these intervals.
        rate_ratio: the rate in these intervals over that of the others.
    """

    kind: str
    at_ns: int
    longest_ns: int
    length_ns: int
    span_ratio: float
    waited_ratio: float
    other_ratio: float
    rate_ratio: float

    @property
    def lost_ratio(self) -> float:
        """Part that the rate of the whole phase lost by them."""
        return self.span_ratio * max(0.0, 1 - self.rate_ratio)


HALF_DUPLEX = "half_duplex"
"""The part of `HostLimits.parts` that is a link of half duplex."""


@dataclass(frozen=True)
class HostLimits:
    """All of one host. All but interruptions is from the table `host_counters`, which older records do not have.

    Attributes:
        quota: the group that was kept from its CPUs for longest.
        memory: the group that met its limit most often.
        queues: of the devices that sent packets.
        interruptions: spans in which the load did not get to its work.
        parts: part of the time for which what a host of the model shares was busy: its bus, the processor on its
            adapter for what leaves and for what arrives, and of the sender a link of half duplex.
        adapters_count: adapters of a host of the model; 1 where nothing says otherwise.
        counts: what the kernel counted during the load, by the names of `nstat` and of the table.
        span_ns: between the two readings.
    """

    quota: Quota | None = None
    memory: MemoryLimit | None = None
    queues: tuple[Queue, ...] = ()
    interruptions: tuple[Interruption, ...] = ()
    parts: Mapping[str, float] = field(default_factory=dict)
    adapters_count: int = 1
    counts: Mapping[str, int] = field(default_factory=dict)
    span_ns: int = 0
