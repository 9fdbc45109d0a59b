"""Network namespaces of our own, and programs of others in them that move bytes."""

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[3]
WHYPERF = (sys.executable, str(ROOT / "python/whyperf.data/scripts/whyperf"))
"""The command as it is installed, with this Python."""
LISTEN = "0A"
"""TCP_LISTEN in /proc/net/tcp."""
PATIENCE_S = 30.0
LOOPBACK = "127.0.0.1"


class PlaceError(Exception):
    """Something that the proof needs does not work here; the text says what."""


@dataclass(frozen=True)
class Namespace:
    """A network namespace, and a process that keeps it."""

    process: int

    @property
    def path(self) -> str:
        """Its file."""
        return f"/proc/{self.process}/ns/net"

    def inside(self, *command: str, cpu: int | None = None) -> list[str]:
        """A command line that runs in it, on one CPU if that is given."""
        pinned = () if cpu is None else ("taskset", "--cpu-list", str(cpu))
        return ["nsenter", f"--net={self.path}", "--", *pinned, *command]

    def loopback_bytes(self) -> int:
        """The bytes that the loopback device has delivered, headers included."""
        for line in Path(f"/proc/{self.process}/net/dev").read_text(encoding="ascii").splitlines():
            name, _, counters = line.partition(":")
            if name.strip() == "lo":
                return int(counters.split()[0])
        raise PlaceError("the namespace has no loopback device")

    def wait_for_listener(self, port: int) -> None:
        """Returns when something listens on the port.

        Raises:
            PlaceError: nothing does in time.
        """
        end = time.monotonic() + PATIENCE_S
        while not self._listens(port):
            if time.monotonic() > end:
                raise PlaceError(f"nothing listens on port {port} within {PATIENCE_S:.0f} s")
            time.sleep(0.01)

    def _listens(self, port: int) -> bool:
        tables = [Path(f"/proc/{self.process}/net/{name}") for name in ("tcp", "tcp6")]
        rows = [line.split() for table in tables if table.exists() for line in table.read_text().splitlines()[1:]]
        return any(row[1].endswith(f":{port:04X}") and row[3] == LISTEN for row in rows)


@contextmanager
def own_namespace() -> Iterator[Namespace]:
    """A network namespace with its loopback; it ends with this process however that ends.

    Raises:
        PlaceError: it cannot be made.
    """
    command = ["unshare", "--net", "sh", "-c", "ip link set lo up && echo ready && exec cat"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as keeper:
        assert keeper.stdout is not None
        if keeper.stdout.readline() != "ready\n":
            raise PlaceError("a network namespace cannot be made; run this as root")
        yield Namespace(keeper.pid)


@contextmanager
def started(command: Sequence[str], **options: Any) -> Iterator["subprocess.Popen[str]"]:
    """A program that is killed at the end, if it still runs."""
    process = subprocess.Popen(command, text=True, **options)
    try:
        yield process
    finally:
        process.kill()
        process.wait()
        for stream in (process.stdin, process.stdout, process.stderr):
            if stream is not None:
                with suppress(BrokenPipeError):
                    stream.close()


QUIET = {"stdin": subprocess.DEVNULL, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}


@dataclass(frozen=True)
class Iperf3:
    """A transfer of iperf3 under way."""

    client: "subprocess.Popen[str]"
    said: Path

    def sent_bytes(self) -> float | None:
        """Ends it; what its client says to have sent in all. None where it does not say that."""
        self.client.terminate()
        self.client.wait(PATIENCE_S)
        with suppress(ValueError, KeyError, TypeError):
            return float(json.loads(self.said.read_text(encoding="utf-8"))["end"]["sum_sent"]["bytes"])
        return None


@contextmanager
def iperf3(place: Namespace, ports: Sequence[int], folder: Path, *options: str) -> Iterator[list[Iperf3]]:
    """A transfer of iperf3 over the loopback for each port, under way until the end.

    With two of them, each CPU has the client of one and the server of the other, and neither ever moves to another CPU:
    where they may, the rate differs by 8 % from one second to the next.

    Raises:
        PlaceError: one of them does not begin.
    """
    folder.mkdir(parents=True, exist_ok=True)
    cpus = sorted(os.sched_getaffinity(0))
    with ExitStack() as closing:
        for place_of, port in enumerate(ports, start=1):
            server = place.inside("iperf3", "-s", "-p", str(port), cpu=cpus[place_of % len(cpus)])
            closing.enter_context(started(server, **QUIET))
        running = []
        for place_of, port in enumerate(ports):
            place.wait_for_listener(port)
            said = folder / f"iperf3-{port}.json"
            output = closing.enter_context(said.open("w", encoding="utf-8"))
            command = ["iperf3", "-c", LOOPBACK, "-p", str(port), "-t", "86400", "--json", *options]
            inside = place.inside(*command, cpu=cpus[place_of % len(cpus)])
            client = closing.enter_context(started(inside, **QUIET | {"stdout": output.fileno()}))
            running.append(Iperf3(client, said))
        _await_load(place, running)
        yield running


def _await_load(place: Namespace, running: Sequence[Iperf3]) -> None:
    before, end = place.loopback_bytes(), time.monotonic() + PATIENCE_S
    while place.loopback_bytes() - before < 1 << 20:
        if any(each.client.poll() is not None for each in running) or time.monotonic() > end:
            raise PlaceError(f"iperf3 does not send: {running[0].said.read_text(encoding='utf-8')[-300:]}")
        time.sleep(0.02)


@dataclass(frozen=True)
class CpuTimes:
    """Times of all CPUs since boot, in ticks."""

    idle: int
    total: int

    @classmethod
    def now(cls) -> "CpuTimes":
        """From /proc/stat: user nice system idle iowait irq softirq steal."""
        values = [int(word) for word in Path("/proc/stat").read_text(encoding="ascii").split("\n")[0].split()[1:9]]
        return cls(values[3] + values[4], sum(values))

    def busy_since(self, before: "CpuTimes") -> float:
        """The share of the time since then in which they were not idle."""
        total = self.total - before.total
        return 1 - (self.idle - before.idle) / total if total else 0.0


def cpu_s(process: int) -> float:
    """CPU time of a process, in s (proc_pid_stat(5), utime and stime)."""
    fields = Path(f"/proc/{process}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
