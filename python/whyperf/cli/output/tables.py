"""Results as tables for a terminal."""

import sys
from dataclasses import dataclass

from rich import box
from rich.table import Table

from whyperf.analyze.summary import CellResult, Summary
from whyperf.analyze.text import factor_title, level_text, significant
from whyperf.report.charts.layout import Axis, choose
from whyperf.report.charts.metric import GOODPUT, Metric, metric_of
from whyperf.report.table import cells_table

#: A sweep of two factors with more cells than this is shown as a matrix of medians.
MAX_ROWS = 24
#: Between two columns.
GAP = 2
#: Short headings for a terminal, by the heading in the report.
SHORTER = {"Retransmitted": "Retr", "Advertised window (bytes)": "Window advertised"}
#: The columns that a narrow terminal or a pipe does without, in this order.
LEAVE_OUT = (
    "CPUs per adapter receiver",
    "CPUs per adapter sender",
    "Trials",
    "Packets/s",
    "Retr",
    "Window advertised",
    "Needed window",
    "Cycles/KB receiver",
    "Cycles/KB sender",
    "µs of CPU receiver",
    "µs of CPU sender",
    "Idle RTT p99",
    "Idle RTT p50",
    "Lowest RTT",
    "95 % interval",
    "Interval",
    "Interval or range",
    "Range",
)


def sweep_tables(summary: Summary, width: int) -> list[Table]:
    """A table for each sweep, `width` characters wide at most: a row a cell, or a matrix where that would be long."""
    sweeps = dict.fromkeys(cell.sweep for cell in summary.cells)
    tables = []
    for sweep in sweeps:
        cells = [cell for cell in summary.cells if cell.sweep == sweep]
        layout = choose(cells)
        title = sweep if len(sweeps) > 1 else None
        if len(cells) > MAX_ROWS and layout is not None and layout.lines is not None and not layout.panels:
            tables.append(_matrix(cells, layout.x, layout.lines, title))
        else:
            tables.append(_rows(summary, cells, title, width))
    return tables


def _rows(summary: Summary, cells: list[CellResult], title: str | None, width: int) -> Table:
    content = cells_table(summary.model_copy(update={"cells": cells}))
    columns = [
        TextColumn(
            SHORTER.get(column.heading, column.heading), column.number, [row[index].text for row in content.rows]
        )
        for index, column in enumerate(content.columns)
    ]
    kept = _fitting(columns, width)
    left_out = [column.heading for column in columns if column not in kept]
    table = _table(title, _without(left_out, width) if left_out else None)
    for column in kept:
        table.add_column(column.heading, justify="right" if column.number else "left", width=column.width)
    for row in zip(*(column.texts for column in kept), strict=True):
        table.add_row(*row)
    return table


def _without(left_out: list[str], width: int) -> str:
    """Says what a table lacks, and where it is."""
    wider = "a wider terminal" if sys.stdout.isatty() else "COLUMNS=160"
    return f"Left out in {width} columns: {', '.join(left_out)}. They are in --csv and --json, or with {wider}."


def _fitting(columns: list["TextColumn"], width: int) -> list["TextColumn"]:
    """The columns that fit; the least important are left out first."""
    kept = list(columns)
    for heading in LEAVE_OUT:
        if sum(column.width + GAP for column in kept) - GAP <= width:
            break
        kept = [column for column in kept if column.heading != heading]
    return kept


@dataclass(frozen=True)
class TextColumn:
    """A column as text."""

    heading: str
    number: bool
    texts: list[str]

    @property
    def width(self) -> int:
        """Narrowest width: texts stay whole, the heading may break between words."""
        return max(map(len, [*self.heading.split(), *self.texts]))


def _matrix(cells: list[CellResult], down: Axis, across: Axis, title: str | None) -> Table:
    """Medians of the metric; `*` marks cells with trials that failed, were cut or did not get steady."""
    metric = metric_of(cells)
    unit = metric.unit(cells)
    found = {(_level(cell, down), _level(cell, across)): cell for cell in cells}
    caption = f"Median {metric.title.lower()}, {unit.name}; columns: {factor_title(across.factor).lower()}"
    if any(_doubtful(cell) for cell in cells):
        caption += "; * failed, cut or unsteady trials"
    table = _table(title, caption)
    table.add_column(down.title, justify="right")
    for level in across.levels:
        table.add_column(level_text(level), justify="right")
    for row_level in down.levels:
        row = [found.get((level_text(row_level), level_text(level))) for level in across.levels]
        table.add_row(level_text(row_level), *(_median(cell, metric, unit.scale) for cell in row))
    return table


def _table(title: str | None, caption: str | None = None) -> Table:
    # Without edges and with padding on one side, columns are GAP apart.
    return Table(
        title=title,
        caption=caption,
        box=box.SIMPLE_HEAD,
        title_justify="left",
        caption_justify="left",
        pad_edge=False,
        show_edge=False,
        padding=(0, 1, 0, 0),
    )


def _level(cell: CellResult, axis: Axis) -> str:
    return level_text(cell.factors.get(axis.factor))


def _median(cell: CellResult | None, metric: Metric, scale: float) -> str:
    if cell is None:
        return ""
    median = metric.median(cell)
    digits = 3 if metric is GOODPUT else 4
    return ("none" if median is None else significant(median / scale, digits)) + ("*" if _doubtful(cell) else "")


def _doubtful(cell: CellResult) -> bool:
    return bool(cell.failed_trials + cell.deadline_trials + cell.unusable_trials + cell.unsteady_trials)
