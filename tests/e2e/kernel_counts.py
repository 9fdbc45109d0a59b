"""What the kernel counts in a network namespace of all its TCP connections, as nstat(8) shows it."""

import subprocess
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from tests.e2e.logs import HOSTS, Logs
from whyperf.run import Session

FILES = ("/proc/thread-self/net/netstat", "/proc/thread-self/net/snmp")


@dataclass(frozen=True)
class Counted:
    """Logs of a trial, and by how much the kernel's counts went up in it at each side."""

    logs: Logs
    added: Mapping[str, Mapping[str, int]]


def counts(netns: str) -> dict[str, int]:
    """Counts by name, such as TcpExtDelayedACKs."""
    argv = ["nsenter", f"--net={netns}", "cat", *FILES]
    lines = subprocess.run(argv, capture_output=True, text=True, check=True).stdout.splitlines()
    found = {}
    # A line of names and one of values, each behind the name of their group (proc_net(5)).
    for names, values in zip(lines[::2], lines[1::2], strict=True):
        group = names.partition(":")[0]
        for name, value in zip(names.split()[1:], values.split()[1:], strict=True):
            found[group + name] = int(value)
    return found


def counted(opened: Session, run: Callable[[], Logs]) -> Counted:
    """Makes a trial and looks at the counts before and after it; the testbed must be up."""
    before = _both(opened)
    logs = run()
    after = _both(opened)
    return Counted(
        logs, {host: {name: after[host][name] - before[host][name] for name in after[host]} for host in HOSTS}
    )


def _both(opened: Session) -> dict[str, dict[str, int]]:
    assert opened.testbed is not None
    return {host: counts(opened.testbed["near" if host == "near" else "far"]["netns"]) for host in HOSTS}
