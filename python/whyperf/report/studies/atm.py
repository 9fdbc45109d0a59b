"""Compares the throughputs of the ATM study with the model: each point, the peaks, and the errors."""

from collections.abc import Mapping, Sequence
from statistics import fmean

from whyperf.analyze.summary import CellResult, Summary
from whyperf.analyze.text import percent, significant
from whyperf.report.charts.blocks import Section, StudyTable
from whyperf.report.studies.published import read
from whyperf.report.table import Column, Entry, Table

PROFILE = "first-study"
USER_DATA_BYTES = 8192
#: The adapter of the study lost cells here; the error of a collapse is not meaningful.
COLLAPSE = ("sparc2+sba-100@2.0", 52428)

NOTE = (
    "Means over the runs, in Mbit/s. The errors do not include the collapse of the oldest driver with the largest "
    "window: timeouts determine its throughput, which differs in every run."
)
PEAK_NOTE = "Over all windows and user data sizes of this experiment."


def first_study_section(profile: str, summary: Summary) -> Section | None:
    """The section; None for another profile, or without a cell of the study."""
    if profile != PROFILE:
        return None
    source, points = read("atm_throughput")
    compared = [(row, cell) for row in points if (cell := _cell(summary.cells, row)) is not None]
    if not compared:
        return None
    section = Section("study", "Comparison with the study")
    section.tables += [
        StudyTable(f"Throughput, user data size {USER_DATA_BYTES:,} bytes", f"{NOTE} {source}", _points(compared)),
        StudyTable("Peaks", PEAK_NOTE, _peaks(summary.cells)),
        StudyTable("Errors", "Errors of the points above.", _errors(compared)),
    ]
    return section


def error_of(row: Mapping[str, str], cell: CellResult) -> float | None:
    """The relative error of the model; None where a figure is missing."""
    return _error_ratio(float(row["throughput_mbps"]), cell.goodput_bps.mean)


def _error_ratio(reported_mbps: float, simulated_bps: float | None) -> float | None:
    return None if simulated_bps is None else simulated_bps / 1e6 / reported_mbps - 1


def _points(compared: Sequence[tuple[Mapping[str, str], CellResult]]) -> Table:
    columns = (
        Column("Hosts", number=False),
        Column("Window (bytes)"),
        Column("Reported (Mbit/s)"),
        Column("Simulated (Mbit/s)"),
        Column("Error"),
        Column("Sender busy"),
        Column("Receiver busy"),
        Column("Retransmitted segments"),
    )
    rows = []
    for row, cell in compared:
        busy = [end.busy_ratio if end is not None else None for end in (cell.cpu.sender, cell.cpu.receiver)]
        retransmitted = cell.retransmitted_segments.median
        rows.append(
            (
                Entry(row["hosts"], row["hosts"]),
                Entry(f"{int(row['window_bytes']):,}", row["window_bytes"]),
                Entry(row["throughput_mbps"], row["throughput_mbps"]),
                _mbps(cell.goodput_bps.mean),
                _error(error_of(row, cell)),
                *(Entry("") if ratio is None else Entry(percent(ratio), f"{ratio:.6g}") for ratio in busy),
                Entry("") if retransmitted is None else Entry(f"{retransmitted:,.0f}", str(retransmitted)),
            )
        )
    return Table(columns, tuple(rows))


def _peaks(cells: Sequence[CellResult]) -> Table:
    columns = (
        Column("Hosts", number=False),
        Column("Reported (Mbit/s)"),
        Column("Simulated (Mbit/s)"),
        Column("Error"),
        Column("At window (bytes)"),
        Column("At user data size (bytes)"),
    )
    rows = []
    for row in read("atm_peak_throughput")[1]:
        own = [cell for cell in cells if cell.factors.get("hosts") == row["hosts"] and cell.goodput_bps.mean]
        if not own:
            continue
        best = max(own, key=lambda cell: cell.goodput_bps.mean or 0.0)
        places = [best.factors.get(name) for name in ("window_bytes", "write_size_bytes")]
        rows.append(
            (
                Entry(row["hosts"], row["hosts"]),
                Entry(row["throughput_mbps"], row["throughput_mbps"]),
                _mbps(best.goodput_bps.mean),
                _error(_error_ratio(float(row["throughput_mbps"]), best.goodput_bps.mean)),
                *(Entry(f"{place:,}", str(place)) for place in places),
            )
        )
    return Table(columns, tuple(rows))


def _errors(compared: Sequence[tuple[Mapping[str, str], CellResult]]) -> Table:
    columns = (Column("Hosts", number=False), Column("Points"), Column("Mean error"), Column("Largest error"))
    counted = [
        (row["hosts"], error)
        for row, cell in compared
        if (row["hosts"], int(row["window_bytes"])) != COLLAPSE and (error := error_of(row, cell)) is not None
    ]
    rows = []
    for name in [*dict.fromkeys(hosts for hosts, _ in counted), None]:
        errors = [abs(error) for hosts, error in counted if name in {None, hosts}]
        if errors:
            rows.append(
                (
                    Entry(name or "all", name or "all"),
                    Entry(str(len(errors)), str(len(errors))),
                    Entry(percent(fmean(errors)), f"{fmean(errors):.6g}"),
                    Entry(percent(max(errors)), f"{max(errors):.6g}"),
                )
            )
    return Table(columns, tuple(rows))


def _cell(cells: Sequence[CellResult], row: Mapping[str, str]) -> CellResult | None:
    wanted = {
        "hosts": row["hosts"],
        "window_bytes": int(row["window_bytes"]),
        "write_size_bytes": USER_DATA_BYTES,
        "read_size_bytes": USER_DATA_BYTES,
    }
    return next(
        (cell for cell in cells if all(cell.factors.get(name) == level for name, level in wanted.items())), None
    )


def _mbps(bps: float | None) -> Entry:
    return Entry("") if bps is None else Entry(significant(bps / 1e6), f"{bps / 1e6:.6g}")


def _error(ratio: float | None) -> Entry:
    return Entry("") if ratio is None else Entry(f"{100 * ratio:+.1f} %", f"{ratio:.6g}")
