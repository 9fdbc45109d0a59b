"""The page of a computed overhead: the curve, the bytes by layer, all points."""

import jinja2
from bokeh.embed import components
from bokeh.models import ColumnDataSource, FixedTicker
from markupsafe import Markup

from whyperf import __version__
from whyperf.analyze.text import bit_rate, percent
from whyperf.overhead import Overhead
from whyperf.overhead.sentences import headline, layer_rows, setting, shown_point
from whyperf.report.assets import asset, bokeh_script, together
from whyperf.report.charts import figures
from whyperf.report.charts.colors import ENDS, FAINT

_USER, _ADAPTER = ENDS["sender"], ENDS["receiver"]
#: Where the axis is labeled: powers of 4, and K from 1024 on.
_TICKS = tuple(4**power for power in range(13))


def page(answer: Overhead) -> str:
    """A self-contained HTML page."""
    script, div = components(_curve(answer))
    point = shown_point(answer)
    cells_heading = ["Cells"] if any(one.cells for one in answer.points) else []
    environment = jinja2.Environment(autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True)
    environment.filters["together"] = together
    return environment.from_string(asset("overhead.html.j2")).render(
        version=__version__,
        title=f"{answer.protocol.name} on {answer.link.name}",
        headline=headline(answer),
        told=setting(answer),
        keys=[("User level", _USER), ("Adapter level", _ADAPTER), ("Line", FAINT)],
        div=div,
        shown={
            "message_bytes": f"{point.message_bytes:,}",
            "line_bytes": f"{point.line_bytes:,.1f}".removesuffix(".0"),
            "layers": layer_rows(point),
        },
        headings=("Message (bytes)", "Frames", *cells_heading, "On the line (bytes)", "User", "Adapter", "Of line"),
        rows=[
            (
                f"{one.message_bytes:,}",
                f"{one.frames:,}",
                *([f"{one.cells:,}"] if cells_heading else []),
                f"{one.line_bytes:,.0f}",
                bit_rate(one.user_bps),
                bit_rate(one.adapter_bps),
                percent(one.efficiency(answer.link.rate_bps)),
            )
            for one in answer.points
        ],
        bokeh=bokeh_script(),
        script=script,
        css=Markup(asset("page.css")),
        js=asset("page.js"),
    )


def _curve(answer: Overhead) -> figures.Figure:
    """Both rates over the message size, and the line's."""
    scale, unit = (1e9, "Gbit/s") if answer.link.rate_bps >= 1e9 else (1e6, "Mbit/s")
    made = figures.chart("Message (bytes)", f"Rate ({unit})", log_x=True)
    sizes = [point.message_bytes for point in answer.points]
    for paint, rates in (
        (_ADAPTER, [point.adapter_bps for point in answer.points]),
        (_USER, [point.user_bps for point in answer.points]),
    ):
        source = ColumnDataSource({"x": sizes, "y": [rate / scale for rate in rates]})
        figures.add_line(made, source, paint)
    line = ColumnDataSource({"x": [sizes[0], sizes[-1]], "y": [answer.link.rate_bps / scale] * 2})
    figures.add_line(made, line, FAINT)
    ticks = [tick for tick in _TICKS if sizes[0] <= tick <= sizes[-1]]
    made.xaxis.ticker = FixedTicker(ticks=ticks, minor_ticks=[])
    figures.label(made, {tick: f"{tick // 1024} Ki" if tick >= 1024 else str(tick) for tick in ticks})
    return made
