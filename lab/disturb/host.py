"""Actions on a side's processes: its CPUs, its share of them, its memory, and pauses."""

import fcntl
import os
import signal
from contextlib import suppress
from pathlib import Path

from lab.disturb.programs import BURN, Programs
from whyperf.disturb.action import DisturbError, Item, Places

CGROUPS = Path("/sys/fs/cgroup")

REALTIME_US = 100_000
"""Time of each second for the realtime threads of an agent, which wait for a timer and hardly run."""


class Burning:
    """Programs that only compute."""

    def __init__(self, item: Item, places: Places) -> None:
        """Of a `Burn`."""
        self._cpus = list(places[item["host"]]["cpus"]) * int(item["programs"])
        self._programs = Programs()

    def start(self) -> None:
        """Start the programs."""
        for cpu in self._cpus:
            self._programs.start(BURN, cpu)

    def stop(self) -> None:
        """End them."""
        self._programs.end()


class LimitedGroup:
    """A control group (version 1) for a side's agent alone: it enters with a limit, and leaves for where it was.

    It is locked while this process lives (flock(2)). One that nobody locks is removed by the next run and by
    `whyperf doctor --clean` (crates/path/src/leftovers/control_groups.rs).
    """

    def __init__(self, controller: str, process: int, limits: dict[str, int]) -> None:
        """`limits` are the values of the group's files."""
        self._controller = controller
        self._process = process
        self._limits = limits
        self._group: Path | None = None
        self._origin: Path | None = None
        self._lock = -1

    def start(self) -> None:
        """Make the group, and move the agent into it."""
        root = CGROUPS / self._controller
        if not (root / "cgroup.procs").exists():
            raise DisturbError(f"there is no {self._controller} controller of control groups version 1 in {root}")
        origin = root / self._where().lstrip("/")
        group = origin / f"whyperf-disturb-{os.getpid()}"
        try:
            group.mkdir()
            self._group, self._origin = group, origin
            self._lock = os.open(group, os.O_RDONLY | os.O_DIRECTORY)
            fcntl.flock(self._lock, fcntl.LOCK_EX)
            for name, value in self._limits.items():
                (group / name).write_text(str(value))
            self._let_realtime_threads_in(group)
            (group / "cgroup.procs").write_text(str(self._process))
        except OSError as error:
            self.stop()
            raise DisturbError(f"{group}: {error.strerror}") from None

    def stop(self) -> None:
        """Move everything in the group back, and remove it."""
        if self._group is None or self._origin is None:
            return
        for process in (self._group / "cgroup.procs").read_text().split():
            # It may have ended since.
            with suppress(OSError):
                (self._origin / "cgroup.procs").write_text(process)
        self._group.rmdir()
        os.close(self._lock)
        self._group = None

    @staticmethod
    def _let_realtime_threads_in(group: Path) -> None:
        """A group without a realtime budget takes no process with a realtime thread (`CONFIG_RT_GROUP_SCHED`)."""
        budget = group / "cpu.rt_runtime_us"
        if budget.exists():
            budget.write_text(str(REALTIME_US))

    def _where(self) -> str:
        for line in Path(f"/proc/{self._process}/cgroup").read_text().splitlines():
            _, controllers, path = line.split(":", 2)
            if self._controller in controllers.split(","):
                return path
        return "/"


def cpu_quota(item: Item, places: Places) -> LimitedGroup:
    """The group of a `CpuQuota`."""
    period_us = int(item["period_ms"]) * 1000
    limits = {"cpu.cfs_period_us": period_us, "cpu.cfs_quota_us": round(period_us * item["cpus"])}
    return LimitedGroup("cpu", places[item["host"]]["process"], limits)


def memory_limit(item: Item, places: Places) -> LimitedGroup:
    """The group of a `MemoryLimit`."""
    limits = {"memory.kmem.tcp.limit_in_bytes": int(item["tcp_bytes"])}
    return LimitedGroup("memory", places[item["host"]]["process"], limits)


class Pausing:
    """Stops a side's agent, which carries its load."""

    def __init__(self, item: Item, places: Places) -> None:
        """Of a `Pause`."""
        self._process = int(places[item["host"]]["process"])

    def start(self) -> None:
        """Stop it."""
        self._send(signal.SIGSTOP)

    def stop(self) -> None:
        """Let it go on; one that runs is not affected."""
        self._send(signal.SIGCONT)

    def _send(self, number: signal.Signals) -> None:
        with suppress(ProcessLookupError):
            os.kill(self._process, number)
