"""The cost budget of a result: read from `cost.json` where it was kept there, otherwise computed from the record."""

import json
from collections.abc import Collection
from contextlib import suppress
from typing import Any, NamedTuple

import polars as pl
from pydantic import ValidationError

from whyperf.analyze.cost.budget import TrialCosts, WeighedStacks, payloads, trial_costs, weighed_stacks
from whyperf.analyze.cost.events import events_per_kbyte
from whyperf.analyze.cost.reports import sampling_notes, sampling_reports
from whyperf.analyze.cost.result import CellCost, Cost, cost_of
from whyperf.analyze.cost.samples import FUNCTIONS, STACKS
from whyperf.analyze.cost.text import PER_KBYTE, basis_of
from whyperf.analyze.cost.tree import Frame, side_trees
from whyperf.analyze.read.inputs import Inputs
from whyperf.analyze.read.record import read_inputs
from whyperf.analyze.trials import Measured, measure_trials
from whyperf.record import Experiment, Trials, read_table
from whyperf.record.kept import fingerprint_of, read_kept, write_kept

NAME = "cost.json"
_COUNTERS = (
    *("host", "role", "phase", "start_mono_ns", "end_mono_ns"),
    *("data_out_packets", "data_in_packets", "acks_out_count", "acks_in_count"),
)
#: Tables that the totals, the payload and the events come from.
_TABLES = ("flows", "intervals", "cpu", "softirqs", "threads", "transactions")


def has_samples(found: Trials) -> bool:
    """True where any trial asked for stack samples."""
    return any(end.evidence.get("profile") for trial in found.measured.values() for end in trial.hosts.values())


def read_cost(experiment: Experiment) -> Cost:
    """The cost budget of all cells, kept in the result's folder for the next time.

    Raises:
        RecordError: the record cannot be read.
    """
    fingerprint = fingerprint_of(experiment.folder)
    kept = read_kept(experiment.folder / NAME, fingerprint)
    if kept is not None:
        with suppress(ValidationError):
            return Cost.model_validate_json(json.dumps(kept))
    found = experiment.trials()
    manifests = _manifests(found)
    counters = read_table(experiment, "counters", columns=_COUNTERS, trials=manifests).frame
    sampled, lacking = _sampled(experiment, manifests)
    cost = cost_of(
        read_inputs(experiment, tables=_TABLES, found=found), manifests, sampled | {"counters": counters}, lacking
    )
    # A folder that may only be read goes without.
    with suppress(OSError):
        write_kept(experiment.folder / NAME, fingerprint, cost.model_dump(mode="json"))
    return cost


def read_stacks(experiment: Experiment, cells: Collection[str] | None = None) -> tuple[WeighedStacks, Measured] | None:
    """The sampled stacks of all cells, or of these, with the cycles that they stand for, and what was measured.

    None where nothing was sampled.

    Raises:
        RecordError: the record cannot be read.
    """
    found = experiment.trials()
    manifests = {
        name: manifest for name, manifest in _manifests(found).items() if cells is None or manifest["cell"] in cells
    }
    reports = sampling_reports(manifests)
    if reports.is_empty():
        return None
    measured = measure_trials(read_inputs(experiment, tables=_TABLES, found=found))
    sampled, _ = _sampled(experiment, manifests)
    return weighed_stacks(sampled["stacks"], sampled["functions"], reports, measured), measured


class SampledCosts(NamedTuple):
    """The cost of functions by trial, how often what classes do was done per KByte (`events_per_kbyte`), by cell and
    role, and sentences on what is missing."""

    trials: TrialCosts
    events: dict[tuple[str, str], dict[str, float]]
    notes: tuple[str, ...]


def read_sampled_costs(
    experiment: Experiment, found: Trials, inputs: Inputs, measured: Measured
) -> SampledCosts | None:
    """The cost of functions in the trials of `inputs`, which were `measured`; None where nothing was sampled.

    Raises:
        RecordError: the record cannot be read.
    """
    wanted = set(inputs.trials["trial"])
    manifests = {name: manifest for name, manifest in _manifests(found).items() if name in wanted}
    reports = sampling_reports(manifests)
    if reports.is_empty():
        return None
    sampled, lacking = _sampled(experiment, manifests)
    counters = read_table(experiment, "counters", columns=_COUNTERS, trials=manifests).frame
    weighed = weighed_stacks(sampled["stacks"], sampled["functions"], reports, measured)
    return SampledCosts(
        trial_costs(weighed, measured),
        events_per_kbyte(inputs, counters, measured),
        lacking + sampling_notes(manifests),
    )


def read_trees(experiment: Experiment, cells: Collection[CellCost]) -> dict[tuple[str, str], Frame]:
    """The tree of functions of each side of these cells, by cell and role. Costs are per transaction or per KByte, as
    `basis_of` has it for the side.

    Raises:
        RecordError: the record cannot be read.
    """
    found = read_stacks(experiment, {cell.id for cell in cells})
    if found is None:
        return {}
    weighed, measured = found
    divisors = [
        (trial, side.role, basis_of(cell, side) is PER_KBYTE)
        for cell in cells
        for side in cell.sides
        for trial in side.trials
    ]
    return side_trees(weighed, _units(divisors, measured))


def read_sampled_trees(
    experiment: Experiment, found: Trials, divisors: Collection[tuple[str, str, bool]]
) -> dict[tuple[str, str], Frame]:
    """The tree of functions of each side of some trials, by cell and role.

    `divisors` name the trials with their roles, and whether costs are per KByte; otherwise they are per transaction.

    Raises:
        RecordError: the record cannot be read.
    """
    wanted = {trial for trial, _, _ in divisors}
    manifests = {name: manifest for name, manifest in _manifests(found).items() if name in wanted}
    reports = sampling_reports(manifests)
    if reports.is_empty():
        return {}
    # What a total is counted by depends on all trials of a cell.
    cells = {manifest["cell"] for manifest in manifests.values()}
    of_cells = [name for name, manifest in found.measured.items() if manifest.cell in cells]
    measured = measure_trials(read_inputs(experiment, trials=of_cells, tables=_TABLES, found=found))
    sampled, _ = _sampled(experiment, manifests)
    weighed = weighed_stacks(sampled["stacks"], sampled["functions"], reports, measured)
    return side_trees(weighed, _units(divisors, measured))


def _units(divisors: Collection[tuple[str, str, bool]], measured: Measured) -> pl.DataFrame:
    """The divisors of `side_trees`: KBytes or transactions of each trial and role."""
    schema = {"trial": pl.String, "role": pl.String, "is_per_kbyte": pl.Boolean}
    return (
        pl.DataFrame(list(divisors), schema=schema, orient="row")
        .join(payloads(measured), on="trial", how="inner")
        .join(measured.transactions.select("trial", "transactions_count"), on="trial", how="left")
        .select("trial", "role", pl.when("is_per_kbyte").then("kbytes").otherwise("transactions_count").alias("units"))
    )


def _manifests(found: Trials) -> dict[str, dict[str, Any]]:
    return {name: manifest.model_dump() for name, manifest in found.measured.items()}


def _sampled(experiment: Experiment, trials: Collection[str]) -> tuple[dict[str, pl.DataFrame], tuple[str, ...]]:
    """The tables of samples by name, and a note for each trial that lacks one because it cannot be read."""
    found = {
        name: read_table(experiment, name, columns=_without_keys(columns), trials=trials)
        for name, columns in (("stacks", STACKS), ("functions", FUNCTIONS))
    }
    lacking = dict(damaged for table in found.values() for damaged in table.damaged)
    notes = (f"The samples of trial {trial} are left out: {reason}." for trial, reason in lacking.items())
    return {name: table.frame for name, table in found.items()}, tuple(notes)


def _without_keys(columns: Collection[str]) -> list[str]:
    return [name for name in columns if name not in {"trial", "cell"}]
