"""Runs one cell after another at several levels of evidence, interleaved: what watching costs."""

from collections.abc import Mapping, Sequence
from random import Random
from typing import NamedTuple

from whyperf.plan import Level, Plan, PlannedTrial
from whyperf.profile.profile_document import PROFILE_HZ
from whyperf.record import Experiment
from whyperf.run.observer import Observer
from whyperf.run.session import Session
from whyperf.run.trial import run_trial


class LevelRequest(NamedTuple):
    """The request of a trial of a level: evidence, and stack samples of each CPU in a second (None: none)."""

    evidence: Level
    profile_hz: int | None = None


LEVELS: Mapping[str, LevelRequest] = {
    "user": LevelRequest("user"),
    "counters": LevelRequest("counters"),
    # Without counters, so that the difference from user is that of the samples alone.
    "profile": LevelRequest("user", PROFILE_HZ),
    "segments": LevelRequest("segments"),
}


def interleaved(plan: Plan, pairs: int, levels: Sequence[str] = tuple(LEVELS)) -> list[PlannedTrial]:
    """Every cell at every level `pairs` times, block after block.

    The levels of a cell follow each other, so that a pair shares the machine's moment. The order of the cells in a
    block and of the levels in a cell is drawn from the seed.
    """
    trials: list[PlannedTrial] = []
    for block in range(1, pairs + 1):
        generator = Random(f"levels of block {block} of seed {plan.seed}")
        for cell in generator.sample(plan.cells, len(plan.cells)):
            for level in generator.sample(levels, len(levels)):
                trials.append(PlannedTrial(f"{len(trials) + 1:03d}-{cell.id}", block, cell.id, *LEVELS[level]))
    return trials


def run_levels(session: Session, experiment: Experiment, trials: Sequence[PlannedTrial], observer: Observer) -> None:
    """Run the trials in order.

    Raises:
        RunError: an agent is gone.
        RecordError: the record cannot be written.
    """
    for done, planned in enumerate(trials):
        observer.on_trial_started(planned.id, planned.cell, done, len(trials))
        with experiment.begin_trial(planned.id) as writer:
            cell = session.plan.cell(planned.cell)
            manifest = writer.commit(run_trial(session, planned, cell, writer, observer.on_progress))
        observer.on_trial_finished(planned.id, manifest.status, manifest.reason)
