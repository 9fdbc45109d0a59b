"""Tries the verdicts of truth experiments, and changes that are wrong on purpose."""

from collections.abc import Sequence
from pathlib import Path

from lab.truth import Catalog
from lab.truth.grade import Grade
from lab.truth.proving import LOOKS, Progress, Proof, claims_of, plan_proving
from whyperf.analyze.text import count
from whyperf.cli.durations import duration
from whyperf.cli.exits import say
from whyperf.cli.workflows.trials import Goodputs, stopped
from whyperf.explain.model import Explanation
from whyperf.plan import Plan, PlannedTrial, TimeLeft
from whyperf.record import Experiment
from whyperf.run import Kind, Session, Target, keep_places, run_plan


def prove(
    experiment: Experiment, catalog: Catalog, grades: Sequence[Grade], explained: Explanation, *, as_json: bool
) -> list[Proof]:
    """Measures what the record of the proofs lacks of the proof, and judges.

    Raises:
        Stopped: it was interrupted.
        RunError: nothing works; what was measured stays.
    """
    claims = claims_of(catalog, grades, explained)
    planned = plan_proving(catalog, claims, seed=experiment.plan.seed)
    if planned is None:
        return [Proof(claim, None, None) for claim in claims]
    profile, plan = planned
    with Experiment.create(_folder_of(experiment, plan), plan, profile.text) as proving:
        progress = Progress(plan, claims, Goodputs(proving).of, proving.missing_trials())
        try:
            _measure(proving, progress, as_json=as_json)
        except KeyboardInterrupt:
            raise stopped(proving, named=True) from None
        except BaseException:
            proving.discard_if_empty()
            raise
        return progress.proofs()


def _folder_of(experiment: Experiment, plan: Plan) -> Path:
    """Where it is kept: the same command finds it again."""
    return experiment.folder.parent / f"{experiment.folder.name}-verify-{plan.id[:6]}"


def _measure(proving: Experiment, progress: Progress, *, as_json: bool) -> None:
    plan = proving.plan
    missing = [trial for trial in proving.missing_trials() if progress.is_needed(trial)]
    if not missing:
        return
    at_once = {trial.id for trial in plan.trials() if trial.block <= LOOKS.first * len(plan.blocks) // LOOKS.most}
    least = [trial.cell for trial in missing if trial.id in at_once] or [trial.cell for trial in missing]
    say(
        f"Trying verdicts: {count(len(least), 'trial')} at first, about {duration(TimeLeft(plan).seconds(least))}; "
        f"more where they do not decide; kept in {proving.folder}, the same command resumes"
    )
    # Imported here: it loads what a mistake does not need.
    from whyperf.cli.live.display import watcher_for  # noqa: PLC0415

    last: list[str] = []

    def wants(trial: PlannedTrial) -> bool:
        """Asked before each trial, so the one that was wanted last is there by now."""
        for made in last:
            progress.on_measured(made)
        last.clear()
        if not progress.is_needed(trial):
            return False
        last.append(trial.id)
        return True

    with Session(plan, Target(Kind.VETH)) as session:
        keep_places(session, proving)
        with watcher_for(plan, missing, as_json=as_json) as watcher:
            run_plan(session, proving, watcher, lambda _: None, wants)
    for made in last:
        progress.on_measured(made)
