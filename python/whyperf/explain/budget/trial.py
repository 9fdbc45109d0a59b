"""The budgets of a trial: which evidence each end has, and what is made of it."""

from collections.abc import Collection
from dataclasses import dataclass

import polars as pl

from whyperf.analyze.flow import FlowTrial
from whyperf.explain.budget.chronographs import read_samples
from whyperf.explain.budget.coarse import coarse_budgets
from whyperf.explain.model import Budget

SPAN_COLUMNS = {
    "host": pl.String(),
    "role": pl.String(),
    "connection": pl.UInt32(),
    "begin_ns": pl.Int64(),
    "end_ns": pl.Int64(),
    "state": pl.String(),
}
"""Columns of `TrialBudgets.spans`."""


@dataclass(frozen=True)
class TrialBudgets:
    """The budgets of a trial.

    `spans` has the columns `SPAN_COLUMNS`, by host, connection and time: runs of one state, which follow each other
    without gap or overlap through the life of each connection at each end that has a log. `missing` says in sentences
    what evidence there is none of.
    """

    budgets: list[Budget]
    spans: pl.DataFrame
    missing: list[str]


def budgets_of(trial: FlowTrial, connections: Collection[int] | None = None) -> TrialBudgets:
    """Where the time of each connection of `trial` went, at each end.

    Args:
        trial: whose, live or simulated.
        connections: numbers of those wanted; all when absent.

    Raises:
        RecordError: a table cannot be read.
    """
    budgets: list[Budget] = []
    missing: list[str] = []
    for end in trial.ends.values():
        missing.append(f"There is no segment log of the {end.host} end ({end.role}).")
        if end.role == "sender":
            samples = read_samples(trial, end.host)
            if connections is not None:
                samples = samples.filter(pl.col("connection").is_in(list(connections)))
            budgets += coarse_budgets(trial.trial, end.host, samples)
    return TrialBudgets(budgets, pl.DataFrame(schema=SPAN_COLUMNS), missing)
