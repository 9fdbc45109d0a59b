"""Compares the published table of transports over long paths with the measurement.

The study averaged over transports at 1 Gbit/s, and so does this table. Rates are compared as ratios of the path rate.
"""

from collections.abc import Callable, Sequence
from statistics import fmean, stdev

from whyperf.analyze.text import percent, significant
from whyperf.analyze.transports.result import Transports
from whyperf.report.charts.blocks import Section, StudyTable
from whyperf.report.studies.published import Row, read
from whyperf.report.table import Column, Entry, Table
from whyperf.report.transports.cells import Scheduled, ScheduledCells

FILE = "wan_transports"
STUDY_RATE_BPS = 1e9
RTT = "path_rtt_ms"
#: The flows of the study; other schedules ask something else.
SCHEDULE = "seven-regions"
RATE = "path_rate_bps"

NOTE = (
    "The study used real paths at 1 Gbit/s with other traffic and runs of 16 minutes. The path here is emulated and "
    "has no other traffic. Mean ± standard deviation over these transports. Of path: goodput divided by the path rate."
)


def study_of_transports(cells: ScheduledCells) -> Section | None:
    """The section; None where no cell has a round-trip time of the study."""
    source, rows = read(FILE)
    if not any(_matching(row, cells.cells) for row in rows):
        return None
    columns = (
        Column("RTT (ms)"),
        Column("Transports", number=False),
        Column("Of path, study"),
        Column("Of path, here"),
        Column("S, study"),
        Column("S, here"),
        Column("F, study"),
        Column("F, here"),
        Column("Transports here"),
    )
    table = Table(columns, tuple(_row(row, _matching(row, cells.cells)) for row in rows))
    heading = "Throughput, stability and fairness over long paths"
    return Section("study", "Comparison with the study", tables=[StudyTable(heading, f"{NOTE} {source}", table)])


def _matching(row: Row, cells: Sequence[Scheduled]) -> list[Scheduled]:
    """The measured cells with the round-trip time and the transports of the row."""

    def is_meant(protocol: str) -> bool:
        match row["protocols"]:
            case "FAST":
                return protocol == "fast"
            case "all but FAST":
                return protocol != "fast"
        return True

    rtt = float(row["path_rtt_ms"])
    alike = [cell for cell in cells if cell.result.schedule == SCHEDULE]
    return [cell for cell in alike if cell.cell.factors.get(RTT) == rtt and is_meant(cell.result.protocol)]


def _row(row: Row, cells: Sequence[Scheduled]) -> tuple[Entry, ...]:
    def of_path(cell: Scheduled) -> float | None:
        rate = cell.cell.factors.get(RATE)
        goodput = cell.result.goodput_bps.median
        return goodput / float(rate) if isinstance(rate, int | float) and goodput is not None else None

    throughput, deviation = (float(row[name]) * 1e6 / STUDY_RATE_BPS for name in ("throughput_mbps", "throughput_sd"))
    return (
        Entry(row["path_rtt_ms"], row["path_rtt_ms"]),
        Entry(row["protocols"], row["protocols"]),
        Entry(f"{percent(throughput)} ± {percent(deviation)}", str(throughput)),
        _mean([of_path(cell) for cell in cells], percent),
        Entry(row["stability"] + (f" ± {row['stability_sd']}" if row["stability_sd"] else ""), row["stability"]),
        _mean(_values(cells, lambda result: result.stability.median), significant),
        Entry(row["fairness_min"], row["fairness_min"]),
        _mean(_values(cells, lambda result: result.fairness_min.median), significant),
        Entry(str(len(cells)), str(len(cells)), ", ".join(cell.result.protocol for cell in cells)),
    )


def _values(cells: Sequence[Scheduled], value: Callable[[Transports], float | None]) -> list[float | None]:
    return [value(cell.result) for cell in cells]


def _mean(values: Sequence[float | None], text: Callable[[float], str]) -> Entry:
    known = [value for value in values if value is not None]
    if not known:
        return Entry("")
    deviation = f" ± {text(stdev(known))}" if len(known) > 1 else ""
    return Entry(f"{text(fmean(known))}{deviation}", f"{fmean(known):.6g}")
