"""Reads an experiment's record for the analysis: the one module here that touches files."""

from collections.abc import Collection

from whyperf.analyze.read.assemble import assemble
from whyperf.analyze.read.inputs import Inputs
from whyperf.analyze.read.tables import TABLES
from whyperf.record import Experiment, read_table


def read_inputs(experiment: Experiment, *, trials: Collection[str] | None = None) -> Inputs:
    """Everything the analysis needs of `experiment`, which may still be running.

    Only of `trials`, where they are given, and of all log trials.
    """
    found = experiment.trials()
    measured = {name: manifest for name, manifest in found.measured.items() if trials is None or name in trials}
    damaged = dict(found.damaged)
    tables = {}
    for name, schema in TABLES.items():
        columns = [column for column in schema if column not in {"trial", "block", "cell"}]
        read = read_table(experiment, name, columns=columns, trials=measured)
        tables[name] = read.frame
        damaged |= dict(read.damaged)
    manifests = [manifest.model_dump() for manifest in measured.values()]
    logs = [manifest.model_dump() for manifest in found.logs.values()]
    return assemble(
        experiment.plan.model_dump(),
        manifests,
        tables,
        list(damaged.items()),
        logs=logs,
        probe_cost=experiment.probe_cost(),
    )
