"""What the machine looks like, so that a test can say that nothing was left on it.

Everything a test starts carries a mark in its environment, over ssh too, because the machine may be
measured by others at the same time.
"""

import os
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

MARK = "WHYPERF_TEST_MARK"

#: Settings that a measurement could change. Counters that move by themselves are left out.
SYSCTLS = ("net/core", "net/ipv4", "net/ipv6/conf/all", "net/ipv6/conf/default", "kernel/perf_event_paranoid")
MOVING = {"tcp_fastopen_key", "flush"}


@dataclass(frozen=True)
class Process:
    """A process, told from a later one of the same id by its start in ticks since boot."""

    pid: int
    start_ticks: int
    name: str


def processes(mark: str) -> list[Process]:
    """Living processes that carry `mark`; the caller itself is not among them."""
    wanted = f"{MARK}={mark}".encode()
    found = []
    for pid in _pids():
        try:
            environment = Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
        except OSError:
            continue
        process = _describe(pid) if wanted in environment and pid != os.getpid() else None
        if process is not None:
            found.append(process)
    return found


def is_alive(process: Process) -> bool:
    """Whether that very process has not ended."""
    return _describe(process.pid) == process


def namespaces(of: list[Process]) -> set[str]:
    """Network namespaces that processes are in or hold open, other than the host's."""
    found: set[str] = set()
    for process in of:
        found |= _namespaces(process.pid)
    return found - {str(Path("/proc/self/ns/net").readlink())}


def holders(wanted: set[str], started_before_ticks: int) -> list[Process]:
    """Processes in one of these namespaces, or holding one open.

    The kernel gives a freed namespace's number to the next one, so only processes from before count.
    """
    described = [_describe(pid) for pid in _pids() if _namespaces(pid) & wanted]
    return [process for process in described if process is not None and process.start_ticks < started_before_ticks]


def now_ticks() -> int:
    """The time in ticks since boot, as processes' starts are counted."""
    return int(time.clock_gettime(time.CLOCK_BOOTTIME) * os.sysconf("SC_CLK_TCK"))


def mounted_namespaces() -> set[str]:
    """Network namespaces kept by a mount."""
    lines = Path("/proc/self/mountinfo").read_text().splitlines()
    return {line for line in lines if " nsfs " in line and "net:[" in line}


def devices() -> set[str]:
    """Names of this namespace's network devices."""
    return {path.name for path in Path("/sys/class/net").iterdir()}


def sysctls() -> dict[str, str]:
    """Settings of the host's network."""
    found = {}
    for root in SYSCTLS:
        top = Path("/proc/sys") / root
        for path in [top] if top.is_file() else sorted(top.iterdir()):
            if path.name in MOVING or not path.is_file():
                continue
            try:
                found[str(path)] = path.read_text()
            except OSError:
                continue
    return found


def _pids() -> Iterator[int]:
    for entry in os.scandir("/proc"):
        if entry.name.isdigit():
            yield int(entry.name)


def _describe(pid: int) -> Process | None:
    """The process, or None where there is none or it only waits for its parent to notice its end."""
    try:
        text = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return None
    # The name may hold spaces and parentheses; the last parenthesis ends it (proc(5)).
    name, _, rest = text.partition("(")[2].rpartition(") ")
    fields = rest.split()
    return None if fields[0] in "ZX" else Process(pid, int(fields[19]), name)


def _namespaces(pid: int) -> set[str]:
    links = [f"/proc/{pid}/ns/net"]
    try:
        links += [entry.path for entry in os.scandir(f"/proc/{pid}/fd")]
    except OSError:
        return set()
    targets = set()
    for link in links:
        try:
            targets.add(str(Path(link).readlink()))
        except OSError:
            continue
    return {target for target in targets if target.startswith("net:[")}
