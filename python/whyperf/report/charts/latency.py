"""Charts of latency: percentiles against a factor, and the curve to 99.999 % of single cells."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product

import numpy as np
import polars as pl

from whyperf.analyze.measures.latency import curve
from whyperf.analyze.summary import CellResult, Latency
from whyperf.analyze.text import factor_name, level_text, level_with_unit, seconds, significant
from whyperf.report.charts import columns as data
from whyperf.report.charts import figures
from whyperf.report.charts.blocks import Chart, Group, Key, Legend
from whyperf.report.charts.colors import CATEGORIES, ENDS, Paint, ordered
from whyperf.report.charts.distribution import BOX_NOTE, box_columns
from whyperf.report.charts.layout import MAX_LINES, Axis, Layout, Level
from whyperf.report.charts.models import DataRange1d, FixedTicker, Plot
from whyperf.report.charts.switchboard import Choice, Columns, Switchboard, choice

Histograms = Mapping[tuple[str, str], pl.DataFrame]
"""Merged histograms (`analyze.latency.merged`) by cell and kind."""

FIELDS = {"p50_ns": "50 %", "p90_ns": "90 %", "p99_ns": "99 %", "p99_9_ns": "99.9 %", "p99_99_ns": "99.99 %"}
MAX_POINTS = 120
#: An axis is logarithmic from this ratio of the largest to the smallest value.
WIDE = 10
KINDS = {
    "intended": "from the intended start",
    "service": "from the actual start (closed loop)",
    "wire": "outside the near host, by kernel time stamps",
    "host": "inside the near host, by kernel time stamps",
    "connect": "connection setup",
}
#: Ticks of the axis of a curve: 1 of so many is slower.
TICKS = {2: "50 %", 10: "90 %", 100: "99 %", 1000: "99.9 %", 10_000: "99.99 %", 100_000: "99.999 %"}
CURVE_NOTE = "From left to right, 1 of 10, 100, 1000 … transactions was slower."


@dataclass(frozen=True)
class Place:
    """The ids, layout and choices that the charts of a sweep share."""

    prefix: str
    layout: Layout
    panels: tuple[Choice, ...]
    board: Switchboard


def latency_groups(place: Place, cells: Sequence[CellResult], histograms: Histograms | None) -> list[Group]:
    """Percentiles against x, and a curve per level of x; empty where no latency was measured."""
    known = [cell for cell in cells if cell.metric == "transactions" and _latency(cell) is not None]
    if not known:
        return []
    unit = _unit(max(_latency(cell).max_ns for cell in known))  # type: ignore[union-attr]
    groups = [_against(place, unit)]
    if histograms:
        groups.append(_curves(place, histograms, unit))
    note = " ".join(sorted({NOTES[_latency(cell).kind] for cell in known}))  # type: ignore[union-attr]
    return [replace(group, note=f"{note} {group.note}".strip()) for group in groups]


def single_curve(cell: CellResult, histograms: Histograms, board: Switchboard) -> Group | None:
    """The curves of the only cell, one per kind; None where no latency was measured."""
    kinds = [kind for kind in KINDS if (cell.id, kind) in histograms]
    if not kinds or cell.metric != "transactions":
        return None
    unit = _unit(max(histograms[cell.id, kind]["high"].to_list()[-1] for kind in kinds))
    made = _empty_curve(unit[1])
    points = []
    for kind, paint in zip(kinds, CATEGORIES, strict=False):
        source = board.source((), {(): _columns(histograms[cell.id, kind], KINDS[kind], unit[0])})
        figures.add_line(made, source, paint, f"latency-{kind}")
        points.append(figures.add_points(made, source, paint, f"latency-{kind}", size=4))
    figures.hover(made, points, {"Latency": "line", "Not exceeded by": "at", "Time": "shown"})
    keys = tuple(Key(KINDS[kind], paint, f"latency-{kind}") for kind, paint in zip(kinds, CATEGORIES, strict=False))
    chart = Chart("latency-curve", "", made, "Latency by the share of transactions that did not exceed it.")
    latency = _latency(cell)
    note = f"{NOTES[latency.kind]} {CURVE_NOTE}" if latency is not None else CURVE_NOTE
    return Group("Latency", (chart,), note, Legend("", keys))


NOTES = {
    "intended": "Latency is measured from the intended start of a transaction.",
    "service": "Latency is from a closed loop: time before the start of a transaction is not included.",
}


def _against(place: Place, unit: tuple[float, str]) -> Group:
    """Percentiles as lines of one chart; with a second factor a chart per percentile, a line per level."""
    prefix, layout, panels, board = place.prefix, place.layout, place.panels, place.board
    axis, lines = layout.x, layout.lines
    title = f"Latency ({unit[1]})"
    if lines is None:
        made = figures.factor_chart(axis, title, log_y=_is_wide(layout, tuple(FIELDS)))
        points = []
        keys = []
        for (field, name), paint in zip(FIELDS.items(), ordered(len(FIELDS)), strict=True):
            line = f"{prefix}-latency-{field}"
            source = board.source(panels, _values(layout, None, name, _value(field, unit[0]), _latency_text(field)))
            figures.add_trend(made, source, axis, paint, line)
            points.append(figures.add_points(made, source, paint, line))
            keys.append(Key(name, paint, line))
        figures.hover(made, points, {_label(axis): "at", "Not exceeded by": "line", "Latency": "shown"})
        chart = Chart(f"{prefix}-latency", "", made, f"Latency percentiles against {factor_name(axis.factor)}.")
        return Group(
            f"Latency against {factor_name(axis.factor)}", (chart,), "", Legend("Not exceeded by", tuple(keys))
        )
    charts = []
    levels = lines.thinned(MAX_LINES)
    for field in ("p50_ns", "p99_ns"):
        made = figures.factor_chart(axis, title, log_y=_is_wide(layout, (field,)))
        points = []
        for index, (level, paint) in enumerate(zip(levels, _paints(lines, len(levels)), strict=True)):
            name = level_with_unit(lines.factor, level)
            source = board.source(panels, _values(layout, level, name, _value(field, unit[0]), _latency_text(field)))
            # The chart above uses the same names of lines, so that one legend hides both.
            figures.add_trend(made, source, axis, paint, f"{prefix}-line-{index}")
            points.append(figures.add_points(made, source, paint, f"{prefix}-line-{index}"))
        figures.hover(made, points, {_label(axis): "at", _label(lines): "line", "Latency": "shown"})
        description = f"Latency that {FIELDS[field]} did not exceed, against {factor_name(axis.factor)}."
        charts.append(Chart(f"{prefix}-latency-{field}", f"Not exceeded by {FIELDS[field]}", made, description))
    return Group(f"Latency against {factor_name(axis.factor)}", tuple(charts), "", _lines_legend(prefix, lines))


def _is_wide(layout: Layout, fields: Sequence[str]) -> bool:
    """True where only a logarithmic axis shows the small values."""
    values = [value for cell in layout.cells.values() for field in fields if (value := _value(field, 1.0)(cell))]
    return bool(values) and max(values) >= WIDE * min(values)


def _curves(place: Place, histograms: Histograms, unit: tuple[float, str]) -> Group:
    """A curve per level of x; a list selects the level of the second factor."""
    prefix, layout, panels, board = place.prefix, place.layout, place.panels, place.board
    axis, lines = layout.x, layout.lines
    own = (
        ()
        if lines is None
        else (choice(f"{prefix}-curve", lines.factor, _label(lines), lines.levels, lines.levels[0]),)
    )
    levels = axis.thinned(MAX_LINES)
    made = _empty_curve(unit[1])
    points = []
    paints = _paints(axis, len(levels))
    for index, (level, paint) in enumerate(zip(levels, paints, strict=True)):
        name = level_with_unit(axis.factor, level)
        columns: dict[tuple[str, ...], Columns] = {}
        for panel in product(*(factor.levels for factor in layout.panels)):
            for line in lines.levels if lines is not None else (None,):
                key = (*map(level_text, panel), *(() if lines is None else (level_text(line),)))
                columns[key] = _columns(_histogram(layout.cell(level, line, panel), histograms), name, unit[0])
        source = board.source((*panels, *own), columns)
        figures.add_line(made, source, paint, f"{prefix}-curve-{index}")
        points.append(figures.add_points(made, source, paint, f"{prefix}-curve-{index}", size=4))
    figures.hover(made, points, {_label(axis): "line", "Not exceeded by": "at", "Latency": "shown"})
    keys = tuple(
        Key(level_text(level), paint, f"{prefix}-curve-{index}")
        for index, (level, paint) in enumerate(zip(levels, paints, strict=True))
    )
    chart = Chart(f"{prefix}-curves", "", made, "Latency by the share of transactions that did not exceed it.")
    boxes = _boxes(place, levels, own, histograms, unit)
    return Group("Latency distribution", (chart, boxes), f"{CURVE_NOTE} {BOX_NOTE}", Legend(axis.title, keys), own)


def _boxes(
    place: Place, levels: Sequence[Level], own: tuple[Choice, ...], histograms: Histograms, unit: tuple[float, str]
) -> Chart:
    """A box plot per level of x, by the same lists as the curves."""
    axis, lines = place.layout.x, place.layout.lines
    names = [level_text(level) for level in levels]
    made = figures.named_chart(names, f"Latency ({unit[1]})", log_y=True)
    boxes = []
    for number, (level, paint) in enumerate(zip(levels, _paints(axis, len(levels)), strict=True)):
        columns: dict[tuple[str, ...], Columns] = {}
        for panel in product(*(factor.levels for factor in place.layout.panels)):
            for line in lines.levels if lines is not None else (None,):
                key = (*map(level_text, panel), *(() if lines is None else (level_text(line),)))
                found = _histogram(place.layout.cell(level, line, panel), histograms)
                columns[key] = _box(number, level_with_unit(axis.factor, level), found, unit[0])
        source = place.board.source((*place.panels, *own), columns)
        boxes.append(figures.add_boxes(made, source, paint, f"{place.prefix}-curve-{number}"))
    figures.hover(made, boxes, {_label(axis): "at", "Transactions": "count", "Latency": "shown"})
    return Chart(f"{place.prefix}-latency-boxes", "Box plots", made, f"Box plots of the latency by {axis.title}.")


def _box(place: int, name: str, histogram: pl.DataFrame | None, scale: float) -> Columns:
    if histogram is None or histogram["count"].sum() == 0:
        return {column: [] for column in box_columns(0, "", np.ones(1), 1.0)}
    values = np.maximum(histogram["high"].cast(pl.Float64).to_numpy(), 1.0)
    return box_columns(place, name, values, scale, histogram["count"].cast(pl.Float64).to_numpy())


def transaction_cost_groups(place: Place, cells: Sequence[CellResult]) -> list[Group]:
    """CPU time per transaction against x, a chart per role; empty where it is not known."""
    if not any(_cost(end)(cell) is not None for cell in cells for end in ENDS):
        return []
    prefix, layout, panels, board = place.prefix, place.layout, place.panels, place.board
    axis, lines = layout.x, layout.lines
    levels: tuple[object, ...] = (None,) if lines is None else lines.thinned(MAX_LINES)
    paints = (CATEGORIES[0],) if lines is None else _paints(lines, len(levels))
    charts = []
    for end in ENDS:
        made = figures.factor_chart(axis, "CPU time per transaction (µs)")
        points = []
        for index, (level, paint) in enumerate(zip(levels, paints, strict=True)):
            name = "" if lines is None else level_with_unit(lines.factor, level)
            columns = _values(layout, level, name, _cost(end), _cost_text(end))
            source = board.source(panels, columns)
            figures.add_trend(made, source, axis, paint, f"{prefix}-line-{index}")
            points.append(figures.add_points(made, source, paint, f"{prefix}-line-{index}"))
        rows = {_label(axis): "at", **({} if lines is None else {_label(lines): "line"}), "CPU time": "shown"}
        figures.hover(made, points, rows)
        description = f"CPU time per transaction at the {end} against {factor_name(axis.factor)}."
        charts.append(Chart(f"{prefix}-transaction-{end}", end.capitalize(), made, description))
    note = (
        "Busy time of the host's CPUs per completed transaction; where both hosts share their CPUs, the time of "
        "whyperf's own threads."
    )
    legend = None if lines is None else _lines_legend(prefix, lines)
    return [Group("CPU time per transaction", tuple(charts), note, legend)]


def _latency(cell: CellResult) -> Latency | None:
    return cell.transactions.latency if cell.transactions is not None else None


def _value(field: str, scale: float) -> Callable[[CellResult], float | None]:
    def value(cell: CellResult) -> float | None:
        latency = _latency(cell)
        ns = None if latency is None else getattr(latency, field)
        return None if ns is None else max(1, ns) / scale

    return value


def _latency_text(field: str) -> Callable[[CellResult], str]:
    def text(cell: CellResult) -> str:
        latency = _latency(cell)
        ns = None if latency is None else getattr(latency, field)
        return "unknown" if ns is None else seconds(ns)

    return text


def _cost(end: str) -> Callable[[CellResult], float | None]:
    def value(cell: CellResult) -> float | None:
        cost = getattr(cell.transactions.cost, end) if cell.transactions is not None else None
        if cost is None:
            return None
        ns: float | None = cost.busy_ns if cost.busy_ns is not None else cost.load_threads_ns
        return None if ns is None else ns / 1000

    return value


def _cost_text(end: str) -> Callable[[CellResult], str]:
    value = _cost(end)

    def text(cell: CellResult) -> str:
        number = value(cell)
        return "unknown" if number is None else f"{significant(number)} µs"

    return text


def _values(
    layout: Layout,
    line: object,
    line_name: str,
    value: Callable[[CellResult], float | None],
    show: Callable[[CellResult], str],
) -> dict[tuple[str, ...], Columns]:
    """The columns of a line for every combination of panels."""
    axis = layout.x
    columns: dict[tuple[str, ...], Columns] = {}
    for panel in product(*(factor.levels for factor in layout.panels)):
        places = zip(axis.values(), axis.levels, strict=True)
        rows = [(place, level, layout.cell(level, line, panel)) for place, level in places]
        columns[tuple(level_text(level) for level in panel)] = data.labeled(
            data.values(rows, axis.factor, line_name, value, show), axis
        )
    return columns


def _histogram(cell: CellResult | None, histograms: Histograms) -> pl.DataFrame | None:
    if cell is None or (latency := _latency(cell)) is None:
        return None
    return histograms.get((cell.id, latency.kind))


def _columns(histogram: pl.DataFrame | None, line: str, scale: float) -> Columns:
    """Points of a curve, evenly spaced on its logarithmic axis."""
    above, values = ([], []) if histogram is None else curve(histogram)
    if not above:
        return {"x": [], "y": [], "at": [], "line": [], "shown": []}
    # All transactions but those above the next value were at most this long.
    rarer = np.array([*above[1:], 0.0])
    ns = np.array(values)
    total = 1 / (above[-1] or 1.0) if above[-1] else 1.0
    x = np.where(rarer > 0, 1 / np.where(rarer > 0, rarer, 1.0), total)
    wanted = np.geomspace(1, max(x[-1], 1.0000001), MAX_POINTS)
    kept = np.unique(np.append(np.minimum(np.searchsorted(x, wanted), len(x) - 1), len(x) - 1))
    return {
        "x": [float(f"{value:.5g}") for value in x[kept]],
        "y": [float(f"{max(1, value) / scale:.4g}") for value in ns[kept]],
        "at": [_part(value) for value in x[kept]],
        "line": [line] * len(kept),
        "shown": [seconds(value) for value in ns[kept]],
    }


def _part(slower: float) -> str:
    """`99.9 %` where 1 of 1000 is slower."""
    return f"{significant((1 - 1 / slower) * 100, 3 if slower < 1000 else 6)} %"


def _empty_curve(unit: str) -> Plot:
    made = figures.chart("Share of the transactions that took no longer", f"Latency ({unit})", log_x=True, log_y=True)
    made.xaxis.ticker = FixedTicker(ticks=list(TICKS), minor_ticks=[])
    figures.label(made, {float(tick): text for tick, text in TICKS.items()})
    made.x_range = DataRange1d(range_padding=0.02)
    return made


def _unit(longest_ns: float) -> tuple[float, str]:
    """The unit of an axis, in ns, and its name: µs up to a second."""
    return (1e3, "µs") if longest_ns < 1e9 else (1e6, "ms")


def _paints(axis: Axis, count: int) -> Sequence[Paint]:
    return ordered(count) if axis.numeric and count > 2 else CATEGORIES[:count]


def _lines_legend(prefix: str, lines: Axis) -> Legend:
    levels = lines.thinned(MAX_LINES)
    keys = [
        Key(level_text(level), paint, f"{prefix}-line-{index}")
        for index, (level, paint) in enumerate(zip(levels, _paints(lines, len(levels)), strict=True))
    ]
    return Legend(lines.title, tuple(keys))


def _label(axis: Axis) -> str:
    name = factor_name(axis.factor)
    return name[:1].upper() + name[1:]
