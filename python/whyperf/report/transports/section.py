"""The section of transports: the table, the charts over time, the comparison."""

from collections.abc import Mapping, Sequence

from whyperf.analyze.summary import CellResult
from whyperf.analyze.transports.indicators import Indicators
from whyperf.report.charts.blocks import Section
from whyperf.report.charts.switchboard import Switchboard
from whyperf.report.transports.cells import scheduled_cells
from whyperf.report.transports.dots import dots_group
from whyperf.report.transports.matrix import fairness_matrix
from whyperf.report.transports.over_time import time_group
from whyperf.report.transports.overlaid import overlaid_group
from whyperf.report.transports.study import study_of_transports
from whyperf.report.transports.table import transports_table


def transports_section(
    cells: Sequence[CellResult], trials: Mapping[str, Sequence[Indicators]], board: Switchboard
) -> list[Section]:
    """The sections of cells with a schedule; none without one. `trials` are the indicators by cell."""
    known = scheduled_cells(cells)
    if not known.cells:
        return []
    matrix = fairness_matrix(known)
    tables = [transports_table(known), *([] if matrix is None else [matrix])]
    section = Section("transports", "Transports", tables=tables)
    courses = {cell.text: trials[cell.cell.id][0] for cell in known.cells if trials.get(cell.cell.id)}
    if courses:
        section.groups.append(time_group(courses, board))
    overlaid = overlaid_group(_runs(courses, trials))
    if overlaid is not None:
        section.groups.append(overlaid)
    compared = dots_group(known)
    if compared is not None:
        section.groups.append(compared)
    study = study_of_transports(known)
    return [section] if study is None else [section, study]


def _runs(courses: Mapping[str, Indicators], trials: Mapping[str, Sequence[Indicators]]) -> dict[str, Indicators]:
    """The trials to compare: the first of each setting, or all of the only one."""
    if len(courses) > 1:
        return dict(courses)
    return {trial.trial: trial for found in trials.values() for trial in found}
