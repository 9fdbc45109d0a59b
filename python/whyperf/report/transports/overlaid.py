"""Several runs in the same charts: goodput of each direction and round-trip time over time, a line per run."""

from collections.abc import Mapping

import numpy as np

from whyperf.analyze.steady.rates import Floats
from whyperf.analyze.text import bit_rate, seconds
from whyperf.analyze.transports.indicators import Indicators
from whyperf.analyze.transports.samples import PROBE
from whyperf.report.charts import figures
from whyperf.report.charts.blocks import Chart, Group, Key, Legend
from whyperf.report.charts.colors import CATEGORIES
from whyperf.report.charts.metric import GOODPUT, RateUnit
from whyperf.report.charts.models import ColumnDataSource, Plot
from whyperf.report.charts.switchboard import Columns
from whyperf.report.transports.over_time import (
    DIRECTIONS,
    LEFT,
    by_step,
    mean_columns,
    rtt_chart,
    short,
    thinned,
)

MAX_RUNS = len(CATEGORIES)
MAX_POINTS = 150
ID = "transports-runs"


def overlaid_group(runs: Mapping[str, Indicators]) -> Group | None:
    """The charts of at least two runs by their names, on one time axis; None of a single run."""
    drawn = dict(list(runs.items())[:MAX_RUNS])
    if len(drawn) < 2:
        return None
    ways = [way for way in DIRECTIONS if any(_flows(run, way) for run in drawn.values())]
    charts = [_goodput(way, drawn, several=len(ways) > 1) for way in ways]
    time_range = charts[0].figure.x_range
    if any(run.rtt_samples.source for run in drawn.values()):
        charts.append(_round_trips(drawn))
    for chart in charts:
        chart.figure.min_border_left = LEFT
        chart.figure.x_range = time_range
    keys = tuple(Key(name, CATEGORIES[number], f"{ID}-{number}") for number, name in enumerate(drawn))
    left = len(runs) - len(drawn)
    note = f"{left} more are in the table." if left else ""
    return Group("Runs compared over time", tuple(charts), note, Legend("", keys), is_stacked=True)


def _goodput(way: str, runs: Mapping[str, Indicators], *, several: bool) -> Chart:
    """All flows of a direction together."""
    direction = f", {DIRECTIONS[way]}" if several else ""
    title = f"Goodput of all flows{direction}"
    totals = {name: run.course.bps[_flows(run, way)].sum(axis=0) for name, run in runs.items()}
    unit = GOODPUT.unit_for(max(float(total.max(initial=0.0)) for total in totals.values()))
    made = figures.time_chart(f"Goodput ({unit.name})", height=260)
    columns = {name: _rates(run, totals[name], unit) if _flows(run, way) else None for name, run in runs.items()}
    _add_lines(made, columns, "Goodput")
    return Chart(f"{ID}-goodput-{way}", title, made, f"{title} over time, a line per run.")


def _flows(run: Indicators, way: str) -> list[int]:
    return [flow for flow, found in enumerate(run.course.active) if found.direction == way]


def _rates(run: Indicators, total: Floats, unit: RateUnit) -> Columns:
    course = run.course
    step = max(1, -(-course.region.size // MAX_POINTS))
    centers = thinned((course.edges_s[1:] + course.edges_s[:-1]) / 2, step)
    bps = thinned(total, step)
    return {
        "x": short(centers),
        "y": short(bps / unit.scale),
        "at": [f"{value:.1f} s" for value in centers],
        "shown": [bit_rate(value) for value in bps],
    }


def _round_trips(runs: Mapping[str, Indicators]) -> Chart:
    """Medians of the RTT probe's round trips; means where a run has only what its senders smoothed."""
    probed = all(run.rtt_samples.source in {PROBE, None} for run in runs.values())
    title = "Median round-trip time of the RTT probe" if probed else "Round-trip time"
    made, scale = rtt_chart("Round-trip time", runs.values(), None)
    of_run = _medians if probed else mean_columns
    columns = {name: of_run(run, scale) if run.rtt_samples.source else None for name, run in runs.items()}
    _add_lines(made, columns, "Round-trip time")
    return Chart(f"{ID}-rtt", title, made, f"{title} over time, a line per run.")


def _medians(run: Indicators, scale: float) -> Columns:
    steps = by_step(run)
    medians = np.array([np.median(found) for _, found in steps])
    return {
        "x": short(np.array([center for center, _ in steps])),
        "y": short(medians * scale),
        "at": [f"{center:.1f} s" for center, _ in steps],
        "shown": [seconds(value * 1e9) for value in medians],
    }


def _add_lines(made: Plot, columns: Mapping[str, Columns | None], what: str) -> None:
    points = []
    for number, (name, values) in enumerate(columns.items()):
        if values is None:
            continue
        source = ColumnDataSource({**values, "line": [name] * len(values["x"])})
        figures.add_line(made, source, CATEGORIES[number], f"{ID}-{number}")
        points.append(figures.add_points(made, source, CATEGORIES[number], f"{ID}-{number}", size=3))
    figures.hover(made, points, {"Run": "line", "Time": "at", what: "shown"})
