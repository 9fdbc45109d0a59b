"""What the kernel says a tool moved and used, read from outside and the same way for every tool."""

import os
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from bench.namespaces import End, Ends

# Ethernet, IPv4 and TCP with time stamps (RFC 7323). A GSO packet counts once.
HEADER_BYTES = 14 + 20 + 32
TICK_NS = 1_000_000_000 // os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True)
class Reading:
    """Counters at one instant."""

    mono_ns: int
    payload_bytes: int
    """Received by the far device, without headers."""
    tasks_ns: dict[str, int]
    """CPU time of each task inside the two namespaces, and of each ksoftirqd."""
    idle_ns: int
    """Idle time of all CPUs."""
    retransmitted_segments: int


@dataclass(frozen=True)
class Used:
    """The difference of two readings."""

    seconds: float
    payload_bytes: int
    tasks_ns: int
    busy_ns: int
    """Time in which a CPU of the machine was not idle, whoever used it."""
    retransmitted_segments: int

    @property
    def goodput_bps(self) -> float:
        """Payload over time, in bit/s."""
        return self.payload_bytes * 8 / self.seconds

    def per_kbyte(self, time_ns: int) -> float:
        """A time per 1024 bytes of payload, in ns."""
        return time_ns / (self.payload_bytes / 1024)


def read(ends: Ends) -> Reading:
    """Reads all counters."""
    inside = {end.namespace_inode for end in (ends.near, ends.far)}
    return Reading(
        mono_ns=time.monotonic_ns(),
        payload_bytes=received_bytes(ends.far),
        tasks_ns={str(task): schedstat_ns(task) for task in tasks_of(inside)},
        idle_ns=idle_ns(),
        retransmitted_segments=retransmitted_segments(ends.near) + retransmitted_segments(ends.far),
    )


def used(before: Reading, after: Reading) -> Used:
    """What happened between two readings.

    Raises:
        LookupError: a task that had used CPU time is gone, and what it used since cannot be known.
    """
    gone = [task for task, used_ns in before.tasks_ns.items() if used_ns and task not in after.tasks_ns]
    if gone:
        raise LookupError(f"the task {gone[0]} ended before its CPU time was read")
    wall_ns = after.mono_ns - before.mono_ns
    cpus = os.cpu_count() or 1
    return Used(
        seconds=wall_ns / 1e9,
        payload_bytes=after.payload_bytes - before.payload_bytes,
        tasks_ns=sum(used_ns - before.tasks_ns.get(task, 0) for task, used_ns in after.tasks_ns.items()),
        busy_ns=max(0, wall_ns * cpus - (after.idle_ns - before.idle_ns)),
        retransmitted_segments=after.retransmitted_segments - before.retransmitted_segments,
    )


def received_bytes(end: End) -> int:
    """Payload that arrived at an end's device since it was made."""
    for line in (end.proc / "net/dev").read_text().splitlines():
        name, _, counts = line.partition(":")
        if name.strip() == end.device:
            count_bytes, packets = (int(word) for word in counts.split()[:2])
            return count_bytes - packets * HEADER_BYTES
    raise LookupError(f"there is no device {end.device} in the {end.host} namespace")


def retransmitted_segments(end: End) -> int:
    """Segments that an end's namespace sent again."""
    names, values = (
        line.split() for line in (end.proc / "net/snmp").read_text().splitlines() if line.startswith("Tcp:")
    )
    return int(values[names.index("RetransSegs")])


def tasks_of(namespaces: set[int]) -> Iterator[Path]:
    """Every task inside one of the network namespaces, and every ksoftirqd."""
    for process in Path("/proc").iterdir():
        if not process.name.isdecimal():
            continue
        try:
            if (process / "comm").read_text().startswith("ksoftirqd/"):
                yield process
                continue
            for task in (process / "task").iterdir():
                if (task / "ns/net").stat().st_ino in namespaces:
                    yield task
        except (FileNotFoundError, ProcessLookupError, PermissionError):
            continue


def schedstat_ns(task: Path) -> int:
    """CPU time of a task, soft interrupts on top of it included; 0 when it is gone."""
    try:
        return int((task / "schedstat").read_text().split()[0])
    except (FileNotFoundError, ProcessLookupError):
        return 0


def idle_ns() -> int:
    """Idle time of all CPUs since boot, waiting for I/O included. Good to a tick."""
    words = Path("/proc/stat").read_text().split(maxsplit=11)
    return (int(words[4]) + int(words[5])) * TICK_NS
