"""The section of transports: the table, the charts over time, the comparison.

The matrix of fairness between protocols: who gets which share next to a competitor, by round trip.

Cells with two flows of different names that meet in one region of the schedule, as in `mixed`.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from whyperf.analyze.spread import Spread
from whyperf.analyze.summary import CellResult
from whyperf.analyze.text import level_with_unit, percent, significant
from whyperf.analyze.transports.indicators import Indicators
from whyperf.analyze.transports.result import RegionResult
from whyperf.report.charts.blocks import Section, StudyTable
from whyperf.report.charts.switchboard import Switchboard
from whyperf.report.table import Column, Entry, Table
from whyperf.report.transports.cells import Scheduled, ScheduledCells, scheduled_cells
from whyperf.report.transports.dots import dots_group
from whyperf.report.transports.over_time import time_group
from whyperf.report.transports.overlaid import overlaid_group
from whyperf.report.transports.study import study_of_transports
from whyperf.report.transports.table import transports_table

SCHEDULE, COMPETITOR, RTT = "schedule", "competitor", "path_rtt_ms"
MIXED = "mixed"

NOTE = (
    "Of the time in which both flows send. Share: the goodput of the transport divided by the goodput of both; 50 % is "
    "fair. F: Jain's index of the two. Inflation: mean round-trip time divided by the smallest."
)


@dataclass(frozen=True)
class _Meeting:
    """A cell, and its region in which both flows send."""

    scheduled: Scheduled
    region: RegionResult

    def level(self, name: str) -> object:
        return self.scheduled.cell.factors.get(name)

    @property
    def share(self) -> float | None:
        """The part of the first flow in the goodput of both, from the medians over the trials."""
        first, other = (flow.goodput_bps.median for flow in self.region.flows)
        return None if first is None or other is None or first + other <= 0 else first / (first + other)


def fairness_matrix(cells: ScheduledCells) -> StudyTable | None:
    """The matrix: a row for each transport and competitor, columns by round trip; None where no flows compete."""
    meetings = [meeting for scheduled in cells.cells if (meeting := _meeting(scheduled)) is not None]
    if not meetings:
        return None
    trips = list(dict.fromkeys(meeting.level(RTT) for meeting in meetings))
    rows: dict[tuple[str, object], dict[object, _Meeting]] = {}
    for meeting in meetings:
        row = rows.setdefault((meeting.scheduled.result.protocol, meeting.level(COMPETITOR)), {})
        # Of cells that differ in another factor the first one stands; the table by transport has all.
        row.setdefault(meeting.level(RTT), meeting)
    columns = [Column("Transport", number=False), Column("Competitor", number=False)]
    figures: Sequence[tuple[str, str, Callable[[_Meeting], Entry]]] = (
        ("Share", "Share of the transport in the goodput of both", _share),
        ("F", "Jain's index of the two flows: 1 is equal", _fairness),
        ("Inflation", "Mean round-trip time over the smallest", _inflation),
    )
    columns += [
        Column(f"{name}, {level_with_unit(RTT, trip)}" if trip is not None else name, what)
        for name, what, _ in figures
        for trip in trips
    ]
    made = tuple(
        (
            Entry(protocol, protocol),
            Entry(str(other), str(other)),
            *(make(found[trip]) if trip in found else Entry("") for _, _, make in figures for trip in trips),
        )
        for (protocol, other), found in rows.items()
    )
    return StudyTable("Next to a competitor", NOTE, Table(tuple(columns), made))


def _meeting(scheduled: Scheduled) -> _Meeting | None:
    if scheduled.result.schedule != MIXED:
        return None
    both = [region for region in scheduled.result.regions if len(region.flows) == 2]
    return _Meeting(scheduled, both[0]) if both else None


def _share(meeting: _Meeting) -> Entry:
    share = meeting.share
    return Entry("") if share is None else Entry(percent(share), f"{share:.6g}")


def _fairness(meeting: _Meeting) -> Entry:
    return _median(meeting.region.fairness, "{:.2f}".format)


def _inflation(meeting: _Meeting) -> Entry:
    return _median(meeting.region.rtt.inflation_ratio, significant)


def _median(spread: Spread, text: Callable[[float], str]) -> Entry:
    return Entry("") if spread.median is None else Entry(text(spread.median), f"{spread.median:.6g}")


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
