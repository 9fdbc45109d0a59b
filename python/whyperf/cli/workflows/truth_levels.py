"""Explains the trials of truth experiments at every level of evidence."""

from collections.abc import Mapping

from whyperf.explain.experiment import explain_trial
from whyperf.record import LOST, Experiment
from whyperf.truth import Catalog, roles_of
from whyperf.truth.levels import Diagnosis, Explained, View, diagnoses, trials_of


def diagnose(experiment: Experiment, catalog: Catalog, rates: Mapping[str, float | None]) -> list[Diagnosis]:
    """The diagnosis of each trial of each explained cell at each level, with the correct answers.

    A level that the trials do not have is left out. `rates` are the medians of the trials without the log, by cell.
    """
    plan = experiment.plan
    complete = [name for name, manifest in experiment.trials().manifests.items() if manifest.status not in LOST]
    cells = {cell.sweep: cell.id for cell in plan.cells}
    explained = []
    for role in roles_of(catalog):
        cell = cells.get(role.sweep)
        if cell is None or not role.is_explained:
            continue
        for view in View:
            for trial in trials_of(plan, complete, cell, view):
                # What `run` prints may use the rate of the emulated path, which the user asked for.
                found = explain_trial(
                    experiment, cell, trial, rate=rates.get(cell), by_plan=view is View.RUN, levels=view.levels
                )
                explained.append(Explained(role, view, trial, found))
    return diagnoses(catalog, plan, rates, explained)
