"""Runs a plan's missing trials in order, and decides nothing but when to give up."""

import time
from collections.abc import Callable, Sequence

from whyperf.plan import EXTRA_PREFIXES, Plan, PlannedTrial, cells_wanting
from whyperf.record import INTERRUPTED, Experiment, Manifest
from whyperf.run.errors import RunError
from whyperf.run.observer import Observer
from whyperf.run.session import Session
from whyperf.run.trial import run_trial

GoodputOf = Callable[[str], float | None]
"""Goodput of a recorded trial in bit/s, for the stop rule; None where it has none."""

Wants = Callable[[PlannedTrial], bool]
"""Asked before each trial, in their order: whether it is wanted still, from what the record holds by then."""

_GIVE_UP_AFTER = 5
"""Failures in a row, each at its first trial of the session, after which the experiment stops."""


def keep_places(session: Session, experiment: Experiment) -> None:
    """Writes what the hosts and the testbed of a session are into the record.

    Raises:
        RecordError: the disk refuses.
    """
    for host, facts in session.facts.items():
        experiment.write_host(host, facts)
    if session.testbed is not None:
        experiment.write_testbed(session.testbed)


def run_plan(
    session: Session,
    experiment: Experiment,
    observer: Observer,
    goodput_of: GoodputOf,
    wants: Wants = lambda _: True,
) -> None:
    """Run every trial that the record lacks and that both the stop rule and `wants` ask for.

    Raises:
        RunError: an agent is gone, or nothing works; everything recorded so far stays.
        RecordError: the record cannot be written; the trial under way is void.
        KeyboardInterrupt: the user stopped it.
    """
    plan = session.plan
    missing = experiment.missing_trials()
    progress = _Progress(plan, missing, goodput_of)
    failed_in_row = 0
    for planned in missing:
        if not planned.is_extra and not progress.wants(planned.cell):
            continue
        if not wants(planned):
            continue
        manifest = _run_until_valid(session, experiment, observer, planned, progress.done)
        progress.on_trial(planned.id, planned.cell)
        failed_in_row = failed_in_row + 1 if manifest.status == "failed" else 0
        if failed_in_row >= _GIVE_UP_AFTER:
            raise RunError(f"{failed_in_row} trials in a row failed, the last with: {manifest.reason}")
        time.sleep(plan.pause_ms / 1000)


def _run_until_valid(
    session: Session, experiment: Experiment, observer: Observer, planned: PlannedTrial, done: int
) -> Manifest:
    """Run a trial, and run it again while it is void and may be; what was void is set aside."""
    plan = session.plan
    while True:
        observer.on_trial_started(planned.id, planned.cell, done, plan.trials_count)
        with experiment.begin_trial(planned.id) as writer:
            cell = plan.cell(planned.cell)
            made = run_trial(session, planned, cell, writer, observer.on_progress, on_message=observer.on_message)
            manifest = writer.commit(made)
        observer.on_trial_finished(planned.id, manifest.status, manifest.reason)
        if manifest.status == INTERRUPTED:
            raise KeyboardInterrupt
        if session.lost is not None:
            raise session.lost
        if not experiment.may_run_again(planned.id, manifest.status):
            return manifest


class _Progress:
    """Which cells still want trials."""

    def __init__(self, plan: Plan, missing: Sequence[PlannedTrial], goodput_of: GoodputOf) -> None:
        self._plan = plan
        self._goodput_of = goodput_of
        self._goodputs: dict[str, list[float]] = {}
        self._tried: dict[str, int] = {}
        self.done = 0
        to_do = {planned.id for planned in missing}
        for planned in plan.trials():
            if planned.id not in to_do:
                self.on_trial(planned.id, planned.cell)

    @property
    def _sequential(self) -> bool:
        return self._plan.stop.interval_width is not None

    def on_trial(self, trial: str, cell: str) -> None:
        self.done += 1
        if trial.startswith(EXTRA_PREFIXES):
            return
        self._tried[cell] = self._tried.get(cell, 0) + 1
        goodput = self._goodput_of(trial) if self._sequential else None
        if goodput is not None:
            self._goodputs.setdefault(cell, []).append(goodput)

    def wants(self, cell: str) -> bool:
        if not self._sequential:
            return True
        return cell in cells_wanting(self._plan, self._goodputs, self._tried)
