"""The table of transports: a row per cell with a schedule."""

from collections.abc import Callable

from whyperf.analyze.spread import Spread
from whyperf.analyze.text import factor_title, level_text, percent, significant
from whyperf.analyze.transports.result import Duration, Transports
from whyperf.report.charts.blocks import StudyTable
from whyperf.report.charts.metric import GOODPUT
from whyperf.report.table import Column, Entry, Table
from whyperf.report.transports.cells import Scheduled, ScheduledCells

NOTE = (
    "S: standard deviation divided by mean of the goodput. F: lowest Jain's index of the regions with several flows. "
    "Recovery, convergence and slack: medians; > if at least half took longer than the observation."
)

Make = Callable[[Scheduled], Entry]


def transports_table(cells: ScheduledCells) -> StudyTable:
    """The table; columns that are empty everywhere are left out."""
    unit = GOODPUT.unit([scheduled.cell for scheduled in cells.cells])
    columns: list[tuple[Column, Make]] = [
        (
            Column("Transport", number=False),
            lambda scheduled: Entry(scheduled.result.protocol, scheduled.result.protocol),
        ),
        *(
            [(Column("Sweep", number=False), lambda scheduled: Entry(scheduled.cell.sweep, scheduled.cell.sweep))]
            if cells.has_sweeps
            else []
        ),
        *((Column(factor_title(name)), _factor(name)) for name in cells.factors),
        (
            Column(f"Goodput ({unit.name})", "All flows together over the schedule"),
            _spread(lambda result: result.goodput_bps, lambda value: significant(value / unit.scale)),
        ),
        (
            Column("Of ideal", "Share of the maximum TCP rate of the path: 1 / transfer-time ratio (RFC 6349)"),
            _spread(lambda result: result.rfc6349.transfer_time_ratio, lambda value: percent(1 / value), falling=True),
        ),
        (Column("S", "Stability: 0 is steady"), _spread(lambda result: result.stability, "{:.3f}".format)),
        (Column("F", "Fairness: 1 is equal"), _spread(lambda result: result.fairness_min, "{:.3f}".format)),
        (Column("RTT (ms)", "Mean round-trip time"), _spread(lambda result: result.rtt.mean_s, _ms)),
        (Column("RTT deviation (ms)", "Its standard deviation"), _spread(lambda result: result.rtt.deviation_s, _ms)),
        (
            Column("Inflation", "Mean over the smallest round-trip time"),
            _spread(lambda result: result.rtt.inflation_ratio, significant),
        ),
        (Column("Recovery (s)", "After a loss"), _duration(lambda result: result.recovery)),
        (Column("Convergence (s)", "Of a flow that joins"), _duration(lambda result: result.convergence)),
        (
            Column("Slack (s)", "Time until other flows use the rate that a flow released"),
            _duration(lambda result: result.slack),
        ),
        (
            Column("Slack taken", "Share of the released rate that the other flows gained"),
            _spread(lambda result: result.slack_ratio, percent),
        ),
        (
            Column("Retransmitted", "Share of the data segments"),
            _spread(lambda result: result.retransmitted_ratio, lambda value: f"{significant(value * 100, 2)} %"),
        ),
        (
            Column("CPU sender", "GHz per Gbit/s"),
            _spread(lambda result: result.cpu_ghz_per_gbps.sender, significant),
        ),
        (
            Column("CPU receiver", "GHz per Gbit/s"),
            _spread(lambda result: result.cpu_ghz_per_gbps.receiver, significant),
        ),
    ]
    rows = [tuple(make(scheduled) for _, make in columns) for scheduled in cells.cells]
    kept = [index for index in range(len(columns)) if any(row[index].text for row in rows)]
    table = Table(
        tuple(columns[index][0] for index in kept), tuple(tuple(row[index] for index in kept) for row in rows)
    )
    return StudyTable("By transport", NOTE, table)


def _factor(name: str) -> Make:
    def make(scheduled: Scheduled) -> Entry:
        level = scheduled.cell.factors.get(name)
        return Entry("" if level is None else level_text(level), str(level))

    return make


def _spread(value: Callable[[Transports], Spread], text: Callable[[float], str], *, falling: bool = False) -> Make:
    """A median; `falling` if the shown number falls as the value rises."""

    def make(scheduled: Scheduled) -> Entry:
        spread = value(scheduled.result)
        if spread.median is None:
            return Entry("")
        title = ""
        if spread.low is not None and spread.high is not None:
            title = f"{text(spread.low)} to {text(spread.high)}"
        return Entry(text(spread.median), f"{-spread.median if falling else spread.median:.6g}", title)

    return make


def _duration(value: Callable[[Transports], Duration]) -> Make:
    def make(scheduled: Scheduled) -> Entry:
        found = value(scheduled.result)
        if not found.count:
            return Entry("")
        title = f"{found.count} observed, {found.cut_count} of them longer than the observation"
        if found.median_s is None:
            return Entry(">", "1e9", title)
        return Entry(significant(found.median_s), f"{found.median_s:.6g}", title)

    return make


def _ms(value_s: float) -> str:
    return significant(value_s * 1e3)
