"""What the machine looks like, so that a test can say that nothing was left on it.

Everything a test starts carries a mark in its environment, over ssh too, because the machine may be
measured by others at the same time.
"""

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

MARK = "WHYPERF_TEST_MARK"

#: How the names of namespaces begin that a test makes itself.
OF_A_TEST = "/whyperf-test-"

#: Settings that a measurement could change. Counters that move by themselves are left out.
SYSCTLS = ("net/core", "net/ipv4", "net/ipv6/conf/all", "net/ipv6/conf/default", "kernel/perf_event_paranoid")
MOVING = {"tcp_fastopen_key", "flush"}


@dataclass(frozen=True)
class Process:
    """A process, distinguished from a later one of the same id by its start in ticks since boot."""

    pid: int
    start_ticks: int
    name: str


def processes(mark: str) -> list[Process]:
    """Living processes that carry `mark`; the caller itself is not among them."""
    wanted = f"{MARK}={mark}".encode()
    marked = (pid for pid in _pids() if wanted in _environment(pid) and pid != os.getpid())
    return [process for process in map(_describe, marked) if process is not None]


def is_alive(process: Process) -> bool:
    """Whether that very process has not ended."""
    return _describe(process.pid) == process


def namespaces(of: list[Process]) -> set[str]:
    """Network namespaces that processes are in or hold open, other than the host's."""
    found: set[str] = set()
    for process in of:
        found |= _namespaces(process.pid)
    return found - {str(Path("/proc/self/ns/net").readlink())}


def holders(wanted: set[str], mark: str) -> list[Process]:
    """Processes in one of these namespaces, or holding one open.

    The kernel gives a freed namespace's number to the next one, so a process that shows an environment without our mark
    is somebody else's.
    """
    ours = f"{MARK}={mark}".encode()
    suspects = [pid for pid in _pids() if _namespaces(pid) & wanted]
    described = [_describe(pid) for pid in suspects if not (found := _environment(pid)) or ours in found]
    return [process for process in described if process is not None]


def mounted_namespaces() -> set[str]:
    """Network namespaces kept by a mount, without those that another test makes meanwhile."""
    lines = Path("/proc/self/mountinfo").read_text().splitlines()
    return {line for line in lines if " nsfs " in line and "net:[" in line and OF_A_TEST not in line}


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


def _environment(pid: int) -> list[bytes]:
    """A process's environment as it was started with; empty where it cannot be seen."""
    try:
        return [setting for setting in Path(f"/proc/{pid}/environ").read_bytes().split(b"\0") if setting]
    except OSError:
        return []


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
