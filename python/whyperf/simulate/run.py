"""Simulates a plan's missing trials: many in one call of the agent, and a pack of the record each call.

Trials that are simulated together, here or on a worker: lines in, answers and the bytes of tables out.

What comes out depends on the lines alone: not on the host, the time, or how many threads or workers there are.
"""

import subprocess
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import groupby
from pathlib import Path

from whyperf import __version__
from whyperf.cluster import Workers
from whyperf.cluster.versions import here
from whyperf.plan import Plan, PlannedTrial, cells_wanting
from whyperf.profile import ProfileError
from whyperf.record import Experiment
from whyperf.record.scratch import task_folder
from whyperf.run import RunError
from whyperf.run.agents.pipes import agent_binary
from whyperf.run.observer import Observer
from whyperf.simulate.agent import ask
from whyperf.simulate.manifest import manifest
from whyperf.simulate.request import line, user_profiles
from whyperf.wire import SimulatedTrial, Simulation

#: Writes the tables of a batch into a folder, and gives the answers in order, as they come.
Fill = Callable[[Path], Iterator[SimulatedTrial]]


@dataclass(frozen=True)
class Batch:
    """Trials with what the model is asked for each. One with a log or stage times is alone; others share a pack."""

    planned: tuple[PlannedTrial, ...]
    lines: tuple[Simulation, ...]

    @property
    def is_alone(self) -> bool:
        """True where it is one trial with a folder of its own: with the segment log, or stage times."""
        return self.planned[0].is_extra


@dataclass(frozen=True)
class Simulated:
    """The results of a worker: the answers, and the tables by the name of their file."""

    answers: tuple[SimulatedTrial, ...]
    tables: dict[str, bytes]


def simulated_here(batches: Iterable[Batch]) -> Iterator[tuple[Batch, Fill]]:
    """Each batch with what simulates it, by an agent with as many threads as there are CPUs."""
    for batch in batches:
        yield batch, _asking(batch)


def simulated_by(workers: Workers, batches: Iterable[Batch]) -> Iterator[tuple[Batch, Fill]]:
    """Each batch with its results from a worker, in the order of the batches. Few are in memory at once.

    Raises:
        RunError: as `Workers.in_order`, or the agent there is of another version.
    """
    submitted: deque[Batch] = deque()

    def tasks() -> Iterator[tuple[Sequence[Simulation], bool, str]]:
        for batch in batches:
            submitted.append(batch)
            yield batch.lines, batch.is_alone, __version__

    for result in workers.in_order(simulate_lines, tasks()):
        yield submitted.popleft(), _writing(result)


def simulate_lines(lines: Sequence[Simulation], is_alone: bool, expected_version: str) -> Simulated:
    """Does the work of a worker: one thread, because the worker has as many tasks at a time as it may use CPUs.

    Raises:
        RunError: the agent is missing here, of another version, or ended early.
    """
    if (found := _agent_version()) != expected_version:
        raise RunError(
            f"whyperf-agent on the worker {here()} is of version {found}, and this host needs {expected_version}; "
            "install the same whyperf there"
        )
    with task_folder() as name:
        folder = Path(name)
        answers = tuple(ask(lines, *_options(is_alone), "--threads", "1", tables=folder))
        return Simulated(answers, {path.name: path.read_bytes() for path in sorted(folder.iterdir())})


@lru_cache(maxsize=1)
def _agent_version() -> str:
    try:
        binary = agent_binary()
        done = subprocess.run([binary, "--version"], capture_output=True, text=True, check=True, timeout=60)
    except (RunError, OSError, subprocess.SubprocessError) as error:
        raise RunError(
            f"the worker {here()} cannot run whyperf-agent ({error}); install whyperf {__version__} there"
        ) from None
    return done.stdout.strip().removeprefix("whyperf-agent ")


def _options(is_alone: bool) -> tuple[str, ...]:
    return () if is_alone else ("--several",)


def _asking(batch: Batch) -> Fill:
    return lambda folder: ask(batch.lines, *_options(batch.is_alone), tables=folder)


def _writing(result: Simulated) -> Fill:
    def fill(folder: Path) -> Iterator[SimulatedTrial]:
        for name, content in result.tables.items():
            # Names are those of files, without a folder.
            (folder / Path(name).name).write_bytes(content)
        yield from result.answers

    return fill


#: About so many packs has a record: enough for workers to share, and few enough to be read soon.
PACKS = 100
#: Of a pack, which takes about a dozen files.
MIN_PACK_TRIALS = 25
#: The number of trials that a crash can cost, and that are in memory at once.
MAX_PACK_TRIALS = 2000

GoodputOf = Callable[[str], float | None]


def refuse_unknown(plan: Plan) -> None:
    """Asks the model about every cell, before anything runs.

    Raises:
        ProfileError: a cell that it cannot run, and why.
        OSError: a host profile of the user's own cannot be read.
    """
    bare = next((cell for cell in plan.cells if cell.factors["hosts"] == "none"), None)
    if bare is not None:
        problem = "no host is chosen; name one with --hosts, such as sparc2+sba-100@2.2.6"
        raise ProfileError("", "hosts", problem)
    scheduled = next((cell for cell in plan.cells if cell.schedule), None)
    if scheduled is not None:
        raise ProfileError("", "schedule", "the model has no flows that start and stop; leave it out")
    other = next((cell for cell in plan.cells if cell.factors.get("transport", "tcp") != "tcp"), None)
    if other is not None:
        problem = (
            f"the model has TCP only, not {other.factors['transport']}; choose another profile, or set transport=tcp"
        )
        raise ProfileError("", "transport", problem)
    texts = user_profiles(plan)
    lines = [line(plan, PlannedTrial(cell.id, 1, cell.id), cell, texts) for cell in plan.cells]
    for answer in ask(lines, "--check"):
        if answer["end"] == "refused":
            key, _, problem = (answer["reason"] or "").partition(": ")
            raise ProfileError("", key, problem or key)


class Known:
    """Goodputs of the trials that are there, for the stop rule."""

    def __init__(self, plan: Plan, goodput_of: GoodputOf, made: Sequence[PlannedTrial]) -> None:
        """With the trials that the record has."""
        self._plan = plan
        self._goodputs: dict[str, list[float]] = {}
        self._tried: dict[str, int] = {}
        if plan.stop.interval_width is not None:
            for planned in made:
                self.add(planned, goodput_of(planned.id))

    def add(self, planned: PlannedTrial, goodput_bps: float | None) -> None:
        """A trial is there."""
        if planned.is_extra:
            return
        self._tried[planned.cell] = self._tried.get(planned.cell, 0) + 1
        if goodput_bps is not None:
            self._goodputs.setdefault(planned.cell, []).append(goodput_bps)

    def wanted(self, trials: Sequence[PlannedTrial]) -> list[PlannedTrial]:
        """Those of a block that the stop rule still wants; a cell is in a block once."""
        if self._plan.stop.interval_width is None:
            return list(trials)
        wanting = cells_wanting(self._plan, self._goodputs, self._tried)
        return [planned for planned in trials if planned.is_extra or planned.cell in wanting]


def simulate_plan(
    experiment: Experiment,
    observer: Observer,
    known: Known,
    missing: Sequence[PlannedTrial],
    workers: Workers | None = None,
) -> None:
    """Runs the trials that the record lacks and the stop rule asks for: here, or on `workers`.

    They are recorded in the order of the plan. So an interrupted simulation has the packs with which an uninterrupted
    one begins, and resuming makes the others: the record has the same bytes, with any number of workers.

    Raises:
        RunError: the model ended early, or the workers are of no use; everything recorded so far stays.
        RecordError: the record cannot be written.
    """
    plan = experiment.plan
    texts = user_profiles(plan)
    done = plan.trials_count - len(missing)
    for group in _groups(plan, missing):
        wanted = known.wanted(group)
        done += len(group) - len(wanted)
        # Lines are made when they are needed: those of all trials would take much memory.
        batches = (
            Batch(trials, tuple(line(plan, planned, plan.cell(planned.cell), texts) for planned in trials))
            for trials in _divided(plan, wanted)
        )
        results = simulated_here(batches) if workers is None else simulated_by(workers, batches)
        for batch, fill in results:
            answers = _recorded(experiment, batch, _watched(fill, batch, observer, done, plan))
            done += len(batch.planned)
            for planned, answer in zip(batch.planned, answers, strict=True):
                known.add(planned, answer["goodput_bps"] if answer["end"] in {"complete", "deadline"} else None)


def _recorded(experiment: Experiment, batch: Batch, fill: Fill) -> list[SimulatedTrial]:
    """The answers, after they and their tables are in the record."""
    plan = experiment.plan
    if batch.is_alone:
        (planned,), (asked,) = batch.planned, batch.lines
        with experiment.begin_trial(planned.id) as writer:
            answers = list(fill(writer.folder))
            writer.commit(manifest(planned, plan.cell(planned.cell), asked, answers[0]))
        return answers
    with experiment.begin_pack() as pack:
        answers = list(fill(pack.folder))
        pack.commit(
            manifest(planned, plan.cell(planned.cell), asked, answer)
            for planned, asked, answer in zip(batch.planned, batch.lines, answers, strict=True)
        )
    return answers


def _watched(fill: Fill, batch: Batch, observer: Observer, done: int, plan: Plan) -> Fill:
    """The same, which reports each answer to the observer as it comes."""

    def watched(folder: Path) -> Iterator[SimulatedTrial]:
        for number, (planned, answer) in enumerate(zip(batch.planned, fill(folder), strict=True)):
            observer.on_trial_started(planned.id, planned.cell, done + number, plan.trials_count)
            observer.on_trial_finished(planned.id, answer["end"], answer["reason"] or "cut at its deadline")
            yield answer

    return watched


def _groups(plan: Plan, missing: Sequence[PlannedTrial]) -> Iterator[list[PlannedTrial]]:
    """Trials of which none waits for the result of another: under a stop rule those of a block."""
    is_sequential = plan.stop.interval_width is not None
    for _, group in groupby(missing, key=lambda trial: (trial.is_extra, trial.block if is_sequential else 0)):
        yield list(group)


def _divided(plan: Plan, trials: Sequence[PlannedTrial]) -> Iterator[tuple[PlannedTrial, ...]]:
    """In batches: a trial with a log or stage times by itself, others by the number that the plan alone decides."""
    in_pack = min(max(-(-plan.trials_count // PACKS), MIN_PACK_TRIALS), MAX_PACK_TRIALS)
    start = 0
    while start < len(trials):
        size = 1 if trials[start].is_extra else in_pack
        yield tuple(trials[start : start + size])
        start += size
