"""The section of an experiment with one cell: trials, charts over time, CPU split."""

from collections.abc import Mapping, Sequence
from typing import Any

from whyperf.analyze.summary import CellResult
from whyperf.analyze.text import bit_rate
from whyperf.analyze.time_series import Course
from whyperf.report.charts import figures
from whyperf.report.charts.blocks import Chart, Group, Section
from whyperf.report.charts.colors import CATEGORIES
from whyperf.report.charts.cpu_split import kinds_legend, single_split, split_note
from whyperf.report.charts.latency import Histograms, single_curve
from whyperf.report.charts.metric import GOODPUT
from whyperf.report.charts.models import ColumnDataSource, FixedTicker
from whyperf.report.charts.over_time import add_time_charts
from whyperf.report.charts.switchboard import Switchboard


def single_section(
    cell: CellResult,
    trials: Sequence[Mapping[str, Any]],
    courses: Sequence[Course],
    board: Switchboard,
    histograms: Histograms | None = None,
) -> Section:
    """The section for `cell`; `trials` are rows of `goodput.measure` in order, `histograms` of latency by cell."""
    section = Section("single", "The measurement" if cell.watched is None else "The connection over time")
    curve = single_curve(cell, histograms or {}, board)
    if curve is not None:
        section.groups.append(curve)
    counted_as = cell.transactions.counted_as if cell.transactions is not None else None
    path_bps = cell.factors.get("path_rate_bps")
    add_time_charts(
        section,
        courses,
        board,
        counted_as,
        is_own=cell.watched is None,
        path_bps=float(path_bps) if isinstance(path_bps, int | float) else None,
    )
    measured = [row for row in trials if row["goodput_bps"] is not None]
    if len(measured) > 1:
        section.groups.append(_trials(cell, measured))
    split = single_split(cell, board)
    if split:
        section.groups.append(Group("CPU time by kind", (split,), split_note([cell]), kinds_legend()))
    else:
        section.left_out.append("No CPU time by kind: it was not recorded, or both hosts share their CPUs.")
    return section


def _trials(cell: CellResult, measured: Sequence[Mapping[str, Any]]) -> Group:
    """Goodput of each trial in the order of blocks."""
    unit = GOODPUT.unit([cell])
    made = figures.chart("Trial, in the order of execution", f"Goodput ({unit.name})", height=280)
    values = [row["goodput_bps"] / unit.scale for row in measured]
    source = ColumnDataSource(
        {
            "x": list(range(1, len(measured) + 1)),
            "y": values,
            "at": [row["trial"] for row in measured],
            "shown": [bit_rate(row["goodput_bps"]) for row in measured],
        }
    )
    figures.hover(made, [figures.add_points(made, source, CATEGORIES[0], size=8)], {"Trial": "at", "Goodput": "shown"})
    marked = [(x, y) for x, (y, row) in enumerate(zip(values, measured, strict=True), 1) if row["steady"] is False]
    figures.add_rings(made, ColumnDataSource({"x": [x for x, _ in marked], "y": [y for _, y in marked]}))
    if len(measured) <= figures.FEW:
        figures.small(made)
    if len(measured) <= 10:
        made.xaxis.ticker = FixedTicker(ticks=list(range(1, len(measured) + 1)))
    note = "A ring marks trials without steady state." if cell.unsteady_trials else ""
    return Group("Trials", (Chart("trials", "", made, "Goodput of each trial."),), note)
