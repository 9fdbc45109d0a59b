"""Reads an experiment's record for the analysis: the one module here that touches files."""

from collections.abc import Collection

from whyperf.analyze.fleet.large import SHRINK, is_large
from whyperf.analyze.fleet.sides import read_fleet
from whyperf.analyze.read.assemble import assemble
from whyperf.analyze.read.inputs import Inputs
from whyperf.analyze.read.tables import TABLES
from whyperf.analyze.read.watched import OF_WATCHED
from whyperf.analyze.stages.notes import stage_notes
from whyperf.record import Experiment, Trials, read_table


def read_inputs(
    experiment: Experiment,
    *,
    trials: Collection[str] | None = None,
    tables: Collection[str] = TABLES.keys(),
    found: Trials | None = None,
) -> Inputs:
    """Everything the analysis needs of `experiment`, which may still be running.

    Only of `trials`, where they are given, and of all log trials. Tables that are not in `tables` are left empty.
    `found` are its manifests, where they were read.
    """
    found = found or experiment.trials()
    measured = {name: manifest for name, manifest in found.measured.items() if trials is None or name in trials}
    damaged = dict(found.damaged)
    manifests = [manifest.model_dump() for manifest in measured.values()]
    shrink = SHRINK if experiment.plan.fleet is not None and is_large(manifests) else {}
    frames = {}
    for name, schema in TABLES.items():
        left_out = {"trial", "block", "cell", *(OF_WATCHED.get(name, ()) if experiment.plan.watched is None else ())}
        columns = [column for column in schema if column not in left_out]
        if name not in tables or not columns:
            continue
        read = read_table(experiment, name, columns=columns, trials=measured, shrink=shrink.get(name))
        frames[name] = read.frame
        damaged |= dict(read.damaged)
    logs = [manifest.model_dump() for name, manifest in found.logs.items() if name not in found.measured]
    return assemble(
        experiment.plan.model_dump(),
        manifests,
        frames,
        list(damaged.items()),
        logs=logs,
        probe_cost=experiment.probe_cost(),
        stage_notes=stage_notes(experiment, found),
        hosts=experiment.hosts(),
        fleet=read_fleet(experiment, {name: manifest for name, manifest in measured.items() if name not in damaged}),
    )
