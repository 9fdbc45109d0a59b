"""Empty charts and their marks, all in the style of the page.

Every model whose color depends on the page being light or dark carries a `paint` tag, which the
script of the page reads. Models of one line carry its `line` tag, which the buttons of the legend switch.
"""

from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

from bokeh.core.properties import value
from bokeh.models import (
    BasicTicker,
    ColumnDataSource,
    DataRange1d,
    FixedTicker,
    HoverTool,
    InlineStyleSheet,
    NoOverlap,
    NumeralTickFormatter,
    Range1d,
)
from bokeh.models.renderers import GlyphRenderer
from bokeh.plotting import figure

from whyperf.report.charts.colors import FAINT, GRID, INK, Paint, tag
from whyperf.report.charts.layout import Axis
from whyperf.report.charts.ticks import axis_ticks

FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', Arial, sans-serif"
HEIGHT = 340
TIME = "Time since the start of the load (s)"
#: Room above the highest point for its label, as a ratio of the y axis.
LABELED = 0.14
#: A linear x axis of a factor starts at 0 if its smallest level is at most this part of its largest.
FROM_ZERO = 0.25

Figure: TypeAlias = figure
Drawn: TypeAlias = "GlyphRenderer[Any]"


def chart(
    x_title: str, y_title: str, *, log_x: bool = False, log_y: bool = False, height: int = HEIGHT, zero: bool = True
) -> Figure:
    """An empty chart as wide as its place; the y axis starts at 0 unless `zero` is false or it is logarithmic."""
    made = figure(
        height=height,
        sizing_mode="stretch_width",
        x_axis_type="log" if log_x else "linear",
        y_axis_type="log" if log_y else "linear",
        tools="box_zoom,reset,save",
        toolbar_location="above",
        toolbar_inner=True,
        x_axis_label=x_title,
        y_axis_label=y_title,
        background_fill_color=None,
        border_fill_color=None,
        outline_line_color=None,
        min_border=0,
        min_border_right=12,
        min_border_top=10,
        output_backend="canvas",
    )
    made.toolbar.autohide = True
    made.toolbar.logo = None
    made.toolbar.stylesheets = [InlineStyleSheet(css=":host(.bk-inner) { background: none; opacity: 1; }")]
    from_zero = zero and not log_y
    made.y_range = DataRange1d(start=0, range_padding=0.06) if from_zero else DataRange1d(range_padding=0.06)
    made.y_range.only_visible = True
    for axis in (*made.xaxis, *made.yaxis):
        axis.axis_label_text_font = axis.major_label_text_font = FONT
        axis.axis_label_text_font_style = "normal"
        axis.axis_label_text_font_size = "13px"
        axis.major_label_text_font_size = "12px"
        axis.axis_label_text_color = FAINT[0]
        axis.major_label_text_color = INK[0]
        axis.axis_line_color = axis.major_tick_line_color = GRID[0]
        axis.minor_tick_line_color = None
        axis.axis_label_standoff = 10
        axis.major_tick_in = 0
    made.yaxis.axis_line_color = None
    made.yaxis.major_tick_line_color = None
    made.xgrid.grid_line_color = None
    made.ygrid.grid_line_color = GRID[0]
    if log_y:
        full_numbers(made)
    else:
        made.yaxis.ticker = BasicTicker(desired_num_ticks=5)
    return made


def factor_chart(axis: Axis, y_title: str, height: int = HEIGHT, *, log_y: bool = False) -> Figure:
    """An empty chart with a factor on the x axis."""
    made = chart(axis.title, y_title, log_x=axis.geometric, log_y=log_y, height=height)
    values = axis.values()
    if axis.numeric and not axis.geometric and 0 <= min(values) <= FROM_ZERO * max(values):
        made.x_range = DataRange1d(start=0)
    ticks, labels = axis_ticks(axis)
    made.xaxis.ticker = FixedTicker(ticks=ticks, minor_ticks=[])
    label(made, labels)
    if not axis.numeric:
        # Room for the labels of the highest point and of the last one.
        if isinstance(made.y_range, DataRange1d):
            made.y_range.range_padding = LABELED
        made.x_range = DataRange1d(start=-0.5, end=len(axis.levels) - 0.25)
    return made


def time_chart(y_title: str, *, height: int = HEIGHT) -> Figure:
    """An empty chart with the time since the start of the load on the x axis."""
    made = chart(TIME, y_title, height=height)
    made.x_range = DataRange1d(start=0, range_padding=0.02)
    return made


def named_chart(names: Sequence[str], y_title: str, *, log_y: bool = False) -> Figure:
    """An empty chart with names on the x axis, at 0, 1, 2 …"""
    made = chart("", y_title, log_y=log_y)
    made.xaxis.ticker = FixedTicker(ticks=list(range(len(names))), minor_ticks=[])
    # On a narrow screen, labels that would touch are left out; the tooltip has them.
    made.xaxis.major_label_policy = NoOverlap(min_distance=6)
    label(made, {float(place): name for place, name in enumerate(names)})
    made.x_range = Range1d(start=-0.6, end=len(names) - 0.4)
    return made


def label(made: Figure, labels: Mapping[float, str]) -> None:
    """Labels some ticks of the x axis."""
    made.xaxis.major_label_overrides = {position: text for position, text in labels.items()}  # noqa: C416


def _painted(renderer: Drawn, paint: Paint, line: str) -> Drawn:
    renderer.tags = [tag(paint), *([f"line|{line}"] if line else [])]
    return renderer


def add_line(made: Figure, source: ColumnDataSource, paint: Paint, line: str = "") -> None:
    """A line through the columns `x` and `y`."""
    _painted(made.line("x", "y", source=source, color=paint[0], line_width=2, line_join="round"), paint, line)


def add_trend(made: Figure, source: ColumnDataSource, axis: Axis, paint: Paint, line: str = "") -> None:
    """A line through the points of a factor with numbers; levels that are names are not joined but labeled.

    The columns of such levels have their label in `value` (`columns.labeled`).
    """
    if axis.numeric:
        add_line(made, source, paint, line)
        return
    add_values(made, source, line)


def add_band(made: Figure, source: ColumnDataSource, paint: Paint, line: str = "") -> None:
    """A translucent band between the columns `low` and `high`."""
    band = made.varea("x", "low", "high", source=source, fill_color=paint[0], fill_alpha=0.16, level="underlay")
    _painted(band, paint, line)


def add_area(made: Figure, source: ColumnDataSource, columns: tuple[str, str], paint: Paint, line: str = "") -> None:
    """A filled area between two columns over `x`, one of several stacked areas."""
    area = made.varea("x", *columns, source=source, fill_color=paint[0], fill_alpha=0.8)
    _painted(area, paint, line)


def add_edge(made: Figure, source: ColumnDataSource, column: str, paint: Paint) -> Drawn:
    """Invisible points on the upper edge of areas, which carry a tooltip."""
    points = made.scatter("x", column, source=source, color=paint[0], size=4, alpha=0, marker="circle")
    return _painted(points, paint, "")


def add_whiskers(made: Figure, source: ColumnDataSource, paint: Paint, line: str = "") -> None:
    """A vertical line from `low` to `high` at each point."""
    whiskers = made.segment("x", "low", "x", "high", source=source, color=paint[0], line_width=1.5, line_alpha=0.7)
    _painted(whiskers, paint, line)


def add_points(made: Figure, source: ColumnDataSource, paint: Paint, line: str = "", *, size: float = 6) -> Drawn:
    """A disc at each point; returns it for tooltips."""
    points = made.scatter("x", "y", source=source, color=paint[0], size=size, marker="circle")
    return _painted(points, paint, line)


def add_boxes(made: Figure, source: ColumnDataSource, paint: Paint, line: str = "") -> Drawn:
    """Box plots: a box from `quarter` to `three_quarters`, whiskers from `low` to `high`, a mark `y`, a dot `top`.

    The text in `value` stands next to the mark.
    """
    whiskers = made.segment("x", "low", "x", "high", source=source, color=paint[0], line_width=1.5)
    _painted(whiskers, paint, line)
    box = made.vbar(
        x="x", bottom="quarter", top="three_quarters", width=0.5, source=source, color=paint[0], fill_alpha=0.35
    )
    _painted(box, paint, line)
    median = made.scatter("x", "y", source=source, marker="dash", size=34, line_width=2.5, color=INK[0])
    _painted(median, INK, line)
    _painted(made.scatter("x", "top", source=source, marker="circle", size=4, color=paint[0]), paint, line)
    add_values(made, source, line, x_offset=22)
    return box


def add_values(made: Figure, source: ColumnDataSource, line: str = "", *, x_offset: int = 7) -> None:
    """The text in the column `value` next to each point."""
    values = made.text(
        "x", "y", text="value", source=source, text_color=INK[0], text_font=value(FONT), text_font_size=value("12px"),
        x_offset=x_offset, y_offset=-3,
    )  # fmt: skip
    _painted(values, INK, line)


def add_rings(made: Figure, source: ColumnDataSource, line: str = "") -> None:
    """A ring around each point: a cell or trial without steady state."""
    rings = made.scatter(
        "x", "y", source=source, marker="circle", size=15, line_width=1.8, line_color=INK[0], fill_color=None
    )
    _painted(rings, INK, line)


def add_marks(made: Figure, source: ColumnDataSource, line: str = "") -> Drawn:
    """A hollow mark around each point, of the shape in the column `marker`: an anomaly."""
    marks = made.scatter(
        "x", "y", source=source, marker="marker", size=17, line_width=1.8, line_color=INK[0], fill_color=None
    )
    return _painted(marks, INK, line)


def hover(made: Figure, renderers: Sequence[Drawn], rows: Mapping[str, str]) -> None:
    """A tooltip for `renderers`: label -> column.

    Raises:
        KeyError: a renderer's data has no such column; Bokeh would show `???`.
    """
    for renderer in renderers:
        source = renderer.data_source
        assert isinstance(source, ColumnDataSource)
        if lacking := set(rows.values()) - source.data.keys():
            raise KeyError(", ".join(sorted(lacking)))
    rows_html = "".join(
        f'<span style="color:var(--faint)">{name}</span><span>@{{{column}}}</span>' for name, column in rows.items()
    )
    tooltips = f'<div style="display:grid;grid-template-columns:auto auto;gap:3px 12px">{rows_html}</div>'
    made.add_tools(HoverTool(renderers=list(renderers), tooltips=tooltips, visible=False, point_policy="snap_to_data"))


def full_numbers(made: Figure) -> None:
    """Thousands separated on the y axis: 15,000."""
    made.yaxis.formatter = NumeralTickFormatter(format="0,0[.]00")


def full_percent(made: Figure, highest: float = 100) -> None:
    """A y axis from 0 to 100 %, or to `highest`: the ticks of the kernel may overcount a short time."""
    made.y_range = Range1d(start=0, end=max(highest, 100) * 1.04)
