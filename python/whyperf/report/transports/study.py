"""The study's table of transports over long paths beside ours.

The study averaged over transports at 1 Gbit/s, so ours are averaged the same way; rates compare as parts of the path's.
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
RATE = "path_rate_bps"

NOTE = (
    "The study's paths were real ones at 1 Gbit/s, with other traffic and runs of 16 minutes; ours is emulated and "
    "empty. Mean ± standard deviation over the transports named. Of path: goodput over the path's rate."
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
    return Section("study", "Beside the study", tables=[StudyTable(heading, f"{NOTE} {source}", table)])


def _matching(row: Row, cells: Sequence[Scheduled]) -> list[Scheduled]:
    """Our cells with the row's round-trip time and transports."""

    def is_meant(protocol: str) -> bool:
        match row["protocols"]:
            case "FAST":
                return protocol == "fast"
            case "all but FAST":
                return protocol != "fast"
        return True

    rtt = float(row["path_rtt_ms"])
    return [one for one in cells if one.cell.factors.get(RTT) == rtt and is_meant(one.result.protocol)]


def _row(row: Row, cells: Sequence[Scheduled]) -> tuple[Entry, ...]:
    def of_path(one: Scheduled) -> float | None:
        rate = one.cell.factors.get(RATE)
        goodput = one.result.goodput_bps.median
        return goodput / float(rate) if isinstance(rate, int | float) and goodput is not None else None

    throughput, deviation = (float(row[name]) * 1e6 / STUDY_RATE_BPS for name in ("throughput_mbps", "throughput_sd"))
    return (
        Entry(row["path_rtt_ms"], row["path_rtt_ms"]),
        Entry(row["protocols"], row["protocols"]),
        Entry(f"{percent(throughput)} ± {percent(deviation)}", str(throughput)),
        _mean([of_path(one) for one in cells], percent),
        Entry(row["stability"] + (f" ± {row['stability_sd']}" if row["stability_sd"] else ""), row["stability"]),
        _mean(_values(cells, lambda result: result.stability.median), significant),
        Entry(row["fairness_min"], row["fairness_min"]),
        _mean(_values(cells, lambda result: result.fairness_min.median), significant),
        Entry(str(len(cells)), str(len(cells)), ", ".join(one.result.protocol for one in cells)),
    )


def _values(cells: Sequence[Scheduled], value: Callable[[Transports], float | None]) -> list[float | None]:
    return [value(one.result) for one in cells]


def _mean(values: Sequence[float | None], told: Callable[[float], str]) -> Entry:
    known = [value for value in values if value is not None]
    if not known:
        return Entry("")
    deviation = f" ± {told(stdev(known))}" if len(known) > 1 else ""
    return Entry(f"{told(fmean(known))}{deviation}", f"{fmean(known):.6g}")
