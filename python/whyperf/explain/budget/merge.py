"""Gaps that follow each other in one state made one span."""

from collections.abc import Mapping, Sequence

import numpy as np
import polars as pl

from whyperf.explain.budget.gaps import Gaps
from whyperf.explain.segment_log import Codes

SPAN_COLUMNS: Mapping[str, pl.DataType] = {
    "host": pl.String(),
    "role": pl.String(),
    "connection": pl.UInt32(),
    "begin_ns": pl.Int64(),
    "end_ns": pl.Int64(),
    "state": pl.String(),
}
"""Columns of `TrialBudgets.spans`."""


def spans_of(gaps: Gaps, state: Codes, names: Sequence[str]) -> pl.DataFrame:
    """The spans of one connection on one side: begin_ns, end_ns, state; `names` are those of the codes in `state`."""
    change = np.flatnonzero(np.concatenate(([True], state[1:] != state[:-1])))
    ends = np.concatenate((gaps.start[change[1:]], gaps.end[-1:]))
    word = pl.Series("state", [str(name) for name in names], dtype=pl.String).gather(pl.Series(state[change]))
    return pl.DataFrame({"begin_ns": gaps.start[change], "end_ns": ends, "state": word})


def within(spans: pl.DataFrame, life: tuple[int, int]) -> pl.DataFrame:
    """`spans` as far as they lie within the life."""
    start, end = life
    inside = spans.filter((pl.col("end_ns") > start) & (pl.col("begin_ns") < end))
    return inside.with_columns(pl.col("begin_ns", "end_ns").clip(start, end))


def labeled(spans: pl.DataFrame, host: str, role: str, connection: int) -> pl.DataFrame:
    """`spans` with whose they are, of `SPAN_COLUMNS`."""
    labels = {"host": host, "role": role, "connection": connection}
    keys = [pl.lit(value, SPAN_COLUMNS[name]).alias(name) for name, value in labels.items()]
    return spans.select(*keys, "begin_ns", "end_ns", "state")
