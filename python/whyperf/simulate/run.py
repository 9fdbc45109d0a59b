"""Simulates a plan's missing trials: many in one call of the agent, and a pack of the record each call."""

from collections.abc import Callable, Iterator, Sequence
from itertools import groupby
from pathlib import Path

from whyperf.cluster import Workers
from whyperf.plan import Plan, PlannedTrial, cells_wanting
from whyperf.profile import ProfileError
from whyperf.record import Experiment
from whyperf.run.observer import Observer
from whyperf.simulate.agent import ask
from whyperf.simulate.batch import Batch, Fill, simulated_by, simulated_here
from whyperf.simulate.manifest import manifest
from whyperf.simulate.request import line, user_profiles
from whyperf.wire import SimulatedTrial

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
