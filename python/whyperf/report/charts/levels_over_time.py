"""Rate, congestion window and round-trip time over time, a line per level of a factor."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import product

import polars as pl

from whyperf.analyze.summary import CellResult
from whyperf.analyze.text import bit_rate, factor_name, level_text, level_with_unit, octets, seconds
from whyperf.analyze.time_series import Course
from whyperf.report.charts import figures
from whyperf.report.charts.blocks import Chart, Group, Key, Legend
from whyperf.report.charts.colors import CATEGORIES, Paint, ordered
from whyperf.report.charts.layout import MAX_LINES, Axis, Layout, Level
from whyperf.report.charts.metric import GOODPUT
from whyperf.report.charts.over_time import NO_CWND
from whyperf.report.charts.switchboard import Choice, Columns, Switchboard

MAX_CELLS = 48
"""With more cells, a page would mostly be these charts."""

MAX_POINTS = 150
MIN_POINTS = 5


@dataclass(frozen=True)
class _Quantity:
    """A chart's quantity: its frame with `at_s`, its column, the unit of the axis, and how a value is printed."""

    id: str
    title: str
    frame: Callable[[Course], pl.DataFrame]
    column: str
    unit: Callable[[float], tuple[float, str]]
    text: Callable[[float], str]


def _bytes_unit(highest: float) -> tuple[float, str]:
    return next(((size, unit) for size, unit in ((1 << 20, "MiB"), (1 << 10, "KiB")) if highest >= 4 * size), (1, "B"))


def _rate_unit(highest: float) -> tuple[float, str]:
    unit = GOODPUT.unit_for(highest)
    return unit.scale, unit.name


QUANTITIES = (
    _Quantity("rate", "Goodput", lambda found: found.counted_rates, "bps", _rate_unit, bit_rate),
    _Quantity(
        "cwnd",
        "Congestion window",
        lambda found: found.transport.filter(pl.col("role") == "sender"),
        "cwnd_bytes",
        _bytes_unit,
        octets,
    ),
    _Quantity(
        "rtt",
        "Smoothed round-trip time",
        lambda found: found.transport.filter(pl.col("role") == "sender"),
        "rtt_ms",
        lambda highest: (1.0, "ms") if highest >= 1 else (1e-3, "µs"),
        lambda value: seconds(value * 1e6),
    ),
)


def levels_over_time(prefix: str, layout: Layout, courses: Mapping[str, Course], board: Switchboard) -> Group | None:
    """The charts of a sweep, for the factor of the lines, otherwise that of x; None where the record has no series.

    `courses` have one trial per cell, by the cell. Lists select the levels of the other factors.
    """
    axis = layout.lines or layout.x
    others = [other for other in (layout.x, *layout.panels) if other is not axis]
    levels = axis.thinned(MAX_LINES)
    paints = ordered(len(levels)) if axis.numeric and len(levels) > 2 else CATEGORIES[: len(levels)]
    found = {
        (level_text(level), *map(level_text, combination)): courses.get(cell.id)
        for level in levels
        for combination in product(*(other.levels for other in others))
        if (cell := _cell(layout, axis, level, others, combination)) is not None
    }
    settings = list(dict.fromkeys(key[1:] for key, course in found.items() if course is not None))
    if not settings:
        return None
    shown = settings[len(settings) // 2]
    lists = tuple(
        Choice(f"{prefix}-time-{other.factor}", _label(other), tuple(map(level_text, other.levels)), chosen)
        for other, chosen in zip(others, shown, strict=True)
    )
    drawer = _Drawer(prefix, axis, levels, paints, found, lists, board)
    charts = tuple(made for quantity in QUANTITIES if (made := drawer.chart(quantity)) is not None)
    if not charts:
        return None
    keys = tuple(
        Key(level_text(level), paint, f"{prefix}-time-{number}")
        for number, (level, paint) in enumerate(zip(levels, paints, strict=True))
    )
    note = (
        "The first trial with a result of each setting; all connections together, of the round-trip times the median."
    )
    has_window = any(course is not None and course.transport["cwnd_bytes"].count() > 0 for course in found.values())
    note = note if has_window else f"{note} {NO_CWND}"
    return Group(f"Over time, by {factor_name(axis.factor)}", charts, note, Legend(axis.title, keys), lists)


def _cell(
    layout: Layout, axis: Axis, level: Level, others: Sequence[Axis], combination: Sequence[Level]
) -> CellResult | None:
    levels = {axis.factor: level, **{other.factor: chosen for other, chosen in zip(others, combination, strict=True)}}
    panel = [levels[other.factor] for other in layout.panels]
    line = None if layout.lines is None else levels[layout.lines.factor]
    return layout.cell(levels[layout.x.factor], line, panel)


@dataclass(frozen=True)
class _Drawer:
    """Draws a sweep: `found` has the courses by the level of `axis` and the levels of the lists."""

    prefix: str
    axis: Axis
    levels: Sequence[Level]
    paints: Sequence[Paint]
    found: Mapping[tuple[str, ...], Course | None]
    lists: Sequence[Choice]
    board: Switchboard

    def chart(self, quantity: _Quantity) -> Chart | None:
        """The chart of a quantity; None where no course has it."""
        frames = {
            key: quantity.frame(course).drop_nulls(quantity.column)
            for key, course in self.found.items()
            if course is not None
        }
        if not any(frame.height >= MIN_POINTS for frame in frames.values()):
            return None
        highest = max(float(frame[quantity.column].max() or 0) for frame in frames.values())  # type: ignore[arg-type]
        scale, unit = quantity.unit(highest)
        made = figures.time_chart(f"{quantity.title} ({unit})")
        points = []
        combinations = list(dict.fromkeys(key[1:] for key in self.found))
        for number, (level, paint) in enumerate(zip(self.levels, self.paints, strict=True)):
            name, line = level_with_unit(self.axis.factor, level), f"{self.prefix}-time-{number}"
            columns = {
                combination: _columns(frames.get((level_text(level), *combination)), quantity, scale, name)
                for combination in combinations
            }
            source = self.board.source(self.lists, columns)
            figures.add_line(made, source, paint, line)
            points.append(figures.add_points(made, source, paint, line, size=3))
        figures.hover(made, points, {_label(self.axis): "line", "Time": "at", quantity.title: "shown"})
        description = f"{quantity.title} over time, a line per {factor_name(self.axis.factor)}."
        return Chart(f"{self.prefix}-time-{quantity.id}", quantity.title, made, description)


def _columns(frame: pl.DataFrame | None, quantity: _Quantity, scale: float, name: str) -> Columns:
    """At most `MAX_POINTS` means of neighbors."""
    if frame is None or frame.height < MIN_POINTS:
        return {"x": [], "y": [], "at": [], "line": [], "shown": []}
    step = -(-frame.height // MAX_POINTS)
    thinned = (
        frame.with_row_index("place")
        .group_by(pl.col("place") // step, maintain_order=True)
        .agg(pl.col("at_s").mean(), pl.col(quantity.column).cast(pl.Float64).mean())
    )
    values = thinned[quantity.column].to_list()
    return {
        "x": [round(value, 4) for value in thinned["at_s"]],
        "y": [float(f"{value / scale:.4g}") for value in values],
        "at": [f"{value:.2f} s" for value in thinned["at_s"]],
        "line": [name] * len(values),
        "shown": [quantity.text(value) for value in values],
    }


def _label(axis: Axis) -> str:
    name = factor_name(axis.factor)
    return name[:1].upper() + name[1:]
