"""One seed of a watch: the real session of `whyperf watch` against simulated hosts, with faults.

What is seen of a host is simple here: one connection, or none for some reports. Checked is how the watch ends, whatever
ends it: its time, its process, the user, an agent that is lost, or the controller itself.
"""

import re
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from types import SimpleNamespace
from typing import Any, NamedTuple
from unittest.mock import patch

from tests.simulation.controller import NAMED_NS, SimulatedController
from tests.simulation.faults import HARMLESS, LOSSES, Fault
from tests.simulation.primitives import Event, Executor, Lock, wait_for_futures
from tests.simulation.trials import MAX_PROCESS_S, HostWatch, InvariantError
from tests.simulation.virtual_time import SECOND_NS, StuckError
from whyperf.run.errors import RunError
from whyperf.watch.session import WatchedPlace, WatchOrder, WatchSession
from whyperf.wire import ReplyFinished, ReplyWatched

#: Faults that a watch can meet.
KINDS = (
    *LOSSES,
    *("halt-agent", "short-stall", "stop-controller", "step-realtime", "slow-abort"),
    *("kill-controller", "interrupt"),
    *("watch-on", "duplicate-up", "duplicate-down", "wrong-reply", "short-table"),
    *("flood", "skew-version", "skew-frames"),
    *("refuse-prepare", "hang-answer"),
)
#: What ends a watch that no fault ends.
ENDS = ("time", "process", "caller")
#: Longer than any watch takes in virtual time, faults included.
_MAX_NS = 200 * SECOND_NS
#: How much longer than asked a watch takes without a fault.
_SLACK_S = 6.0


class WatchSetting(NamedTuple):
    """What is watched where, and what ends it."""

    near: str | None
    far: str | None
    with_far: bool
    ends: str
    seconds: float

    @property
    def labels(self) -> list[str]:
        return ["near", "far"] if self.with_far else ["near"]


def draw_setting(random: Random) -> WatchSetting:
    near, far = random.choice((None, None, "alpha")), random.choice((None, "beta", "beta"))
    return WatchSetting(near, far, random.random() < 0.6, random.choice(ENDS), random.uniform(0.2, 3.0))


def draw_faults(random: Random, setting: WatchSetting) -> list[Fault]:
    remote = [label for label, host in (("near", setting.near), ("far", setting.far)) if host is not None]
    remote = [label for label in remote if label in setting.labels]
    found = []
    for _ in range(random.choice((0, 1, 1, 1, 1, 2))):
        kind = random.choice(KINDS)
        if kind == "kill-ssh" and not remote:
            kind = "kill-agent"
        label = random.choice(remote if kind == "kill-ssh" else setting.labels)
        if (kind, label, setting.ends) == ("watch-on", "near", "process"):
            # Only the near agent sees that the process has ended.
            kind = "kill-agent"
        at_ns = round(random.uniform(0, 0.5 + setting.seconds) * SECOND_NS)
        count = random.choice((1, 2, 3, random.randint(1, 12), random.randint(1, 30)))
        found.append(Fault(kind, 1, label, at_ns, count, random.random()))
    return found


@dataclass
class WatchOutcome:
    """What became of a seed."""

    seed: int
    setting: WatchSetting
    faults: list[Fault]
    trace: list[str] = field(default_factory=list)
    error: BaseException | None = None
    error_ns: int | None = None
    far_lost: str | None = None
    late: str | None = None
    is_opened: bool = False
    is_killed: bool = False
    results: dict[str, tuple[ReplyFinished, dict[str, bytes]]] = field(default_factory=dict)
    #: Reports by side.
    reports: dict[str, int] = field(default_factory=dict)
    violation: str | None = None

    def __str__(self) -> str:
        faults = ", ".join(f"{fault}{'' if fault.came_ns else ' (did not come)'}" for fault in self.faults)
        ended = "killed" if self.is_killed else repr(self.error)
        return f"watch {self.seed}, {self.setting} [{faults}] {ended}: {self.violation or 'no violation'}"


class _WatchRun(SimulatedController):
    """A seed under way."""

    def __init__(self, seed: int, folder: Path, setting: WatchSetting | None, faults: list[Fault] | None) -> None:
        random = Random(f"watch {seed}")
        drawn = draw_setting(random)
        self.setting = setting or drawn
        super().__init__(f"watch order {seed}", draw_faults(random, self.setting) if faults is None else faults)
        self.outcome = WatchOutcome(seed, self.setting, self.faults.faults)
        self._folder = folder
        self._is_reporting = False

    def run(self) -> None:
        scheduler, outcome = self.scheduler, self.outcome
        self.faults.begin_life(1)
        began_ns = scheduler.now_ns
        self.run_process("controller", self._control, _MAX_NS)
        took_ns = scheduler.now_ns - began_ns
        outcome.is_killed = self.is_killed
        if not self.is_killed:
            outcome.error = self.main.error
            # Threads that see the end of the pipes of a session that is closed.
            scheduler.run_until(lambda: all(task.is_done for task in scheduler.tasks))
        self.world.end_controller()
        scheduler.end_tasks()
        self.check_agents_end()
        if not self.is_killed:
            self._check(took_ns)

    def _control(self) -> None:
        """What `whyperf watch` does until it keeps the result."""
        setting, outcome = self.setting, self.outcome
        far = WatchedPlace(setting.far) if setting.with_far else None
        order = WatchOrder(
            selection={"ports": [5201]},
            evidence="user",
            interval_s=0.2,
            duration_s=setting.seconds if setting.ends == "time" else None,
            ends_with_process=4711 if setting.ends == "process" else None,
        )
        with WatchSession(WatchedPlace(setting.near), far, self._folder) as session:
            outcome.is_opened = True
            try:
                session.watch(order, self._on_watched, self._wait if setting.ends == "caller" else None)
            except BaseException:
                outcome.error_ns = self.scheduler.now_ns
                raise
            finally:
                outcome.far_lost, outcome.late = session.far_lost, session.late
                for side in session.results():
                    tables = {name: path.read_bytes() for name, path in side.tables.items()}
                    outcome.results[side.host] = (side.finished, tables)

    def _wait(self, over: Any) -> None:
        over.wait(self.setting.seconds)

    def _on_watched(self, side: str, _watched: ReplyWatched) -> None:
        if self._is_reporting:
            raise InvariantError("two reports are shown at once")
        self._is_reporting = True
        self.scheduler.pause()
        self._is_reporting = False
        self.outcome.reports[side] = self.outcome.reports.get(side, 0) + 1

    def _check(self, took_ns: int) -> None:
        """What holds after every watch, however it ended."""
        outcome = self.outcome
        came = [fault for fault in outcome.faults if fault.came_ns is not None]
        harmful = [fault for fault in came if fault.kind not in HARMLESS and fault.kind != "interrupt"]
        self._check_results(harmful)
        error = outcome.error
        if error is None:
            if "near" not in outcome.results:
                raise InvariantError("a watch ended without an error and without its result")
        elif isinstance(error, KeyboardInterrupt):
            if not any(fault.kind == "interrupt" for fault in came):
                raise InvariantError("nobody pressed Ctrl-C")
            if outcome.is_opened and not harmful and "near" not in outcome.results:
                raise InvariantError("after Ctrl-C the result is lost")
        elif not isinstance(error, RunError):
            raise InvariantError(f"a watch ended with {error!r}") from error
        else:
            self._check_error(str(error), harmful, came)
        for text in (outcome.far_lost or "", "" if error is None else str(error)):
            if "\n" in text:
                raise InvariantError(f"an error is not one sentence: {text!r}")
        if outcome.far_lost is not None and not any(fault.label == "far" for fault in harmful):
            raise InvariantError(f"the far side was lost without a fault: {outcome.far_lost}")
        most_s = MAX_PROCESS_S if self.setting.ends == "process" else self.setting.seconds
        if not came and took_ns > (most_s + _SLACK_S) * SECOND_NS:
            raise InvariantError(f"the watch took {took_ns / SECOND_NS:.1f} s")

    def _check_error(self, text: str, harmful: list[Fault], came: list[Fault]) -> None:
        outcome = self.outcome
        if not harmful:
            raise InvariantError(f"a watch without a harmful fault ended with: {text}")
        if outcome.is_opened and all(fault.label == "far" for fault in harmful):
            raise InvariantError(f"the near side was given up for the far one: {text}")
        if len(harmful) != 1:
            return
        (fault,) = harmful
        if re.search(rf"\b{fault.label}\b|{fault.label}:", text) is None and fault.kind != "refuse-prepare":
            raise InvariantError(f"{fault} was reported as: {text}")
        # After a stall, what an agent sent before comes late.
        if fault.kind in {"kill-agent", "stop-agent", "kill-ssh"} and outcome.is_opened and came == [fault]:
            assert fault.came_ns is not None
            assert outcome.error_ns is not None
            if outcome.error_ns - fault.came_ns > NAMED_NS:
                took_s = (outcome.error_ns - fault.came_ns) / SECOND_NS
                raise InvariantError(f"{fault} was named after {took_s:.1f} s")

    def _check_results(self, harmful: list[Fault]) -> None:
        """A result is what its agent sent, all of it; without a harmful fault there is one of each watch that began."""
        for label, (finished, tables) in self.outcome.results.items():
            sent = self._watch_of(label)
            if sent is None or sent.finished is None:
                raise InvariantError(f"there is a result of {label}, whose agent has sent none")
            if tables != sent.tables:
                raise InvariantError(f"the tables of {label} are not what its agent sent")
            if finished["payload_bytes"] != sent.finished["payload_bytes"]:
                raise InvariantError(f"the result of {label} is not that of its agent")
            if finished["outcome"] != {"ended": "complete"}:
                raise InvariantError(f"the result of {label} ended as {finished['outcome']}")
        if harmful or not self.outcome.is_opened:
            return
        for label in self.setting.labels:
            if self._watch_of(label) is not None and label not in self.outcome.results:
                raise InvariantError(f"the watch of {label} began, and its result is lost")

    def _watch_of(self, label: str) -> HostWatch | None:
        return next((agent.watches[-1] for agent in self.world.agents if agent.label == label and agent.watches), None)


def watch_seed(seed: int, *, setting: WatchSetting | None = None, faults: list[Fault] | None = None) -> WatchOutcome:
    """Run a seed, with what it draws or with a setting and faults of one's own; what became of it."""
    session = "whyperf.watch.session."
    with tempfile.TemporaryDirectory(prefix="whyperf-simulated-") as folder:
        run = _WatchRun(seed, Path(folder), setting, faults)
        scheduler = run.scheduler
        threads = SimpleNamespace(Lock=lambda: Lock(scheduler), Event=lambda: Event(scheduler))
        with run.in_virtual_time(
            session + "Agent",
            patch(session + "threading", threads),
            patch(session + "ThreadPoolExecutor", lambda *_, **__: Executor(scheduler)),
            patch(session + "wait", lambda futures: wait_for_futures(scheduler, futures)),
            # A simulated process has no sockets, and its number may be that of a real one.
            patch(session + "connections_of", lambda _process: []),
        ):
            try:
                run.run()
                left = [path.name for path in Path(folder).iterdir()]
                if left:
                    run.outcome.violation = f"files are left: {left}"
            except (InvariantError, StuckError) as error:
                run.outcome.violation = str(error)
        run.outcome.trace = scheduler.trace
        return run.outcome


def summary_of_watch(seed: int) -> tuple[str | None, int]:
    """Run a seed; its violation, and how many controllers it took."""
    outcome = watch_seed(seed)
    return None if outcome.violation is None else str(outcome), 1
