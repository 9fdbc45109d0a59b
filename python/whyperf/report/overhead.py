"""The page of a computed overhead: the curve, the bytes by layer, all points."""

import jinja2
from markupsafe import Markup

from whyperf import __version__
from whyperf.analyze.text import bit_rate, percent
from whyperf.overhead import Overhead
from whyperf.overhead.sentences import headline, layer_rows, setting, shown_point
from whyperf.report.assets import asset, chart_scripts, packed_charts, together
from whyperf.report.charts import figures
from whyperf.report.charts.colors import ENDS, FAINT
from whyperf.report.charts.models import ColumnDataSource, FixedTicker, Plot, embedded

_USER, _ADAPTER = ENDS["sender"], ENDS["receiver"]
#: Labels of the axis: powers of 4.
_TICKS = tuple(4**power for power in range(13))


def page(answer: Overhead) -> str:
    """A self-contained HTML page."""
    charts = embedded({"curve": _curve(answer)})
    example = shown_point(answer)
    cells_heading = ["Cells"] if any(size.cells for size in answer.points) else []
    environment = jinja2.Environment(autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True)
    environment.filters["together"] = together
    return environment.from_string(asset("overhead.html.j2")).render(
        version=__version__,
        title=f"{answer.protocol.name} on {answer.link.name}",
        headline=headline(answer),
        setting=setting(answer),
        keys=[("User level", _USER), ("Adapter level", _ADAPTER), ("Link rate", FAINT)],
        div=charts.elements["curve"],
        shown={
            "message_bytes": f"{example.message_bytes:,}",
            "line_bytes": f"{example.line_bytes:,.1f}".removesuffix(".0"),
            "layers": layer_rows(example),
        },
        headings=(
            "Message (bytes)",
            "Frames",
            *cells_heading,
            "On the link (bytes)",
            "User rate",
            "Adapter rate",
            "Share of the link rate",
        ),
        rows=[
            (
                f"{point.message_bytes:,}",
                f"{point.frames:,}",
                *([f"{point.cells:,}"] if cells_heading else []),
                f"{point.line_bytes:,.0f}",
                bit_rate(point.user_bps),
                bit_rate(point.adapter_bps),
                percent(point.efficiency(answer.link.rate_bps)),
            )
            for point in answer.points
        ],
        packed=packed_charts(charts.script),
        css=Markup(asset("page.css")),
        js=chart_scripts(),
    )


def _curve(answer: Overhead) -> Plot:
    """Both rates over the message size, and the link rate."""
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
