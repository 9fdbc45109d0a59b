"""One seed: a run of the real controller against simulated hosts, with faults, resumed until its record is complete."""

import hashlib
import os
import re
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any
from unittest.mock import patch

from tests.simulation.controller import NAMED_NS, SimulatedController
from tests.simulation.faults import HARMLESS, LOSSES, PIPES, Fault, draw
from tests.simulation.samples import Setting, settings
from tests.simulation.trials import InvariantError, Link
from tests.simulation.virtual_time import SECOND_NS, StuckError
from whyperf.record import Experiment, Manifest, RecordError
from whyperf.record.writer import TrialWriter
from whyperf.run import session as session_module
from whyperf.run.errors import RunError
from whyperf.run.experiment import run_plan
from whyperf.run.session import Session

MAX_LIVES = 8
#: Longer than any run takes in virtual time, faults included.
_MAX_RUN_NS = 600 * SECOND_NS


@dataclass
class ControllerRun:
    """One process of the controller."""

    number: int
    faults: list[Fault]
    error: BaseException | None = None
    #: When the run found out.
    error_ns: int | None = None
    began_ns: int = 0
    is_killed: bool = False
    opened: bool = False
    #: When the last trial was recorded.
    last_trial_ns: int = 0
    started: list[str] = field(default_factory=list)
    finished: list[str] = field(default_factory=list)

    def __str__(self) -> str:
        end = (
            "killed"
            if self.is_killed
            else "complete"
            if self.error is None
            else f"{type(self.error).__name__}: {self.error}"
        )
        faults = ", ".join(f"{fault}{'' if fault.came_ns else ' (did not come)'}" for fault in self.faults)
        return f"run {self.number} [{faults}]: {end}"


@dataclass
class Outcome:
    """What became of a seed."""

    seed: int
    setting: str
    lives: list[ControllerRun]
    trace: list[str]
    violation: str | None

    def __str__(self) -> str:
        lines = [f"seed {self.seed}, {self.setting}: {self.violation or 'no violation'}"]
        return "\n  ".join([*lines, *map(str, self.lives)])


class _Observer:
    """Notes what is reported."""

    def __init__(self, run: "_Run") -> None:
        self._run = run

    def on_message(self, text: str) -> None:
        """Nothing is checked in it."""

    def on_trial_started(self, trial: str, _cell: str, _done: int, _total: int) -> None:
        self._run.life.started.append(trial)
        self._run.scheduler.note(f"trial {trial} starts")

    def on_progress(self, _host: str, _progress: Any) -> None:
        """Nothing is checked in it."""

    def on_trial_finished(self, trial: str, status: str, reason: str | None) -> None:
        self._run.life.finished.append(trial)
        self._run.life.last_trial_ns = self._run.scheduler.now_ns
        self._run.scheduler.note(f"trial {trial}: {status} {reason}")
        self._run.on_committed(trial, status)


class _DiskFile:
    """A file of a table, whose writes go through the faults."""

    def __init__(self, file: Any, on_disk: Callable[[str], None]) -> None:
        self._file, self._on_disk = file, on_disk

    def __getattr__(self, name: str) -> Any:
        return getattr(self._file, name)

    def __enter__(self) -> "_DiskFile":
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    def write(self, data: bytes) -> int:
        self._on_disk("write")
        return int(self._file.write(data))


class _OneByOne:
    """A pool of threads that makes its calls in their order."""

    def __init__(self, _count: int) -> None:
        """Needs no threads."""

    def __enter__(self) -> "_OneByOne":
        return self

    def __exit__(self, *_: object) -> None:
        """Everything is done."""

    def map(self, call: Callable[[Any], Any], items: list[Any]) -> list[Any]:
        return [call(item) for item in items]


class _Run(SimulatedController):
    """A seed under way."""

    def __init__(self, seed: int, folder: Path, setting: Setting | None, faults: list[Fault] | None) -> None:
        random = Random(f"seed {seed}")
        drawn: Setting = random.choice(settings())
        self.setting = setting or drawn
        super().__init__(f"order {seed}", draw(random, self.setting) if faults is None else faults)
        self.folder = folder / "result"
        self.lives: list[ControllerRun] = []
        self.kept: dict[str, str] = {}
        self.order: list[str] = []
        self._aside = folder / "killed"

    @property
    def life(self) -> ControllerRun:
        return self.lives[-1]

    def run(self) -> None:
        for number in range(1, MAX_LIVES + 1):
            self._live(number)
            self._check_life()
            if self.life.error is None and not self.life.is_killed:
                break
        else:
            raise InvariantError(f"after {MAX_LIVES} runs the record is not complete")
        self._check_record()

    def _live(self, number: int) -> None:
        self.lives.append(ControllerRun(number, [], began_ns=self.scheduler.now_ns))
        self.faults.begin_life(number)
        self.life.faults = self.faults.in_life()
        self.run_process(f"controller {number}", self._control, _MAX_RUN_NS)
        self.life.is_killed = self.is_killed
        if self.main.error is not None and not self.is_killed:
            self.life.error = self.main.error
        left = [task.name for task in self.scheduler.tasks if not task.is_done]
        if left and not self.is_killed and not isinstance(self.life.error, KeyboardInterrupt):
            raise InvariantError(f"threads are left: {', '.join(left)}")
        if self.is_killed:
            self._bury()
        else:
            self.world.end_controller()
            self.scheduler.end_tasks()
        self.scheduler.tasks.clear()
        self.check_agents_end()

    def _control(self) -> None:
        """What `whyperf run` does with a plan."""
        setting = self.setting
        with Experiment.create(self.folder, setting.plan, setting.profile_text) as experiment:
            missing = experiment.missing_trials()
            self.order = [trial.id for trial in missing]
            if not missing:
                return
            with Session(experiment.plan, setting.target) as session:
                self.life.opened = True
                try:
                    for host, facts in session.facts.items():
                        experiment.write_host(host, facts)
                    run_plan(session, experiment, _Observer(self), lambda _: None)
                except BaseException:
                    self.life.error_ns = self.scheduler.now_ns
                    raise

    def on_killed(self) -> None:
        """Whatever its code would still do finds no folder."""
        if self.folder.exists():
            self.folder.rename(self._aside)

    def _bury(self) -> None:
        self.scheduler.end_tasks()
        shutil.rmtree(self.folder, ignore_errors=True)
        if self._aside.exists():
            self._aside.rename(self.folder)

    def on_committed(self, trial: str, status: str) -> None:
        """A trial is recorded: it is there whole, and says what the hosts did."""
        found = self.folder / "trials" / trial
        manifest = Manifest.model_validate_json((found / "manifest.json").read_text())
        if manifest.status != status:
            raise InvariantError(f"trial {trial} was reported as {status} and is recorded as {manifest.status}")
        self._check_trial(found, manifest)
        for path in sorted(found.iterdir()):
            self.kept[f"{trial}/{path.name}"] = _digest(path)

    def _check_trial(self, found: Path, manifest: Manifest) -> None:
        trial = manifest.trial
        if manifest.status not in {"complete", "deadline"}:
            if not manifest.reason:
                raise InvariantError(f"trial {trial} is {manifest.status} without a reason")
            return
        links = []
        for label, end in manifest.hosts.items():
            link = next((link for link in self.world.links if link.payload_bytes == end.payload_bytes), None)
            if link is None or label not in link.sides or link.trial != trial:
                raise InvariantError(f"trial {trial} has a result of {label} that is not of this trial")
            links.append(link)
            outcome = link.outcomes[label]
            if outcome["ended"] != manifest.status and not (
                manifest.status == "deadline" and outcome["ended"] == "complete"
            ):
                raise InvariantError(f"trial {trial} is {manifest.status}, and its load at {label} ended as {outcome}")
            self._check_start(manifest, label, link)
        expected = {
            f"{name}.{label}.parquet": content for link in links for (label, name), content in link.tables.items()
        }
        there = {path.name: path.read_bytes() for path in found.glob("*.parquet") if not path.name.startswith("path")}
        if there != expected:
            odd = sorted(name for name in {*there, *expected} if there.get(name) != expected.get(name))
            raise InvariantError(f"trial {trial}: {odd[0]} is not what its agent sent")
        if len({link.serial for link in links}) != len(manifest.hosts) // 2:
            raise InvariantError(f"trial {trial} mixes the loads of several attempts")

    def _check_start(self, manifest: Manifest, label: str, link: Link) -> None:
        clock = manifest.hosts[label].clock
        start_ns = manifest.model_extra["start_mono_ns"] if manifest.model_extra else 0
        assert clock is not None
        if abs(link.planned_ns[label] - start_ns) > clock.uncertainty_ns + 1:
            raise InvariantError(
                f"trial {manifest.trial} starts at {label} {(link.planned_ns[label] - start_ns) / 1e6:.3f} ms off; "
                f"its clock is uncertain by {clock.uncertainty_ns / 1e6:.3f} ms"
            )

    def _check_life(self) -> None:
        """What holds after every run, however it ended."""
        life = self.life
        self._check_kept()
        self._check_order()
        trials = self.folder / "trials"
        if trials.exists():
            found = Experiment.open(self.folder).trials() if (self.folder / "plan.json").exists() else None
            if found is not None and found.damaged:
                raise InvariantError(f"trial {found.damaged[0].trial} is stored in part: {found.damaged[0].reason}")
            partial = [path.name for path in trials.iterdir() if path.name.startswith(".")]
            if partial and not life.is_killed:
                raise InvariantError(f"{partial[0]} is left")
        if life.is_killed:
            return
        self._check_noticed(life)
        came = [fault for fault in life.faults if fault.came_ns is not None]
        if life.error is not None:
            self._check_error(life, came)
        elif len(life.started) != len(life.finished):
            raise InvariantError("a trial was started and neither recorded nor given up")

    def _check_error(self, life: ControllerRun, came: list[Fault]) -> None:
        error = life.error
        if not isinstance(error, RunError | RecordError | KeyboardInterrupt):
            raise InvariantError(f"a run ended with {error!r}") from error
        text = str(error)
        if "\n" in text or (not text and not isinstance(error, KeyboardInterrupt)):
            raise InvariantError(f"an error is not one sentence: {text!r}")
        # A fault before its run leaves nothing behind that could end another one.
        harmful = [fault for fault in came if fault.kind not in HARMLESS]
        if not harmful:
            raise InvariantError(f"a run without a harmful fault ended with: {text}")
        if len(harmful) == 1:
            self._check_named(life, harmful[0], text)

    def _check_noticed(self, life: ControllerRun) -> None:
        """What must end a run did, unless it came at the very end."""
        for fault in life.faults:
            if fault.came_ns is None or life.error is not None:
                continue
            must_end = fault.kind in {"skew-version", "skew-frames"}
            must_end |= fault.kind in PIPES and life.last_trial_ns - fault.came_ns > NAMED_NS
            must_end |= fault.kind == "wrong-reply" and not fault.is_subtle and fault.came_ns < life.last_trial_ns
            is_lost = fault.kind in LOSSES and fault.kind != "long-stall"
            since_ns = max(fault.came_ns, self.scheduler.stopped_until_ns)
            if must_end or (is_lost and life.last_trial_ns - since_ns > NAMED_NS):
                raise InvariantError(f"{fault} was not noticed")

    def _check_named(self, life: ControllerRun, fault: Fault, text: str) -> None:
        """The error names the right agent, in time."""
        label = fault.label
        at = rf"^{label}(?: on \w+)?: "
        expected = {
            "kill-agent": rf"{label} agent (was killed by signal 9|is gone)|the pipe to .* was cut",
            "stop-agent": rf"the {label} agent was silent|{label} agent(?: on \w+)? did not answer",
            "long-stall": rf"the {label} agent was silent|{label} agent(?: on \w+)? did not answer",
            "kill-ssh": rf"the ssh to \w+ was killed by signal 9, and the {label} agent|the {label} agent is gone",
            "interrupt": r"^$",
            "disk-full": r"[Nn]o space left on device",
            "wrong-reply": rf"{at}.*(is wrong|not a message)",
            "short-table": rf"{at}the agent (sent .* less|sent a table)",
            "flood": rf"{at}the agent sent over",
            "skew-version": rf"{at}the agent is version .* install the same whyperf on both hosts",
            "skew-frames": rf"{at}the agent speaks protocol version .* install the same whyperf on both hosts",
            "duplicate-up": rf"{at}the pipe lost or repeated frames",
            "drop-up": rf"{at}the pipe lost or repeated frames",
            "flip-up": rf"{at}.*(the pipe damaged frame|protocol version|lost or repeated frames)",
            "duplicate-down": rf"{at}the pipe lost or repeated frames",
            "flip-down": rf"{at}.*(the pipe damaged frame|protocol version|is not whyperf's protocol)",
            "cut-up": rf"the pipe to (the {label} agent|\w+) was cut (after|inside)",
            "hang-answer": rf"{label}",
            "refuse-prepare": r"trials in a row failed",
        }.get(fault.kind)
        if expected is not None and re.search(expected, text) is None:
            raise InvariantError(f"{fault} was reported as: {text}")
        if fault.kind in {"kill-agent", "stop-agent", "kill-ssh"} and life.opened:
            assert fault.came_ns is not None
            # A controller that is stopped names nobody.
            since_ns = max(fault.came_ns, self.scheduler.stopped_until_ns)
            if life.error_ns is not None and life.error_ns - since_ns > NAMED_NS:
                raise InvariantError(f"{fault} was named after {(life.error_ns - since_ns) / SECOND_NS:.1f} s: {text}")

    def _check_order(self) -> None:
        """Trials come in the order of the plan; only void ones come again."""
        order = self.order
        distinct = list(dict.fromkeys(self.life.started))
        if distinct != order[: len(distinct)]:
            raise InvariantError(f"trials ran in the order {distinct}, the plan has {order}")

    def _check_kept(self) -> None:
        for name, digest in self.kept.items():
            trial, _, file = name.partition("/")
            places = [self.folder / "trials" / trial / file]
            places += sorted((self.folder / "set-aside").glob(f"{trial}-*/{file}"))
            if digest not in {_digest(path) for path in places if path.exists()}:
                raise InvariantError(f"{name} of the record was changed or is gone")

    def _check_record(self) -> None:
        """The record has each trial of the plan once, and nothing else."""
        planned = {trial.id for trial in self.setting.plan.trials()}
        experiment = Experiment.open(self.folder)
        there = set(experiment.trials().manifests)
        if there != planned:
            raise InvariantError(f"the complete record has {sorted(there)}, the plan {sorted(planned)}")
        if experiment.missing_trials():
            raise InvariantError("the complete record lacks trials")
        self._check_causes(experiment)

    def _check_causes(self, experiment: Experiment) -> None:
        """A trial fails for a reason of its own: one that was aborted leaves nothing to the next."""
        faults = [fault for fault in self.faults.faults if fault.came_ns is not None]
        came = [fault.kind for fault in faults]
        allowed = {
            "failed": sum(fault.fails_a_trial for fault in faults),
            "deadline": came.count("stall-load"),
            "void": len(self.setting.plan.blocks) * len(self.setting.plan.cells) * ("strangers" in came),
        }
        manifests = experiment.trials().manifests
        for fault in self.faults.faults:
            in_lives = [life.number for life in self.lives if fault.trial in life.finished]
            if (
                fault.kind == "short-table"
                and in_lives == [fault.life]
                and manifests[str(fault.trial)].status == "complete"
            ):
                raise InvariantError(f"trial {fault.trial} is complete, and a table of it was not")
        for status, most in allowed.items():
            ended = [trial for trial, manifest in manifests.items() if manifest.status == status]
            if len(ended) > most:
                reason = manifests[ended[-1]].reason
                raise InvariantError(
                    f"{len(ended)} trials are {status}, of which {most} had a cause; the last: {reason}"
                )


def _digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


@contextmanager
def _real_controller(run: _Run) -> Iterator[None]:
    """The controller's modules in virtual time, with a disk that may be full."""
    create = TrialWriter._create

    class Disk:
        """`os` of the record: what is written there may not find room."""

        def __getattr__(self, name: str) -> Any:
            return getattr(os, name)

        def fsync(self, _descriptor: int) -> None:
            # The disk is memory: nothing has to be waited for.
            run.faults.on_disk("fsync")

    with run.in_virtual_time(
        "whyperf.run.session.Agent",
        patch.dict(os.environ, {"XDG_STATE_HOME": str(run.folder.parent / "state")}),
        patch("whyperf.record.durable.os", Disk()),
        patch("whyperf.record.writer.ThreadPoolExecutor", _OneByOne),
        patch.object(TrialWriter, "_create", lambda writer, path: _DiskFile(create(writer, path), run.faults.on_disk)),
    ):
        session_module._this_host.cache_clear()
        yield
        session_module._this_host.cache_clear()


def run_seed(seed: int, *, setting: Setting | None = None, faults: list[Fault] | None = None) -> Outcome:
    """Run a seed, with what it draws or with a setting and faults of one's own; what became of it."""
    place = Path("/dev/shm") if os.access("/dev/shm", os.W_OK) else None
    with tempfile.TemporaryDirectory(prefix="whyperf-simulated-", dir=place) as folder:
        run = _Run(seed, Path(folder), setting, faults)
        violation = None
        with _real_controller(run):
            try:
                run.run()
            except (InvariantError, StuckError) as error:
                violation = str(error)
        return Outcome(seed, run.setting.name, run.lives, run.scheduler.trace, violation)


def summary_of_seed(seed: int) -> tuple[str | None, int]:
    """Run a seed; its violation, and how many runs of a controller it took."""
    outcome = run_seed(seed)
    return None if outcome.violation is None else str(outcome), len(outcome.lives)
