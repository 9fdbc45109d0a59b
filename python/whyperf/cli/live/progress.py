"""State of a running experiment: trials done, rate now, time left. No output of its own."""

import threading
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from whyperf.analyze.text import bit_rate, significant
from whyperf.plan import Plan, PlannedTrial, TimeLeft
from whyperf.profile import Level
from whyperf.profile.workload import near_receives
from whyperf.wire import ReplyProgress

BITS_PER_BYTE = 8
NS_PER_S = 1e9


@dataclass(frozen=True)
class Running:
    """The trial under way: the `number`-th of at most `total`."""

    trial: str
    cell: str
    number: int
    total: int


class Progress:
    """Counts trials and keeps the estimate of the time left. Safe to call from two threads."""

    def __init__(
        self, plan: Plan, missing: Sequence[PlannedTrial], clock: Callable[[], float] = time.monotonic
    ) -> None:
        """Starts with the trials still to make; `clock` gives seconds."""
        self.plan = plan
        self.running: Running | None = None
        self.rate_bps = 0.0
        self._clock = clock
        self._left = Counter(trial.cell for trial in missing)
        self._time_left = TimeLeft(plan)
        self._since = clock()
        self._lock = threading.Lock()

    def on_trial_started(self, trial: str, cell: str, done: int, total: int) -> None:
        """A trial starts."""
        self.running = Running(trial, cell, done + 1, total)
        self.rate_bps = 0.0

    def on_progress(self, host: str, progress: ReplyProgress) -> None:
        """An interval of one side; the receiver's are the rate."""
        running = self.running
        elapsed_ns = progress["end_mono_ns"] - progress["start_mono_ns"]
        if running is None or elapsed_ns <= 0 or host != receiver(self.plan.cell(running.cell).factors):
            return
        self.rate_bps = progress["payload_bytes"] * BITS_PER_BYTE * NS_PER_S / elapsed_ns

    def rate_words(self) -> str:
        """The rate now, in the metric of the running cell; empty while nothing is known."""
        if not self.rate_bps or self.running is None:
            return ""
        each = transaction_bytes(self.plan, self.running.cell)
        if each is None:
            return bit_rate(self.rate_bps)
        return f"{significant(self.rate_bps / BITS_PER_BYTE / each)} transactions/s"

    def on_trial_finished(self, trial: str) -> None:
        """A trial is recorded; it took the time since the one before."""
        cell = trial.partition("-")[2]
        now = self._clock()
        with self._lock:
            self._time_left.on_trial(cell, now - self._since)
            self._left[cell] -= 1
        self._since = now

    def seconds_left(self) -> float:
        """Estimate for what is still to do, the running trial included; at most, under a stop rule."""
        with self._lock:
            left = self._time_left.seconds(cell for cell, count in self._left.items() for _ in range(count))
        return max(0.0, left - (self._clock() - self._since))


def receiver(factors: Mapping[str, Level]) -> str:
    """The side that receives."""
    return "near" if near_receives(factors) else "far"


def transaction_bytes(plan: Plan, cell: str) -> int | None:
    """Payload of a transaction, both directions, where all of them move the same; otherwise None."""
    planned = plan.workload(cell)
    if planned is None or planned.workload is None or planned.metric != "transactions":
        return None
    active = [group["transactions"] for group in planned.workload["groups"] if group["transactions"]]
    if len(active) != 1 or len(active[0]) != 1:
        return None
    moved = 0
    for step in active[0][0]["steps"]:
        operation = step["operation"]
        if operation["operation"] == "send_file":
            return None
        if operation["operation"] == "read" or operation["operation"] == "write":
            if operation["size"]["by"] != "fixed":
                return None
            moved += operation["size"]["bytes"] * step["count"]
    return moved or None


def cell_words(plan: Plan, cell: str) -> str:
    """The varied levels of a cell, as `--only` takes them."""
    found = plan.cell(cell)
    sweeps = {cell.sweep for cell in plan.cells}
    parts = [f"sweep={found.sweep}"] if len(sweeps) > 1 else []
    return " ".join(
        [*parts, *(f"{name}={shown(found.factors[name])}" for name in plan.varied if name in found.factors)]
    )


def shown(level: Level) -> str:
    """A level as the command line takes it."""
    if isinstance(level, float) and level.is_integer():
        return str(int(level))
    return str(level).lower() if isinstance(level, bool) else str(level)
