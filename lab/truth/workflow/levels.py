"""Explains the trials of truth experiments at every level of evidence."""

from collections.abc import Collection, Mapping

from lab.truth import Catalog, roles_of
from lab.truth.levels import Diagnosis, Explained, View, diagnoses, trials_of
from whyperf.explain.experiment import ExplainEach, TrialQuestion, explain_here
from whyperf.plan import MODEL
from whyperf.record import LOST, Experiment


def diagnose(
    experiment: Experiment,
    catalog: Catalog,
    rates: Mapping[str, float | None],
    explain_each: ExplainEach | None = None,
) -> list[Diagnosis]:
    """The diagnosis of each trial of each explained cell at each level, with the correct answers.

    `rates` are the medians of the trials without the log, by cell.
    """
    return diagnoses(catalog, experiment.plan, rates, explain_levels(experiment, catalog, rates, explain_each))


def explain_levels(
    experiment: Experiment,
    catalog: Catalog,
    rates: Mapping[str, float | None],
    explain_each: ExplainEach | None = None,
    *,
    most: int | None = None,
    wanted: Collection[View] = tuple(View),
) -> list[Explained]:
    """The explanation of each trial of each explained cell at each wanted level.

    With `most` of the first so many; trials with the log are then among them also where a level needs none.
    """
    plan = experiment.plan
    complete = [name for name, manifest in experiment.trials().manifests.items() if manifest.status not in LOST]
    cells = {cell.sweep: cell.id for cell in plan.cells}
    views = [view for view in wanted if plan.target != MODEL or not view.needs_kernel]
    asked = []
    for role in roles_of(catalog):
        cell = cells.get(role.sweep)
        if cell is None or not role.is_explained:
            continue
        for view in views:
            trials = trials_of(plan, complete, cell, view)
            if most is not None and not view.needs_log:
                trials += trials_of(plan, complete, cell, View.SEGMENTS)
            for trial in trials[:most]:
                # What `run` prints may use the rate of the emulated path, which the user asked for.
                question = TrialQuestion(
                    cell, trial, rate=rates.get(cell), by_plan=view is View.RUN, levels=view.levels
                )
                asked.append((role, view, question))
    found = (explain_each or explain_here)(experiment, [question for *_, question in asked])
    return [
        Explained(role, view, str(question.trial), explanation)
        for (role, view, question), explanation in zip(asked, found, strict=True)
    ]
