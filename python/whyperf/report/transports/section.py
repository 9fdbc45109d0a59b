"""The section of transports: the table, the course of each, the comparison."""

from collections.abc import Mapping, Sequence

from whyperf.analyze.summary import CellResult
from whyperf.analyze.transports.indicators import Indicators
from whyperf.report.charts.blocks import Section
from whyperf.report.charts.switchboard import Switchboard
from whyperf.report.transports.cells import scheduled_cells
from whyperf.report.transports.dots import dots_group
from whyperf.report.transports.over_time import course_group
from whyperf.report.transports.study import study_of_transports
from whyperf.report.transports.table import transports_table


def transports_section(
    cells: Sequence[CellResult], trials: Mapping[str, Sequence[Indicators]], board: Switchboard
) -> list[Section]:
    """The sections of cells with a schedule; none without one. `trials` are the indicators by cell."""
    known = scheduled_cells(cells)
    if not known.cells:
        return []
    section = Section("transports", "Transports", tables=[transports_table(known)])
    courses = {one.words: trials[one.cell.id][0] for one in known.cells if trials.get(one.cell.id)}
    if courses:
        section.groups.append(course_group(courses, board))
    compared = dots_group(known)
    if compared is not None:
        section.groups.append(compared)
    beside = study_of_transports(known)
    return [section] if beside is None else [section, beside]
