"""Columns of data for charts, from cells in the order of an axis."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from whyperf.analyze.summary import CellResult, EndCpu
from whyperf.analyze.text import level_with_unit, percent, significant
from whyperf.report.charts.layout import Axis
from whyperf.report.charts.metric import GOODPUT, Metric, RateUnit

Point = tuple[float, object, CellResult | None]
"""Position on the x axis, level there, and the cell."""

Marks = Mapping[str, tuple[str, str]]
"""The anomalies by cell: the marker of a chart, and a sentence."""


def medians(points: Sequence[Point], factor: str, metric: Metric, unit: RateUnit, line: str) -> dict[str, list[object]]:
    """Medians of the metric with interval: columns x, y, low, high, at, line, shown, trials."""
    have = [(x, level, cell) for x, level, cell in points if cell is not None and metric.median(cell) is not None]

    def scaled(value: float | None, fallback: float | None) -> float | None:
        chosen = fallback if value is None else value
        return None if chosen is None else _short(chosen / unit.scale)

    spreads = [metric.spread(cell) for _, _, cell in have]
    medians_of = [scaled(spread.median, None) for spread in spreads]
    return {
        "x": [x for x, _, _ in have],
        "y": list(medians_of),
        "low": [scaled(spread.low, spread.median) for spread in spreads],
        "high": [scaled(spread.high, spread.median) for spread in spreads],
        "at": [level_with_unit(factor, level) for _, level, _ in have],
        "line": [line] * len(have),
        "shown": [spread_text(cell, metric) for _, _, cell in have],
        "trials": [trials_text(cell) for _, _, cell in have],
    }


def unsteady(points: Sequence[Point], metric: Metric, unit: RateUnit) -> dict[str, list[object]]:
    """Medians of cells with trials without steady state: x, y."""
    cells = [(x, cell) for x, _, cell in points if cell is not None and cell.unsteady_trials]
    known = [(x, median) for x, cell in cells if (median := metric.median(cell)) is not None]
    return {"x": [x for x, _ in known], "y": [_short(median / unit.scale) for _, median in known]}


def marked(points: Sequence[Point], metric: Metric, unit: RateUnit, marks: Marks) -> dict[str, list[object]]:
    """Medians of cells with an anomaly: x, y, marker, text."""
    cells = [(x, cell, marks[cell.id]) for x, _, cell in points if cell is not None and cell.id in marks]
    known = [(x, median, mark) for x, cell, mark in cells if (median := metric.median(cell)) is not None]
    return {
        "x": [x for x, _, _ in known],
        "y": [_short(median / unit.scale) for _, median, _ in known],
        "marker": [marker for _, _, (marker, _) in known],
        "text": [text for _, _, (_, text) in known],
    }


def values(
    points: Sequence[Point],
    factor: str,
    line: str,
    value: Callable[[CellResult], float | None],
    show: Callable[[CellResult], str],
) -> dict[str, list[object]]:
    """One value per cell: columns x, y, at, line, shown; cells without it are left out."""
    have = [(x, level, cell, value(cell)) for x, level, cell in points if cell is not None]
    known = [(x, level, cell, y) for x, level, cell, y in have if y is not None]
    return {
        "x": [x for x, _, _, _ in known],
        "y": [_short(y) for _, _, _, y in known],
        "at": [level_with_unit(factor, level) for _, level, _, _ in known],
        "line": [line] * len(known),
        "shown": [show(cell) for _, _, cell, _ in known],
    }


def labeled(columns: dict[str, list[object]], axis: Axis) -> dict[str, list[object]]:
    """With the text of each value in the column `value`, where levels are names and no line joins the points."""
    if axis.numeric:
        return columns
    return columns | {"value": [significant(y) if isinstance(y, int | float) else "" for y in columns["y"]]}


def spread_text(cell: CellResult, metric: Metric = GOODPUT) -> str:
    """A median with its interval: `9.14 Gbit/s (9.02 to 9.20)`."""
    spread = metric.spread(cell)
    if spread.median is None:
        return "none"
    if spread.low is None or spread.high is None:
        return metric.text(spread.median)
    scale = metric.unit_for(spread.median).scale
    return f"{metric.text(spread.median)} ({significant(spread.low / scale)} to {significant(spread.high / scale)})"


def trials_text(cell: CellResult) -> str:
    """`25`, or `25, 2 without steady state, 1 failed`."""
    extra: Mapping[str, int] = {
        "without steady state": cell.unsteady_trials,
        "failed": cell.failed_trials,
        "cut at the deadline": cell.deadline_trials,
    }
    return ", ".join([str(cell.trials), *(f"{number} {what}" for what, number in extra.items() if number)])


@dataclass(frozen=True)
class Busy:
    """The way the CPU time of a host is shown: of its CPUs, or of whyperf's own threads; in percent, or in CPUs."""

    threads_only: bool = False
    in_cpus: bool = False

    def of(self, end: str) -> Callable[[CellResult], float | None]:
        """The value of a role; None where it is not known."""

        def value(cell: CellResult) -> float | None:
            cpu: EndCpu | None = getattr(cell.cpu, end)
            if cpu is None:
                return None
            if self.in_cpus and not self.threads_only:
                return cpu.in_use_cpus
            ratio = cpu.load_threads_ratio if self.threads_only else cpu.busy_ratio
            return None if ratio is None else ratio * (len(cpu.cpus) if self.in_cpus else 100)

        return value

    def text(self, end: str) -> Callable[[CellResult], str]:
        """The value as text."""
        value = self.of(end)

        def text(cell: CellResult) -> str:
            number = value(cell)
            if number is None:
                return "unknown"
            return f"{significant(number)} CPUs" if self.in_cpus else percent(number / 100)

        return text


def cost(end: str) -> Callable[[CellResult], float | None]:
    """Cycles per KByte of a role."""

    def value(cell: CellResult) -> float | None:
        number: float | None = getattr(cell.cycles_per_kbyte, end)
        return number

    return value


def cost_text(end: str) -> Callable[[CellResult], str]:
    """The value as text, with its interval."""

    def text(cell: CellResult) -> str:
        cycles = cell.cycles_per_kbyte
        median, low, high = (getattr(cycles, f"{end}{suffix}") for suffix in ("", "_low", "_high"))
        if median is None:
            return "unknown"
        interval = f" ({significant(low)} to {significant(high)})" if low is not None else ""
        return f"{significant(median)} {cycles.unit}{interval}"

    return text


def _short(value: float) -> float:
    """Five significant digits: finer than a pixel, and it halves the size of the page."""
    return float(f"{value:.5g}")
