"""The table of transports: a row a cell with a schedule."""

from collections.abc import Callable

from whyperf.analyze.spread import Spread
from whyperf.analyze.text import factor_title, level_text, percent, significant
from whyperf.analyze.transports.result import Duration, Transports
from whyperf.report.charts.blocks import StudyTable
from whyperf.report.charts.metric import GOODPUT
from whyperf.report.table import Column, Entry, Table
from whyperf.report.transports.cells import Scheduled, ScheduledCells

NOTE = (
    "S: standard deviation over mean of the goodput. F: least of Jain's index over the regions with several flows. "
    "Recovery, convergence and slack: medians; > where half or more took longer than could be seen."
)

Make = Callable[[Scheduled], Entry]


def transports_table(cells: ScheduledCells) -> StudyTable:
    """The table; columns that are empty everywhere are left out."""
    unit = GOODPUT.unit([one.cell for one in cells.cells])
    columns: list[tuple[Column, Make]] = [
        (Column("Transport", number=False), lambda one: Entry(one.result.protocol, one.result.protocol)),
        *((Column(factor_title(name)), _factor(name)) for name in cells.factors),
        (
            Column(f"Goodput ({unit.name})", "Of all flows together over the schedule"),
            _spread(lambda result: result.goodput_bps, lambda value: significant(value / unit.scale)),
        ),
        (
            Column("Of ideal", "Of what TCP could carry at most over the path: 1 over RFC 6349's transfer-time ratio"),
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
        (Column("Slack (s)", "Until what a flow left is taken up"), _duration(lambda result: result.slack)),
        (
            Column("Slack taken", "Share of what a flow left that the others gained"),
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
    rows = [tuple(make(one) for _, make in columns) for one in cells.cells]
    kept = [index for index in range(len(columns)) if any(row[index].text for row in rows)]
    table = Table(
        tuple(columns[index][0] for index in kept), tuple(tuple(row[index] for index in kept) for row in rows)
    )
    return StudyTable("By transport", NOTE, table)


def _factor(name: str) -> Make:
    def make(one: Scheduled) -> Entry:
        level = one.cell.factors.get(name)
        return Entry("" if level is None else level_text(level), str(level))

    return make


def _spread(value: Callable[[Transports], Spread], told: Callable[[float], str], *, falling: bool = False) -> Make:
    """A median; `falling` where what is told falls as the value grows."""

    def make(one: Scheduled) -> Entry:
        spread = value(one.result)
        if spread.median is None:
            return Entry("")
        title = ""
        if spread.low is not None and spread.high is not None:
            title = f"{told(spread.low)} to {told(spread.high)}"
        return Entry(told(spread.median), f"{-spread.median if falling else spread.median:.6g}", title)

    return make


def _duration(value: Callable[[Transports], Duration]) -> Make:
    def make(one: Scheduled) -> Entry:
        found = value(one.result)
        if not found.count:
            return Entry("")
        title = f"{found.count} seen, {found.cut_count} of them longer than could be seen"
        if found.median_s is None:
            return Entry(">", "1e9", title)
        return Entry(significant(found.median_s), f"{found.median_s:.6g}", title)

    return make


def _ms(value_s: float) -> str:
    return significant(value_s * 1e3)
