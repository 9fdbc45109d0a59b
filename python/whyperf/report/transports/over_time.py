"""Stacked goodput of the flows over time, and round-trip times on the same time axis."""

from collections.abc import Mapping, Sequence

import numpy as np
from bokeh.models import FixedTicker
from bokeh.models.annotations import BoxAnnotation

from whyperf.analyze.steady.rates import Floats
from whyperf.analyze.text import bit_rate, seconds
from whyperf.analyze.transports.indicators import Indicators
from whyperf.analyze.transports.samples import SENDER
from whyperf.report.charts import figures
from whyperf.report.charts.blocks import Chart, Group, Key, Legend
from whyperf.report.charts.colors import CATEGORIES, INK, SHADE, tag
from whyperf.report.charts.metric import GOODPUT, RateUnit
from whyperf.report.charts.switchboard import Choice, Columns, Switchboard
from whyperf.report.charts.ticks import MAX_TICKS

MAX_POINTS = 480
MAX_FLOWS = len(CATEGORIES)
ID = "transports"
#: Room for the y axis and its labels, in pixels.
LEFT = 64

Courses = Mapping[str, Indicators]
"""A trial per cell, by the text of the cell."""


def time_group(courses: Courses, board: Switchboard) -> Group:
    """Two charts on one time axis; a list selects the cell."""
    options = tuple(courses)
    choices = (Choice(f"{ID}-cell", "Transport", options, options[0]),) if len(options) > 1 else ()
    trials: dict[tuple[str, ...], Indicators] = {(text,) if choices else (): trial for text, trial in courses.items()}
    flows = min(MAX_FLOWS, max(len(trial.course.active) for trial in trials.values()))
    unit = GOODPUT.unit_for(max(float(trial.course.bps.sum(axis=0).max()) for trial in trials.values()))
    rates = figures.time_chart(f"Goodput ({unit.name})")
    source = board.source(choices, {key: _stacked(trial, flows, unit) for key, trial in trials.items()})
    for flow in range(flows):
        figures.add_area(rates, source, (f"y{flow}", f"y{flow + 1}"), CATEGORIES[flow], f"{ID}-flow-{flow}")
    top = figures.add_edge(rates, source, f"y{flows}", INK)
    figures.hover(rates, [top], {"Time": "at", "Region": "region", "All flows": "shown"})
    charts = [Chart(f"{ID}-goodput", "Goodput of each flow", rates, "Stacked goodput of the flows over time.")]
    if any(trial.rtt_samples.source for trial in trials.values()):
        charts.append(_round_trips(choices, trials, board, rates))
    for chart in charts:
        # The same left border, so that the time axes are aligned.
        chart.figure.min_border_left = LEFT
        _mark_regions(chart.figure, list(trials.values()))
    first = next(iter(trials.values())).course
    names = [interval.name for interval in first.active[:flows]]
    keys = tuple(Key(name, CATEGORIES[flow], f"{ID}-flow-{flow}") for flow, name in enumerate(names))
    return Group("Over time", tuple(charts), _note(list(trials.values())), Legend("", keys), choices, is_stacked=True)


def _note(trials: Sequence[Indicators]) -> str:
    flows = ", ".join(str(len(region.flows)) for region in trials[0].course.regions)
    sources = {trial.rtt_samples.source for trial in trials}
    smoothed = " Without a probe, round-trip times are the smoothed ones of the senders." if SENDER in sources else ""
    bands = f"Bands are the regions of the schedule, with {flows} flows." if _same_regions(trials) else ""
    return f"{bands} The first trial of each cell.{smoothed}".strip()


def _round_trips(
    choices: tuple[Choice, ...],
    trials: Mapping[tuple[str, ...], Indicators],
    board: Switchboard,
    above: figures.Figure,
) -> Chart:
    longest = max(float(trial.rtt_samples.rtt_s.max()) for trial in trials.values() if trial.rtt_samples.rtt_s.size)
    scale, unit = (1e3, "ms") if longest >= 1e-3 else (1e6, "µs")
    made = figures.time_chart(f"Round-trip time ({unit})", height=240)
    made.x_range = above.x_range
    source = board.source(choices, {key: _rtt_columns(trial, scale) for key, trial in trials.items()})
    figures.add_line(made, source, CATEGORIES[2])
    points = figures.add_points(made, source, CATEGORIES[2], size=3)
    figures.hover(made, [points], {"Time": "at", "Round-trip time": "shown"})
    return Chart(f"{ID}-rtt", "Round-trip time", made, "Round-trip time over time.")


def _stacked(trial: Indicators, flows: int, unit: RateUnit) -> Columns:
    """Edges of the areas: y0 is 0, y1 the first flow, y2 the first two …, at the center of each bin."""
    course = trial.course
    step = max(1, -(-course.region.size // MAX_POINTS))
    centers = _thinned((course.edges_s[1:] + course.edges_s[:-1]) / 2, step)
    levels = np.zeros((flows + 1, centers.size))
    for flow in range(min(flows, len(course.active))):
        levels[flow + 1] = _thinned(course.bps[flow], step)
    levels = levels.cumsum(axis=0)
    regions = course.region[::step][: centers.size]
    return {
        "x": _short(centers),
        **{f"y{number}": _short(level / unit.scale) for number, level in enumerate(levels)},
        "at": [f"{value:.1f} s" for value in centers],
        "region": [f"{course.regions[region].number}" for region in regions],
        "shown": [bit_rate(value) for value in levels[-1]],
    }


def _rtt_columns(trial: Indicators, scale: float) -> Columns:
    """Means over equal time steps, at most `MAX_POINTS` of them."""
    at_s, rtt_s = trial.rtt_samples.at_s, trial.rtt_samples.rtt_s
    end_s = float(trial.course.edges_s[-1])
    count = min(MAX_POINTS, max(1, trial.course.region.size))
    place = np.clip((at_s / end_s * count).astype(np.int64), 0, count - 1)
    totals, numbers = np.bincount(place, rtt_s, count), np.bincount(place, minlength=count)
    have = np.flatnonzero(numbers)
    means = totals[have] / numbers[have]
    centers = (have + 0.5) * end_s / count
    return {
        "x": _short(centers),
        "y": _short(means * scale),
        "at": [f"{value:.1f} s" for value in centers],
        "shown": [seconds(value * 1e9) for value in means],
    }


def _same_regions(trials: Sequence[Indicators]) -> bool:
    return len({trial.course.regions for trial in trials}) == 1


def _mark_regions(made: figures.Figure, trials: Sequence[Indicators]) -> None:
    """Shades every second region and puts a tick at each change, if all trials have the same regions."""
    if not _same_regions(trials):
        return
    regions = trials[0].course.regions
    for region in regions[1::2]:
        shade = BoxAnnotation(
            left=region.start_ns / 1e9, right=region.stop_ns / 1e9, fill_color=SHADE[0], fill_alpha=1, line_color=None
        )
        shade.level = "image"
        shade.tags = [tag(SHADE)]
        made.add_layout(shade)
    edges = [0.0, *(region.stop_ns / 1e9 for region in regions)]
    if len(edges) <= MAX_TICKS + 2:
        made.xaxis.ticker = FixedTicker(ticks=edges, minor_ticks=[])
        figures.label(made, {edge: f"{edge:g}" for edge in edges})


def _thinned(values: Floats, step: int) -> Floats:
    """Means of `step` neighbors; an incomplete group at the end is left out."""
    count = values.size // step
    means: Floats = values[: count * step].reshape(count, step).mean(axis=1)
    return means


def _short(values: Floats) -> list[float]:
    return [float(f"{value:.5g}") for value in values]
