"""The two namespaces in which every tool runs, and how a program gets inside."""

import contextlib
import subprocess
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

IPV4_SYSCTLS = Path("/proc/sys/net/ipv4")
LISTEN = "0A"
"""TCP_LISTEN in /proc/net/tcp."""
UNCONNECTED = "07"
"""TCP_CLOSE in /proc/net/udp: a socket that takes from anybody."""


@dataclass(frozen=True)
class End:
    """One end of the testbed."""

    host: str
    netns: str
    device: str
    address: str
    proc: Path
    """The /proc folder of a process that waits inside, through which its counters are read."""

    @property
    def namespace_inode(self) -> int:
        """Identifies the network namespace."""
        return (self.proc / "ns/net").stat().st_ino

    def inside(self, cpu: int, *command: str) -> list[str]:
        """The command line that runs a command in this namespace, on one CPU."""
        return ["nsenter", f"--net={self.netns}", "taskset", "--cpu-list", str(cpu), *command]

    def wait_for_listener(self, port: int, timeout_s: float = 5, protocol: str = "tcp") -> None:
        """Returns when something listens on a port here; of UDP, when a socket is bound to it.

        Raises:
            TimeoutError: nothing does in time.
        """
        deadline = time.monotonic() + timeout_s
        while not any(self._listens(port, table) for table in (protocol, f"{protocol}6")):
            if time.monotonic() > deadline:
                raise TimeoutError(f"nothing listens on port {port} in the {self.host} namespace")
            time.sleep(0.01)

    def _listens(self, port: int, table: str) -> bool:
        rows = (self.proc / "net" / table).read_text().splitlines()[1:]
        waiting = LISTEN if table.startswith("tcp") else UNCONNECTED
        return any(row.split()[1].endswith(f":{port:04X}") and row.split()[3] == waiting for row in rows)


@dataclass(frozen=True)
class Ends:
    """Both sides. The near one sends."""

    near: End
    far: End


@contextlib.contextmanager
def anchor(netns: str) -> Iterator[Path]:
    """Keeps a process inside a namespace and gives its /proc folder.

    The process reads from a pipe of ours, so it ends with us however we end.
    """
    command = ["nsenter", f"--net={netns}", "cat"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(b"\n")
        process.stdin.flush()
        process.stdout.read(1)
        yield Path("/proc") / str(process.pid)


def allowed_congestion_control(wanted: tuple[str, ...] = ("cubic", "reno")) -> str:
    """The first control of those wanted that the kernel lets be a namespace's default.

    nuttcp has no option for it, so it must come from the namespace, and there Linux takes only
    controls that unprivileged users may choose (tcp(7), tcp_allowed_congestion_control). reno is
    always one of them.
    """
    allowed = (IPV4_SYSCTLS / "tcp_allowed_congestion_control").read_text().split()
    return next(control for control in wanted if control in allowed)


def set_congestion_control(ends: Ends, control: str) -> None:
    """Makes a control the default of both namespaces.

    Raises:
        subprocess.CalledProcessError: the kernel refuses.
    """
    write = f"echo {control} > {IPV4_SYSCTLS / 'tcp_congestion_control'}"
    for end in (ends.near, ends.far):
        subprocess.run(["nsenter", f"--net={end.netns}", "sh", "-c", write], check=True)
