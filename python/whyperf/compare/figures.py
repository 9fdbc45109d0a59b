"""The part of a result that a comparison needs, by trial: figures, blocks and costs. Kept in the result's folder.

To read it, only what is kept is checked; to compute it, all tables of all trials are read.
"""

import base64
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from whyperf.analyze.cost.budget import payloads
from whyperf.analyze.cost.stored_budget import has_samples, read_sampled_costs
from whyperf.analyze.read.inputs import Inputs
from whyperf.analyze.read.record import read_inputs
from whyperf.analyze.trials import Measured, measure_trials
from whyperf.compare.costs import CostTable, Floats, Key, Row, cost_tables
from whyperf.compare.model_costs import model_costs
from whyperf.compare.quantities import TABLES, TrialFigures, Values, trial_figures
from whyperf.record import Experiment, Trials
from whyperf.record.kept import fingerprint_of, read_kept, write_kept

NAME = "figures.json"


@dataclass(frozen=True)
class ResultFigures:
    """The figures of a result: `blocks` by trial, `costs` by cell and role, None where nothing was sampled."""

    figures: TrialFigures
    blocks: Mapping[str, int]
    costs: Mapping[tuple[str, str], CostTable] | None
    notes: tuple[str, ...] = ()


def read_figures(experiment: Experiment, found: Trials) -> ResultFigures:
    """The figures of all cells, kept in the result's folder for the next time.

    Raises:
        RecordError: the record cannot be read.
    """
    fingerprint = fingerprint_of(experiment.folder)
    kept = read_kept(experiment.folder / NAME, fingerprint)
    if kept is not None:
        with suppress(KeyError, TypeError, ValueError):
            return _from_document(kept)
    return keep_figures(experiment, found, read_inputs(experiment, tables=TABLES, found=found), fingerprint)


def keep_figures(experiment: Experiment, found: Trials, inputs: Inputs, fingerprint: str) -> ResultFigures:
    """Computes the figures of a record that had this `fingerprint`, and keeps them in its folder.

    Raises:
        RecordError: the record cannot be read.
    """
    computed = _computed(experiment, found, inputs)
    # A folder that may only be read goes without.
    with suppress(OSError):
        write_kept(experiment.folder / NAME, fingerprint, _document(computed))
    return computed


def _computed(experiment: Experiment, found: Trials, inputs: Inputs) -> ResultFigures:
    measured = measure_trials(inputs)
    costs: dict[tuple[str, str], CostTable] | None = None
    notes: tuple[str, ...] = ()
    if has_samples(found):
        sampled = read_sampled_costs(experiment, found, inputs, measured)
        if sampled is not None:
            costs, of_functions = cost_tables(sampled, _kbytes_each(inputs, measured))
            notes = sampled.notes + of_functions
    else:
        costs = model_costs(experiment, found)
    blocks = dict(inputs.trials.select("trial", "block").iter_rows())
    blocks |= {name: manifest.block for name, manifest in found.staged.items()}
    return ResultFigures(trial_figures(inputs, measured), blocks, costs, notes)


def _kbytes_each(inputs: Inputs, measured: Measured) -> dict[str, float]:
    """KBytes of a transaction in each trial, of the cells whose rate is in transactions."""
    wanted = [cell.id for cell in inputs.cells if cell.metric == "transactions"]
    counted = measured.transactions.filter(pl.col("cell").is_in(wanted) & (pl.col("transactions_count") > 0))
    joined = counted.join(payloads(measured), on="trial", how="inner")
    return dict(joined.select("trial", pl.col("kbytes") / pl.col("transactions_count")).iter_rows())


def _document(found: ResultFigures) -> dict[str, object]:
    rows = _Numbers()
    keys = _Numbers()
    costs = None
    if found.costs is not None:
        costs = [
            {
                "cell": cell,
                "role": role,
                "unit": table.unit,
                "trials": list(table.trials),
                "rows": [rows.of((row[0], *(row[1] or (None, None, None)))) for row in table.rows],
                "costs": _packed(table.costs),
                "samples": _packed(table.samples),
                "functions": [keys.of(key) for key in table.inclusive],
                "inclusive": _packed(np.array(list(table.inclusive.values()))),
                "per_kbyte": dict(table.per_kbyte),
                "kbytes_each": None if table.kbytes_each is None else _packed(table.kbytes_each),
            }
            for (cell, role), table in found.costs.items()
        ]
    return {
        "values": found.figures.values,
        "cycles_unit": dict(found.figures.cycles_unit),
        "bin_ratio": found.figures.bin_ratio,
        "blocks": dict(found.blocks),
        "rows": rows.known(),
        "functions": keys.known(),
        "costs": costs,
        "notes": list(found.notes),
    }


def _from_document(kept: Mapping[str, Any]) -> ResultFigures:
    values: Values = kept["values"]
    figures = TrialFigures(values, kept["cycles_unit"], kept["bin_ratio"])
    costs = None if kept["costs"] is None else dict(_tables(kept))
    return ResultFigures(figures, kept["blocks"], costs, tuple(kept["notes"]))


def _tables(kept: Mapping[str, Any]) -> Iterator[tuple[tuple[str, str], CostTable]]:
    rows: list[Row] = [(row[0], None if row[1] is None else (row[1], row[2], row[3])) for row in kept["rows"]]
    keys: list[Key] = [(key[0], key[1], key[2]) for key in kept["functions"]]
    for side in kept["costs"]:
        trials = tuple(side["trials"])
        inclusive = _unpacked(side["inclusive"]).reshape(-1, len(trials))
        yield (
            (side["cell"], side["role"]),
            CostTable(
                side["unit"],
                trials,
                {rows[number]: place for place, number in enumerate(side["rows"])},
                _unpacked(side["costs"]).reshape(-1, len(trials)),
                _unpacked(side["samples"]).reshape(-1, len(trials)),
                {keys[number]: inclusive[place] for place, number in enumerate(side["functions"])},
                side["per_kbyte"],
                None if side["kbytes_each"] is None else _unpacked(side["kbytes_each"]),
            ),
        )


class _Numbers:
    """Numbers of things that many sides have, in the order in which they came."""

    def __init__(self) -> None:
        self._numbers: dict[tuple[str | None, ...], int] = {}

    def of(self, thing: tuple[str | None, ...]) -> int:
        """Its number."""
        return self._numbers.setdefault(thing, len(self._numbers))

    def known(self) -> list[list[str | None]]:
        """All of them, by number."""
        return [list(thing) for thing in self._numbers]


def _packed(values: Floats) -> str:
    return base64.b64encode(np.ascontiguousarray(values, dtype="<f8").tobytes()).decode()


def _unpacked(text: str) -> Floats:
    return np.frombuffer(base64.b64decode(text), dtype="<f8").astype(np.float64)
