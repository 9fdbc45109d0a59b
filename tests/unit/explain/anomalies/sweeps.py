"""Sweeps written as levels and rates."""

from collections.abc import Mapping, Sequence
from functools import cache

import numpy as np

from tests.unit.analyze import synthetic as made
from whyperf.analyze import Summary, summarize_inputs
from whyperf.analyze.spread import Spread
from whyperf.analyze.summary import CellResult

Rates = Mapping[float, float | Sequence[float]]


@cache
def base() -> Summary:
    """A result of one cell."""
    return summarize_inputs(made.inputs([made.Trial()]))


def sweep(
    rates: Rates, factor: str = "write_size_bytes", changes: Mapping[float, Mapping[str, object]] | None = None
) -> Summary:
    """A sweep of one factor: rates in Mbit/s by level. Two are those of three trials, whose third is their mean; a rate
    alone is one of the model.

    `changes` are fields of the result by level.
    """
    cells = [
        _cell(f"c{number:04}", {factor: level}, rate).model_copy(update=dict((changes or {}).get(level, {})))
        for number, (level, rate) in enumerate(rates.items(), start=1)
    ]
    return _summary(cells, [factor])


def grid(rates: Mapping[str, Rates], factor: str, other: str) -> Summary:
    """Several sweeps of one factor, one for each level of another one that is no number or, written as one, is."""
    cells, number = [], 0
    for level, own in rates.items():
        for at, rate in own.items():
            number += 1
            factors = {factor: at, other: int(level) if level.isdigit() else level}
            cells.append(_cell(f"c{number:04}", factors, rate))
    return _summary(cells, [factor, other])


def _summary(cells: list[CellResult], varied: list[str]) -> Summary:
    origin = "sim" if any(cell.trials == 1 for cell in cells) else base().origin
    return base().model_copy(update={"cells": cells, "varied": varied, "origin": origin})


def _cell(name: str, factors: Mapping[str, object], rate: float | Sequence[float]) -> CellResult:
    values = 1e6 * np.atleast_1d(np.array(rate, dtype=np.float64))
    values = np.append(values, values.mean()) if values.size == 2 else values
    spread = Spread(
        median=float(np.median(values)),
        low=float(values.min()) if values.size > 1 else None,
        high=float(values.max()) if values.size > 1 else None,
        mean=float(values.mean()),
        stdev=float(values.std(ddof=1)) if values.size > 1 else None,
    )
    update = {"id": name, "sweep": "s", "factors": dict(factors), "goodput_bps": spread, "trials": values.size}
    return base().cells[0].model_copy(update=update)
