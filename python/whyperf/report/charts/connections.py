"""The section of a watched result with several connections: the busiest of them over time, on one clock."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

import polars as pl

from whyperf.analyze.summary import CellResult
from whyperf.analyze.time_series import Course
from whyperf.report.charts.blocks import Section
from whyperf.report.charts.figures import TIME_WATCHED, rename_time
from whyperf.report.charts.layout import MAX_LINES, choose
from whyperf.report.charts.levels_over_time import levels_over_time
from whyperf.report.charts.switchboard import Switchboard

SECTION = "connections"


def drawn(cells: Sequence[CellResult]) -> list[CellResult]:
    """The connections that are drawn: those that moved most."""
    return [cell for cell in cells if cell.goodput_bps.median is not None][:MAX_LINES]


def connections_section(cells: Sequence[CellResult], courses: Mapping[str, Course], board: Switchboard) -> Section:
    """The section; `courses` are over time, by cell."""
    section = Section(SECTION, "Connections over time")
    own = drawn(cells)
    layout = choose(own)
    group = None if layout is None else levels_over_time(SECTION, layout, _on_one_clock(courses), board)
    if group is None:
        section.left_out.append("No charts: no two connections were seen for long enough.")
        return section
    left = len(cells) - len(own)
    note = "Times are from the start of the first of them." + (
        f" The {len(own)} connections that moved most; the table has {left:,} more." if left else ""
    )
    for chart in group.charts:
        rename_time(chart.figure, TIME_WATCHED)
    section.groups.append(replace(group, heading="The busiest connections", note=note))
    return section


def _on_one_clock(courses: Mapping[str, Course]) -> dict[str, Course]:
    first = min((course.start_ns for course in courses.values()), default=0)

    def later(frame: pl.DataFrame, seconds: float) -> pl.DataFrame:
        return frame.with_columns(pl.col("at_s") + seconds)

    shifted = {}
    for cell, course in courses.items():
        seconds = (course.start_ns - first) / 1e9
        shifted[cell] = replace(course, rates=later(course.rates, seconds), transport=later(course.transport, seconds))
    return shifted
