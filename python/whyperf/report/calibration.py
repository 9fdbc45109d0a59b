"""The page of a calibration: measured and modeled goodput by window, errors, costs, timed steps."""

from collections.abc import Sequence

import jinja2
from markupsafe import Markup

from whyperf import __version__
from whyperf.analyze.text import octets, significant
from whyperf.calibrate import Calibration, Judged
from whyperf.calibrate.sentences import determined_by_data, point_row, verdict_lines
from whyperf.calibrate.steps import QUANTITIES
from whyperf.report.assets import asset, chart_scripts, packed_charts, together
from whyperf.report.charts import figures
from whyperf.report.charts.colors import ENDS
from whyperf.report.charts.models import ColumnDataSource, FixedTicker, Plot, embedded

#: Labels of write sizes with a smaller ratio than this would touch on a small screen.
_APART = 4
_MEASURED, _MODEL = ENDS["sender"], ENDS["receiver"]


def page(calibration: Calibration) -> str:
    """A self-contained HTML page."""
    by_window: dict[int, list[Judged]] = {}
    for judged in calibration.verdict.points:
        by_window.setdefault(judged.point.place[0], []).append(judged)
    charts = embedded({f"Window {octets(window)}": _chart(judged) for window, judged in sorted(by_window.items())})
    lines = verdict_lines(calibration)
    facts = calibration.measured_on
    environment = jinja2.Environment(autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True)
    environment.filters["together"] = together
    return environment.from_string(asset("calibration.html.j2")).render(
        version=__version__,
        title=f"{calibration.base}, calibrated",
        headline=lines[0],
        verdict=" ".join(lines[1:]),
        where=f"{facts['cpu_model']}, {facts['cpus']} CPUs, Linux {facts['kernel']}, {facts['date']}",
        keys=[("Measured", _MEASURED), ("Model", _MODEL)],
        charts=charts.elements,
        point_headings=_columns("Window", "Write size", "*Fit", "Measured", "Model", "Range", "Error"),
        points=[point_row(judged) for judged in calibration.verdict.points],
        cost_headings=_columns(
            "*Cost", "Prior", "Plausible", "Fitted", "Ensemble, 5 to 95 %", "*Determined by the data"
        ),
        costs=[
            (
                cost.prior.key,
                significant(cost.prior.value),
                f"{significant(cost.prior.low)} to {significant(cost.prior.high)}",
                significant(cost.best),
                f"{significant(cost.low)} to {significant(cost.high)}",
                determined_by_data(cost),
            )
            for cost in calibration.found
        ],
        step_headings=_columns("*Quantity", "*Step", "Median", "95 % interval"),
        steps=[
            (QUANTITIES[name][0], name, significant(step.value), f"{significant(step.low)} to {significant(step.high)}")
            for name, step in calibration.steps.measured.items()
        ],
        packed=packed_charts(charts.script),
        css=Markup(asset("page.css")),
        js=chart_scripts(),
    )


def _columns(*headings: str) -> list[tuple[str, bool]]:
    """Headings, and whether the column has text (marked with `*`) or numbers."""
    return [(heading.removeprefix("*"), heading.startswith("*")) for heading in headings]


def _chart(judged: Sequence[Judged]) -> Plot:
    """Goodput over the write size of one window."""
    made = figures.chart("Write size (bytes)", "Goodput (Gbit/s)", log_x=True)
    ordered = sorted(judged, key=lambda cell: cell.point.place[1])
    sizes = [cell.point.place[1] for cell in ordered]
    for paint, rates in (
        (_MODEL, [cell.said_bps for cell in ordered]),
        (_MEASURED, [cell.point.goodput_bps for cell in ordered]),
    ):
        figures.add_line(made, ColumnDataSource({"x": sizes, "y": [rate / 1e9 for rate in rates]}), paint)
    ticks = [size for size in sizes if all(other >= size or other * _APART <= size for other in sizes)]
    made.xaxis.ticker = FixedTicker(ticks=ticks, minor_ticks=[])
    figures.label(made, {size: f"{size // 1024} Ki" if size >= 1024 else str(size) for size in ticks})
    return made
