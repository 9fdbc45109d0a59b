"""Empty charts and their marks, all in the style of the page.

Every model whose color depends on the page being light or dark carries a `paint` tag, which the
script of the page reads. Models of one line carry its `line` tag, which the buttons of the legend switch.
"""

from collections.abc import Mapping, Sequence
from typing import TypeAlias

from whyperf.report.charts.colors import FAINT, GRID, INK, SHADE, Paint, tag
from whyperf.report.charts.layout import Axis, Level
from whyperf.report.charts.models import (
    BasicTicker,
    BoxAnnotation,
    BoxZoomTool,
    ColumnDataSource,
    Curve,
    DataRange1d,
    Field,
    FixedTicker,
    GlyphRenderer,
    HoverTool,
    InlineStyleSheet,
    NumeralTickFormatter,
    Plot,
    Range1d,
    ResetTool,
    SaveTool,
    Scatter,
    Segment,
    Text,
    Value,
    VArea,
    VBar,
)
from whyperf.report.charts.ticks import axis_ticks, fit_in_a_row

FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', Arial, sans-serif"
HEIGHT = 340
#: A chart with at most so many points on its x axis has this height and greatest width.
FEW, SMALL = 2, (220, 420)
TIME = "Time since the start of the load (s)"
TIME_WATCHED = "Time (s)"
"""There is no start of a load where another program's connection is watched."""
#: Room above the highest point for its label, as a ratio of the y axis.
LABELED = 0.14
#: Names on the x axis that do not fit in a row are rotated by this, in radians. Longer ones than `MAX_NAME` are cut.
ANGLE = 0.9
MAX_NAME = 20
#: A linear x axis of a factor starts at 0 if its smallest level is at most this part of its largest.
FROM_ZERO = 0.25

Drawn: TypeAlias = GlyphRenderer


def chart(
    x_title: str, y_title: str, *, log_x: bool = False, log_y: bool = False, height: int = HEIGHT, zero: bool = True
) -> Plot:
    """An empty chart as wide as its place; the y axis starts at 0 unless `zero` is false or it is logarithmic."""
    made = Plot(
        log_x=log_x,
        log_y=log_y,
        height=height,
        sizing_mode="stretch_width",
        toolbar_location="above",
        toolbar_inner=True,
        background_fill_color=None,
        border_fill_color=None,
        outline_line_color=None,
        min_border=0,
        min_border_right=12,
        min_border_top=10,
        output_backend="canvas",
    )
    made.toolbar.tools = [BoxZoomTool(), ResetTool(), SaveTool()]
    made.toolbar.autohide = True
    made.toolbar.logo = None
    made.toolbar.stylesheets = [InlineStyleSheet(css=":host(.bk-inner) { background: none; opacity: 1; }")]
    from_zero = zero and not log_y
    made.y_range = DataRange1d(start=0, range_padding=0.06) if from_zero else DataRange1d(range_padding=0.06)
    made.y_range.only_visible = True
    for axis, title in ((made.xaxis, x_title), (made.yaxis, y_title)):
        axis.axis_label = title
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


def factor_chart(axis: Axis, y_title: str, height: int = HEIGHT, *, log_y: bool = False, peak: Level = None) -> Plot:
    """An empty chart with a factor on the x axis, and a tick at its level `peak`. One of two levels is small."""
    made = chart(axis.title, y_title, log_x=axis.geometric, log_y=log_y, height=height)
    if len(axis.levels) <= FEW:
        small(made)
    values = axis.values()
    if axis.numeric and not axis.geometric and 0 <= min(values) <= FROM_ZERO * max(values):
        made.x_range = DataRange1d(start=0)
    ticks, labels = axis_ticks(axis, peak)
    made.xaxis.ticker = FixedTicker(ticks=ticks, minor_ticks=[])
    label(made, labels)
    if not axis.numeric:
        # Room for the labels of the highest point and of the last one.
        if isinstance(made.y_range, DataRange1d):
            made.y_range.range_padding = LABELED
        made.x_range = DataRange1d(start=-0.5, end=len(axis.levels) - 0.25)
    return made


def small(made: Plot) -> None:
    """Makes a chart of few points small."""
    made.height, made.max_width = SMALL


def time_chart(y_title: str, *, height: int = HEIGHT) -> Plot:
    """An empty chart with the time since the start of the load on the x axis."""
    made = chart(TIME, y_title, height=height)
    made.x_range = DataRange1d(start=0, range_padding=0.02)
    return made


def rename_time(made: Plot, title: str) -> None:
    """Another name for the time on the x axis."""
    made.xaxis.axis_label = title


def named_chart(names: Sequence[str], y_title: str, *, log_y: bool = False) -> Plot:
    """An empty chart with names on the x axis, at 0, 1, 2 …"""
    made = chart("", y_title, log_y=log_y)
    if isinstance(made.y_range, DataRange1d):
        made.y_range.range_padding = LABELED
    made.xaxis.ticker = FixedTicker(ticks=list(range(len(names))), minor_ticks=[])
    label(made, {float(place): shortened(name) for place, name in enumerate(names)})
    if not fit_in_a_row(names):
        made.xaxis.major_label_orientation = ANGLE
    made.x_range = Range1d(start=-0.6, end=len(names) - 0.4)
    return made


def shortened(name: str) -> str:
    """A name of at most `MAX_NAME` characters; the tooltip has the whole."""
    return name if len(name) <= MAX_NAME else f"{name[: MAX_NAME - 1]}…"


def label(made: Plot, labels: Mapping[float, str]) -> None:
    """Labels some ticks of the x axis."""
    made.xaxis.major_label_overrides = dict(labels)


def _painted(renderer: Drawn, paint: Paint, line: str) -> Drawn:
    renderer.tags = [tag(paint), *([f"line|{line}"] if line else [])]
    return renderer


def add_line(made: Plot, source: ColumnDataSource, paint: Paint, line: str = "") -> None:
    """A line through the columns `x` and `y`."""
    glyph = Curve(x=Field("x"), y=Field("y"), line_color=paint[0], line_width=2, line_join="round")
    _painted(made.draw(source, glyph), paint, line)


def add_trend(made: Plot, source: ColumnDataSource, axis: Axis, paint: Paint, line: str = "") -> None:
    """A line through the points of a factor with numbers; levels that are names are not joined but labeled.

    The columns of such levels have their label in `value` (`columns.labeled`).
    """
    if axis.numeric:
        add_line(made, source, paint, line)
        return
    add_values(made, source, line)


def add_band(made: Plot, source: ColumnDataSource, paint: Paint, line: str = "") -> None:
    """A translucent band between the columns `low` and `high`."""
    glyph = VArea(x=Field("x"), y1=Field("low"), y2=Field("high"), fill_color=paint[0], fill_alpha=0.16)
    _painted(made.draw(source, glyph, level="underlay"), paint, line)


def add_area(made: Plot, source: ColumnDataSource, columns: tuple[str, str], paint: Paint, line: str = "") -> None:
    """A filled area between two columns over `x`, one of several stacked areas."""
    low, high = columns
    glyph = VArea(x=Field("x"), y1=Field(low), y2=Field(high), fill_color=paint[0], fill_alpha=0.8)
    _painted(made.draw(source, glyph), paint, line)


def add_edge(made: Plot, source: ColumnDataSource, column: str, paint: Paint) -> Drawn:
    """Invisible points on the upper edge of areas, which carry a tooltip."""
    glyph = _marker(paint, 4, y=column)
    glyph.line_alpha = glyph.fill_alpha = Value(0)
    return _painted(made.draw(source, glyph), paint, "")


def add_whiskers(made: Plot, source: ColumnDataSource, paint: Paint, line: str = "") -> None:
    """A vertical line from `low` to `high` at each point."""
    glyph = _whiskers(paint)
    glyph.line_alpha = Value(0.7)
    _painted(made.draw(source, glyph), paint, line)


def add_points(made: Plot, source: ColumnDataSource, paint: Paint, line: str = "", *, size: float = 6) -> Drawn:
    """A disc at each point; returns it for tooltips."""
    return _painted(made.draw(source, _marker(paint, size)), paint, line)


def add_boxes(made: Plot, source: ColumnDataSource, paint: Paint, line: str = "") -> Drawn:
    """Box plots: a box from `quarter` to `three_quarters`, whiskers from `low` to `high`, a mark `y`, a dot `top`.

    The text in `value` stands above the dot, where no box is.
    """
    _painted(made.draw(source, _whiskers(paint)), paint, line)
    bar = VBar(
        x=Field("x"),
        bottom=Field("quarter"),
        top=Field("three_quarters"),
        width=Value(0.5),
        line_color=Value(paint[0]),
        fill_color=Value(paint[0]),
        fill_alpha=Value(0.35),
    )
    box = _painted(made.draw(source, bar), paint, line)
    median = _marker(INK, 34)
    median.marker, median.line_width = Value("dash"), Value(2.5)
    _painted(made.draw(source, median), INK, line)
    _painted(made.draw(source, _marker(paint, 4, y="top")), paint, line)
    above = _text("top")
    above.text_align, above.y_offset = Value("center"), Value(-6)
    _painted(made.draw(source, above), INK, line)
    return box


def add_values(made: Plot, source: ColumnDataSource, line: str = "") -> None:
    """The text in the column `value` next to each point."""
    glyph = _text("y")
    glyph.x_offset, glyph.y_offset = Value(7), Value(-3)
    _painted(made.draw(source, glyph), INK, line)


def _text(y: str) -> Text:
    """The text in the column `value` at each point."""
    return Text(
        x=Field("x"),
        y=Field(y),
        text=Field("value"),
        text_color=Value(INK[0]),
        text_font=Value(FONT),
        text_font_size=Value("12px"),
    )


def add_rings(made: Plot, source: ColumnDataSource, line: str = "") -> None:
    """A ring around each point: a cell or trial without steady state."""
    _painted(made.draw(source, _hollow(15)), INK, line)


def add_marks(made: Plot, source: ColumnDataSource, line: str = "") -> Drawn:
    """A hollow mark around each point, of the shape in the column `marker`: an anomaly."""
    glyph = _hollow(17)
    glyph.marker = Field("marker")
    return _painted(made.draw(source, glyph), INK, line)


def add_shade(made: Plot, left: float, right: float) -> None:
    """A shaded part of the x axis, behind everything."""
    made.center.append(
        BoxAnnotation(
            left=left,
            right=right,
            fill_color=SHADE[0],
            fill_alpha=1,
            line_color=None,
            level="image",
            tags=[tag(SHADE)],
        )
    )


def _marker(paint: Paint, size: float, y: str = "y") -> Scatter:
    """A disc at each point."""
    color = Value(paint[0])
    return Scatter(x=Field("x"), y=Field(y), size=Value(size), line_color=color, fill_color=color)


def _hollow(size: float) -> Scatter:
    """A ring around each point."""
    glyph = _marker(INK, size)
    glyph.line_width, glyph.fill_color = Value(1.8), Value(None)
    return glyph


def _whiskers(paint: Paint) -> Segment:
    """A vertical line from `low` to `high` at each point."""
    return Segment(
        x0=Field("x"),
        y0=Field("low"),
        x1=Field("x"),
        y1=Field("high"),
        line_color=Value(paint[0]),
        line_width=Value(1.5),
    )


def hover(made: Plot, renderers: Sequence[Drawn], rows: Mapping[str, str]) -> None:
    """A tooltip for `renderers`: label -> column.

    Raises:
        KeyError: a renderer's data has no such column; Bokeh would show `???`.
    """
    for renderer in renderers:
        if lacking := set(rows.values()) - renderer.data_source.data.keys():
            raise KeyError(", ".join(sorted(lacking)))
    rows_html = "".join(
        f'<span style="color:var(--faint)">{name}</span><span>@{{{column}}}</span>' for name, column in rows.items()
    )
    tooltips = f'<div style="display:grid;grid-template-columns:auto auto;gap:3px 12px">{rows_html}</div>'
    tool = HoverTool(renderers=list(renderers), tooltips=tooltips, visible=False, point_policy="snap_to_data")
    made.toolbar.tools.append(tool)


def full_numbers(made: Plot) -> None:
    """Thousands separated on the y axis: 15,000."""
    made.yaxis.formatter = NumeralTickFormatter(format="0,0[.]00")


def full_percent(made: Plot, highest: float = 100) -> None:
    """A y axis from 0 to 100 %, or to `highest`: the ticks of the kernel may overcount a short time."""
    made.y_range = Range1d(start=0, end=max(highest, 100) * 1.04)
