"""Latency under load: the round trips of the RTT probe, idle and under load, per setting or per trial."""

from collections.abc import Sequence

import polars as pl

from whyperf.analyze.measures.latency import IDLE, LOAD
from whyperf.analyze.summary import CellResult
from whyperf.analyze.text import setting
from whyperf.report.charts.blocks import Group
from whyperf.report.charts.distribution import MAX_PARTS, Floats, distribution_group
from whyperf.report.charts.layout import distinguishing_axes

ID = "rtt-probe"
UNDER_LOAD = "under load"


def round_trips_group(cells: Sequence[CellResult], requests: pl.DataFrame) -> Group | None:
    """The distributions of the probe's round trips; None without one.

    `requests` are of `probe_requests`. Several cells have one each; of a single cell, each trial has one.
    """
    answered = requests.drop_nulls("rtt_ns")
    loaded = answered.filter(pl.col("state") == LOAD)
    if loaded.is_empty():
        return None
    by = "cell" if loaded["cell"].n_unique() > 1 else "trial"
    names = _names(cells) if by == "cell" else {}
    groups = loaded.partition_by(by, as_dict=True, maintain_order=True)
    parts = {names.get(str(key), str(key)): _values(rows) for (key,), rows in list(groups.items())[:MAX_PARTS]}
    if len(parts) == 1:
        parts = {UNDER_LOAD: next(iter(parts.values()))}
    idle = answered.filter(pl.col("state") == IDLE)
    if not idle.is_empty():
        parts = {"idle": _values(idle), **parts}
    left = len(groups) - MAX_PARTS
    note = f"{left} more are in the table." if left > 0 else ""
    return distribution_group(ID, "Latency under load", "Round-trip time", parts, note)


def _names(cells: Sequence[CellResult]) -> dict[str, str]:
    varied = [axis.factor for axis in distinguishing_axes(cells)]
    names = {cell.id: setting(dict(cell.factors), varied) or cell.id for cell in cells}
    if len(set(names.values())) < len(names):
        # Two sweeps may have the same factors.
        names = {cell.id: f"{cell.sweep}: {names[cell.id]}" for cell in cells}
    return names


def _values(rows: pl.DataFrame) -> Floats:
    return rows["rtt_ns"].cast(pl.Float64).to_numpy()
