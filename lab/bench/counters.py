"""The kernel's counts of what a tool moved and used, read from outside and the same way for every tool."""

import os
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from lab.bench.namespaces import End, Ends

# Ethernet, IPv4 and TCP with time stamps (RFC 7323). A GSO packet counts once.
HEADER_BYTES = 14 + 20 + 32
TICK_NS = 1_000_000_000 // os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True)
class Reading:
    """Counters at one instant."""

    mono_ns: int
    payload_bytes: int
    """Received by the far device, without headers."""
    processes_ns: dict[str, int]
    """CPU time of each process inside the two namespaces, its ended threads included, and of each ksoftirqd."""
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

    def per_unit(self, time_ns: int, units_per_s: float) -> float:
        """A time per unit of what was done, in ns."""
        return time_ns / (units_per_s * self.seconds)


def read(ends: Ends) -> Reading:
    """Reads all counters."""
    inside = {end.namespace_inode for end in (ends.near, ends.far)}
    return Reading(
        mono_ns=time.monotonic_ns(),
        payload_bytes=received_bytes(ends.far),
        processes_ns={str(process): cpu_ns(process) for process in processes_of(inside)},
        idle_ns=idle_ns(),
        retransmitted_segments=retransmitted_segments(ends.near) + retransmitted_segments(ends.far),
    )


def used(before: Reading, after: Reading) -> Used:
    """Computes what happened between two readings.

    Raises:
        LookupError: a process that had used CPU time is gone, and what it used since cannot be known.
    """
    gone = [
        process for process, used_ns in before.processes_ns.items() if used_ns and process not in after.processes_ns
    ]
    if gone:
        raise LookupError(f"the process {gone[0]} ended before its CPU time was read")
    wall_ns = after.mono_ns - before.mono_ns
    cpus = os.cpu_count() or 1
    return Used(
        seconds=wall_ns / 1e9,
        payload_bytes=after.payload_bytes - before.payload_bytes,
        tasks_ns=sum(used_ns - before.processes_ns.get(process, 0) for process, used_ns in after.processes_ns.items()),
        busy_ns=max(0, wall_ns * cpus - (after.idle_ns - before.idle_ns)),
        retransmitted_segments=after.retransmitted_segments - before.retransmitted_segments,
    )


def received_bytes(end: End) -> int:
    """Payload that arrived at an end's device since it was made, as if all packets were TCP's."""
    count_bytes, packets = received(end)
    return count_bytes - packets * HEADER_BYTES


def received(end: End) -> tuple[int, int]:
    """Bytes, headers included, and packets that arrived at an end's device since it was made."""
    for line in (end.proc / "net/dev").read_text().splitlines():
        name, _, counts = line.partition(":")
        if name.strip() == end.device:
            count_bytes, packets = (int(word) for word in counts.split()[:2])
            return count_bytes, packets
    raise LookupError(f"there is no device {end.device} in the {end.host} namespace")


def retransmitted_segments(end: End) -> int:
    """Segments that an end's namespace sent again."""
    names, values = (
        line.split() for line in (end.proc / "net/snmp").read_text().splitlines() if line.startswith("Tcp:")
    )
    return int(values[names.index("RetransSegs")])


def processes_of(namespaces: set[int]) -> Iterator[Path]:
    """Every process with a task inside one of the network namespaces, and every ksoftirqd."""
    for process in Path("/proc").iterdir():
        if not process.name.isdecimal():
            continue
        try:
            is_ksoftirqd = (process / "comm").read_text().startswith("ksoftirqd/")
            if is_ksoftirqd or any(_is_inside(task, namespaces) for task in (process / "task").iterdir()):
                yield process
        except (FileNotFoundError, ProcessLookupError, PermissionError):
            continue


def _is_inside(task: Path, namespaces: set[int]) -> bool:
    try:
        return (task / "ns/net").stat().st_ino in namespaces
    except (FileNotFoundError, ProcessLookupError):
        return False


def cpu_ns(process: Path) -> int:
    """CPU time of a process, soft interrupts on top of it included, to a tick; 0 when it is gone.

    The threads that ended are in it: iperf 2 ends some of its own while it measures.
    """
    try:
        fields = (process / "stat").read_text().rpartition(")")[2].split()
    except (FileNotFoundError, ProcessLookupError):
        return 0
    # utime and stime, fields 14 and 15 of proc_pid_stat(5).
    return (int(fields[11]) + int(fields[12])) * TICK_NS


def idle_ns() -> int:
    """Idle time of all CPUs since boot, waiting for I/O included. Good to a tick."""
    columns = Path("/proc/stat").read_text().split(maxsplit=11)
    return (int(columns[4]) + int(columns[5])) * TICK_NS
