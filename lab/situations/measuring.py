"""Measures drawn situations: two trials of each part, and more where two do not show what is right."""

from collections.abc import Iterable
from statistics import median

from lab.situations.labels import Labels, labels_of
from lab.truth.catalog import Catalog
from lab.truth.workflow.run import measure
from whyperf.analyze import summarize
from whyperf.analyze.text import count
from whyperf.cli.exits import say
from whyperf.cli.workflows.trials import Goodputs
from whyperf.plan import PlannedTrial
from whyperf.record import Experiment

TRIALS = 2
"""Trials of each part of a situation: a cause counts by their median."""
MAX_TRIALS = 4
"""The same where two do not show which causes count."""
ROUNDS = 3
"""Number of times that trials that other programs disturbed are made again, at most."""


def measure_until_clear(experiment: Experiment, catalog: Catalog, *, as_json: bool) -> None:
    """Measures what the record lacks, again what other programs disturbed, and more of what is not clear."""
    plan, numbers = experiment.plan, numbers_of(experiment.plan.trials())
    more: frozenset[str] = frozenset()

    def wants(trial: PlannedTrial) -> bool:
        situation = plan.cell(trial.cell).sweep.rpartition("-")[0]
        return numbers[trial.id] <= (MAX_TRIALS if situation in more else TRIALS)

    for _ in range(ROUNDS):
        measure(experiment, catalog, as_json=as_json, wants=wants)
        labels, disturbed = labels_now(experiment, catalog)
        if not disturbed and labels.unclear <= more:
            return
        more |= labels.unclear
        again = {trial.id for trial in plan.trials() if not trial.is_extra and plan.cell(trial.cell).sweep in disturbed}
        for name in again & experiment.trials().manifests.keys():
            experiment.set_aside(name)
        say(f"{count(len(disturbed), 'cell')} again, which others disturbed; more of {count(len(more), 'situation')}")
    measure(experiment, catalog, as_json=as_json, wants=wants)


def labels_now(experiment: Experiment, catalog: Catalog) -> tuple[Labels, frozenset[str]]:
    """The labels of what the record has, and the sweeps of void situations whose CPUs other programs used."""
    sweeps = {cell.id: cell.sweep for cell in experiment.plan.cells}
    busy = frozenset(
        sweeps[cell.id]
        for cell in summarize(experiment).cells
        if any(warning.code == "other_load" for warning in cell.warnings)
    )
    labels = labels_of(catalog, {sweeps[cell]: rates for cell, rates in _goodputs(experiment).items()}, busy)
    return labels, frozenset(sweep for sweep in busy if sweep.rpartition("-")[0] in labels.void)


def rates_of(experiment: Experiment) -> dict[str, float | None]:
    """The median rate of each cell in bit/s; None where no trial was carried out."""
    return {cell: median(rates) if rates else None for cell, rates in _goodputs(experiment).items()}


def _goodputs(experiment: Experiment) -> dict[str, list[float]]:
    """The rates of the trials of each cell that were made, without those that carry the segment log."""
    goodputs, made = Goodputs(experiment), experiment.trials().manifests
    found: dict[str, list[float]] = {cell.id: [] for cell in experiment.plan.cells}
    for trial in experiment.plan.trials():
        if not trial.is_extra and trial.id in made and (rate := goodputs.of(trial.id)) is not None:
            found[trial.cell].append(rate)
    return found


def numbers_of(trials: Iterable[PlannedTrial]) -> dict[str, int]:
    """Which trial of its cell each is, from 1; those with a log are counted by themselves."""
    made: dict[tuple[str, bool], int] = {}
    found = {}
    for trial in trials:
        key = (trial.cell, trial.is_extra)
        made[key] = found[trial.id] = made.get(key, 0) + 1
    return found
