"""Reads few columns of one of a trial's tables, whatever agent wrote it."""

from collections.abc import Sequence

import polars as pl

from whyperf.analyze.flow import FlowTrial
from whyperf.analyze.flow.trial import reported_unreadable


def read_columns(trial: FlowTrial, table: str, host: str, columns: Sequence[str]) -> pl.DataFrame | None:
    """The table of the end at `host`; None when that end wrote none.

    A column that an older agent did not write is null. Instants stay on the end's own clock.

    Raises:
        RecordError: the file cannot be read.
    """
    source = trial.table(table, host)
    if source is None:
        return None
    with reported_unreadable(source.path):
        there = source.rows.collect_schema().names()
        known = [pl.col(name) if name in there else pl.lit(None).alias(name) for name in columns]
        return source.rows.select(known).collect()


def first(frame: pl.DataFrame | None, expression: pl.Expr) -> float | None:
    """One figure of a frame; None without a frame, or where it is null."""
    if frame is None or frame.is_empty():
        return None
    value = frame.select(expression).item()
    return None if value is None else float(value)
