"""The table of cells: what every cell measured, sortable."""

from collections.abc import Callable
from dataclasses import dataclass

from whyperf.analyze.doubts import CPU_POOL_SHORT_S
from whyperf.analyze.quantity import percent, seconds, significant
from whyperf.analyze.summary import CellResult, EndCpu, Summary
from whyperf.report.columns import RateUnit, rate_unit
from whyperf.report.layout import varied_axes
from whyperf.report.words import ENDS, factor_title, level_text


@dataclass(frozen=True)
class Entry:
    """A table cell: what is shown, the number it sorts by (empty: sorts last), a page beside that it leads to."""

    text: str
    sort: str = ""
    title: str = ""
    link: str = ""


@dataclass(frozen=True)
class Column:
    """A column: its heading, a longer explanation, whether it holds numbers."""

    heading: str
    explanation: str = ""
    number: bool = True


@dataclass(frozen=True)
class Table:
    """Headings, and rows as long as they."""

    columns: tuple[Column, ...]
    rows: tuple[tuple[Entry, ...], ...]


def cells_table(summary: Summary) -> Table:
    """The table of all cells. Columns that say nothing in any cell are left out."""
    unit = rate_unit(summary.cells)
    columns: list[tuple[Column, Callable[[CellResult], Entry]]] = []
    sweeps = {cell.sweep: [other for other in summary.cells if other.sweep == cell.sweep] for cell in summary.cells}
    if len(sweeps) > 1:
        columns.append((Column("Sweep", number=False), lambda cell: Entry(cell.sweep, cell.sweep)))
    # Where factors vary together in one sweep they need not in another, so each has its own column then.
    titles = {
        axis.factor: axis.title if len(sweeps) == 1 else factor_title(axis.factor)
        for cells in sweeps.values()
        for axis in varied_axes(cells)
    }
    columns += [(Column(title), _factor(factor)) for factor, title in titles.items()]
    columns += _measured(unit)
    rows = [[make(cell) for _, make in columns] for cell in summary.cells]
    kept = [
        index for index, (column, _) in enumerate(columns) if not column.number or any(row[index].sort for row in rows)
    ]
    return Table(
        tuple(columns[index][0] for index in kept),
        tuple(tuple(row[index] for index in kept) for row in rows),
    )


def _measured(unit: RateUnit) -> list[tuple[Column, Callable[[CellResult], Entry]]]:
    return [
        (Column(f"Goodput ({unit.name})", "Median of the trials"), _goodput(unit)),
        (Column("95 % interval", "Bootstrap interval of the median"), _interval(unit)),
        (Column("Trials", "Trials with a goodput"), lambda cell: _number(cell.trials)),
        *((Column(f"CPU {end}", "Busy part of the end's own CPUs"), _cpu(end)) for end in ENDS),
        *((Column(f"Cycles/KB {end}", "Cycles per 1,024 bytes of payload"), _cycles(end)) for end in ENDS),
        (Column("Announced window", "Largest receive window announced, bytes"), _announced),
        (Column("Retransmitted", "Segments sent again, median of the trials"), _again),
        (Column("Unsteady", "Trials without steady state"), lambda cell: _count(cell.unsteady_trials)),
        (Column("Failed", "Failed, cut and unusable trials"), _lost),
    ]


def _factor(name: str) -> Callable[[CellResult], Entry]:
    def make(cell: CellResult) -> Entry:
        level = cell.factors.get(name)
        number = isinstance(level, int | float) and not isinstance(level, bool)
        return Entry("" if level is None else level_text(level), str(level) if number else level_text(level))

    return make


def _goodput(unit: RateUnit) -> Callable[[CellResult], Entry]:
    def make(cell: CellResult) -> Entry:
        median = cell.goodput_bps.median
        return Entry("none") if median is None else Entry(significant(median / unit.bps), f"{median:.6g}")

    return make


def _interval(unit: RateUnit) -> Callable[[CellResult], Entry]:
    def make(cell: CellResult) -> Entry:
        low, high = cell.goodput_bps.low, cell.goodput_bps.high
        if low is None or high is None:
            return Entry("")
        return Entry(f"{significant(low / unit.bps)}–{significant(high / unit.bps)}", f"{high - low:.6g}")

    return make


def _cpu(end: str) -> Callable[[CellResult], Entry]:
    def make(cell: CellResult) -> Entry:
        cpu: EndCpu | None = getattr(cell.cpu, end)
        if cpu is None:
            return Entry("")
        if cpu.busy_ratio is not None:
            rough = cpu.pooled_s < CPU_POOL_SHORT_S
            title = (
                f"Rough: from {seconds(cpu.pooled_s * 1e9)} of wall time, counted in ticks of 10 ms" if rough else ""
            )
            return Entry(("~" if rough else "") + percent(cpu.busy_ratio), f"{cpu.busy_ratio:.4g}", title)
        ratio = cpu.load_threads_ratio
        if ratio is None:
            return Entry("")
        return Entry(f"{percent(ratio)}*", f"{ratio:.4g}", "The load's own threads only; both ends share their CPUs")

    return make


def _cycles(end: str) -> Callable[[CellResult], Entry]:
    def make(cell: CellResult) -> Entry:
        value: float | None = getattr(cell.cycles_per_kbyte, end)
        return Entry("") if value is None else Entry(f"{value:,.0f}", f"{value:.5g}", cell.cycles_per_kbyte.unit or "")

    return make


def _announced(cell: CellResult) -> Entry:
    announced = cell.window.announced_bytes
    if announced is None:
        return Entry("")
    text = f"min {announced.min:,}, median {announced.median:,}, {announced.samples:,} samples"
    return Entry(f"{announced.max:,}", str(announced.max), text)


def _again(cell: CellResult) -> Entry:
    median = cell.retransmitted_segments.median
    return Entry("") if median is None else Entry(level_text(median), f"{median:g}")


def _lost(cell: CellResult) -> Entry:
    return _count(cell.failed_trials + cell.deadline_trials + cell.unusable_trials)


def _count(number: int) -> Entry:
    """A number of trials that is usually zero; a column of zeros says nothing."""
    return Entry(str(number), str(number)) if number else Entry("", "")


def _number(number: int) -> Entry:
    return Entry(str(number), str(number))
