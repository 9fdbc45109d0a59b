"""Simulates a plan's missing trials: many in one call of the agent, on all CPUs, and a pack of the record each call."""

from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime
from itertools import groupby

from whyperf.plan import Plan, PlannedTrial, cells_wanting
from whyperf.profile import ProfileError
from whyperf.record import Experiment
from whyperf.run.observer import Observer
from whyperf.simulate.agent import ask
from whyperf.simulate.manifest import manifest
from whyperf.simulate.request import line, user_profiles
from whyperf.wire import SimulatedTrial

#: Trials of a pack at most: what a crash can cost, and what is in memory at once.
PACK_TRIALS = 2000

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
        raise ProfileError("", "schedule", "the model does not know flows that start and stop; leave it out")
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
        if planned.is_log:
            return
        self._tried[planned.cell] = self._tried.get(planned.cell, 0) + 1
        if goodput_bps is not None:
            self._goodputs.setdefault(planned.cell, []).append(goodput_bps)

    def wants(self, planned: PlannedTrial) -> bool:
        """Whether the stop rule still wants it."""
        if planned.is_log or self._plan.stop.interval_width is None:
            return True
        return planned.cell in cells_wanting(self._plan, self._goodputs, self._tried)


def simulate_plan(experiment: Experiment, observer: Observer, known: Known, missing: Sequence[PlannedTrial]) -> None:
    """Runs the trials that the record lacks and the stop rule asks for.

    Raises:
        RunError: the model ended early; everything recorded so far stays.
        RecordError: the record cannot be written.
    """
    plan = experiment.plan
    texts = user_profiles(plan)
    done = plan.trials_count - len(missing)
    for batch in _batches(plan, missing):
        wanted = [planned for planned in batch if known.wants(planned)]
        done += len(batch) - len(wanted)
        if not wanted:
            continue
        lines = [line(plan, planned, plan.cell(planned.cell), texts) for planned in wanted]
        started = datetime.now(UTC).isoformat()
        if wanted[0].is_log:
            with experiment.begin_trial(wanted[0].id) as writer:
                answers = list(_watched(ask(lines, tables=writer.folder), wanted, observer, done, plan))
                writer.commit(manifest(wanted[0], plan.cell(wanted[0].cell), lines[0], answers[0], started))
        else:
            with experiment.begin_pack() as pack:
                answers = list(_watched(ask(lines, "--several", tables=pack.folder), wanted, observer, done, plan))
                pack.commit(
                    manifest(planned, plan.cell(planned.cell), asked, answer, started)
                    for planned, asked, answer in zip(wanted, lines, answers, strict=True)
                )
        done += len(wanted)
        for planned, answer in zip(wanted, answers, strict=True):
            known.add(planned, answer["goodput_bps"] if answer["end"] in {"complete", "deadline"} else None)


def _watched(
    answers: Iterator[SimulatedTrial], wanted: Sequence[PlannedTrial], observer: Observer, done: int, plan: Plan
) -> Iterator[SimulatedTrial]:
    """Reports each answer to the observer as it comes."""
    for number, (planned, answer) in enumerate(zip(wanted, answers, strict=True)):
        observer.on_trial_started(planned.id, planned.cell, done + number, plan.trials_count)
        observer.on_trial_finished(planned.id, answer["end"], answer["reason"] or "cut at its deadline")
        yield answer


def _batches(plan: Plan, missing: Sequence[PlannedTrial]) -> Iterator[list[PlannedTrial]]:
    """Trials that go together: a log trial by itself; under a stop rule no more than a block, so that it can stop."""
    is_sequential = plan.stop.interval_width is not None
    for _, group in groupby(
        missing, key=lambda trial: (trial.is_log, trial.block if is_sequential or trial.is_log else 0)
    ):
        trials = list(group)
        size = 1 if trials[0].is_log else PACK_TRIALS
        for start in range(0, len(trials), size):
            yield trials[start : start + size]
