"""Stacked goodput of the flows over time, and round-trip times on the same time axis."""

from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from whyperf.analyze.steady.rates import Floats
from whyperf.analyze.text import bit_rate, count, seconds
from whyperf.analyze.transports.indicators import Indicators
from whyperf.analyze.transports.samples import PROBE, SENDER
from whyperf.report.charts import figures
from whyperf.report.charts.blocks import Chart, Group, Key, Legend
from whyperf.report.charts.colors import CATEGORIES, INK, Paint, ordered
from whyperf.report.charts.metric import GOODPUT, RateUnit
from whyperf.report.charts.models import FixedTicker, Model, Plot
from whyperf.report.charts.switchboard import Choice, Columns, Switchboard
from whyperf.report.charts.ticks import MAX_TICKS
from whyperf.report.transports.windows import window_chart

MAX_POINTS = 480
#: Flows with a color of their own. The chart of windows has no more.
MAX_FLOWS = len(CATEGORIES)
ID = "transports"
#: With fewer changes of the schedule, the time axis has ticks at round times.
MIN_TICKS = 4
#: Room for the y axis and its labels, in pixels.
LEFT = 64

#: Round trips in a time step at least, and time steps at most.
MIN_ANSWERS, MAX_STEPS = 25, 150
#: Parts of the round trips in a time step, with their names and colors.
PERCENTILES: Mapping[float, tuple[str, Paint]] = dict(
    zip((1.0, 0.9, 0.5), zip(("RTT, largest", "RTT, 90 %", "RTT, 50 %"), ordered(3)[::-1], strict=True), strict=True)
)
DIRECTIONS = {"send": "near to far", "receive": "far to near"}

Courses = Mapping[str, Indicators]
"""A trial per cell, by the text of the cell."""


def time_group(courses: Courses, board: Switchboard) -> Group:
    """Two charts on one time axis; a list selects the cell."""
    options = tuple(courses)
    choices = (Choice(f"{ID}-cell", "Transport", options, options[0]),) if len(options) > 1 else ()
    trials: dict[tuple[str, ...], Indicators] = {(text,) if choices else (): trial for text, trial in courses.items()}
    directions = [way for way in DIRECTIONS if any(flows_of(trial, way) for trial in trials.values())]
    several = len(directions) > 1
    charts = [_rates(way, choices, trials, board, several=several) for way in directions]
    time_range = charts[0].figure.x_range
    if any(trial.rtt_samples.source == PROBE for trial in trials.values()):
        charts.append(_percentiles(choices, trials, board, time_range))
    elif any(trial.rtt_samples.source for trial in trials.values()):
        charts.append(_round_trips(choices, trials, board, time_range))
    if any(trial.windows for trial in trials.values()):
        charts.append(window_chart(choices, trials, board))
    for chart in charts:
        # The same left border, so that the time axes are aligned.
        chart.figure.min_border_left = LEFT
        chart.figure.x_range = time_range
        _mark_regions(chart.figure, list(trials.values()))
    first = next(iter(trials.values())).course
    keys = tuple(
        Key(interval.name, CATEGORIES[flow], f"{ID}-flow-{flow}")
        for flow, interval in enumerate(first.active[:MAX_FLOWS])
    )
    others = max(len(trial.course.active) for trial in trials.values()) - MAX_FLOWS
    if others > 0:
        keys += (Key(count(others, "other flow"), INK, f"{ID}-flow-{MAX_FLOWS}"),)
    if any(trial.rtt_samples.source == PROBE for trial in trials.values()):
        keys += tuple(Key(name, paint, f"{ID}-rtt-{part}") for part, (name, paint) in PERCENTILES.items())
    return Group("Over time", tuple(charts), _note(list(trials.values())), Legend("", keys), choices, is_stacked=True)


def flows_of(trial: Indicators, direction: str) -> list[int]:
    """The flows of a direction, by their position in the schedule."""
    return [flow for flow, found in enumerate(trial.course.active) if found.direction == direction]


def _rates(
    direction: str,
    choices: tuple[Choice, ...],
    trials: Mapping[tuple[str, ...], Indicators],
    board: Switchboard,
    *,
    several: bool,
) -> Chart:
    """The goodput of the flows of a direction, stacked."""
    highest = max(
        float(trial.course.bps[flows_of(trial, direction)].sum(axis=0).max(initial=0.0)) for trial in trials.values()
    )
    unit = GOODPUT.unit_for(highest)
    flows = sorted({min(flow, MAX_FLOWS) for trial in trials.values() for flow in flows_of(trial, direction)})
    made = figures.time_chart(f"Goodput ({unit.name})", height=260 if several else figures.HEIGHT)
    source = board.source(choices, {key: _stacked(trial, direction, flows, unit) for key, trial in trials.items()})
    for place, flow in enumerate(flows):
        paint = CATEGORIES[flow] if flow < MAX_FLOWS else INK
        figures.add_area(made, source, (f"y{place}", f"y{place + 1}"), paint, f"{ID}-flow-{flow}")
    top = figures.add_edge(made, source, f"y{len(flows)}", INK)
    figures.hover(made, [top], {"Time": "at", "Region": "region", "All flows": "shown"})
    way = f", {DIRECTIONS[direction]}" if several else ""
    name = f"{ID}-goodput" + (f"-{direction}" if several else "")
    return Chart(name, f"Goodput of each flow{way}", made, f"Stacked goodput of the flows{way} over time.")


def _percentiles(
    choices: tuple[Choice, ...],
    trials: Mapping[tuple[str, ...], Indicators],
    board: Switchboard,
    time_range: Model,
) -> Chart:
    """Percentiles of the probe's round trips in equal time steps."""
    made, scale = rtt_chart("Round-trip time", trials.values(), time_range)
    steps = {key: by_step(trial) for key, trial in trials.items()}
    points = []
    for part, (name, paint) in PERCENTILES.items():
        columns = {key: _percentile_columns(found, part, name, scale) for key, found in steps.items()}
        source = board.source(choices, columns)
        figures.add_line(made, source, paint, f"{ID}-rtt-{part}")
        points.append(figures.add_points(made, source, paint, f"{ID}-rtt-{part}", size=3))
    figures.hover(made, points, {"Time": "at", "Percentile": "line", "Round-trip time": "shown", "Answers": "count"})
    return Chart(
        f"{ID}-rtt", "Latency: round-trip time of the RTT probe", made, "Percentiles of the round-trip time over time."
    )


def by_step(trial: Indicators) -> list[tuple[float, Floats]]:
    """The center of each time step, and the round-trip times in it; each step has about `MIN_ANSWERS` of them."""
    at_s, rtt_s = trial.rtt_samples.at_s, trial.rtt_samples.rtt_s
    count = int(np.clip(at_s.size // MIN_ANSWERS, 1, MAX_STEPS))
    length_s = float(trial.course.edges_s[-1]) / count
    places = (at_s / length_s).astype(np.int64)
    return [((place + 0.5) * length_s, rtt_s[places == place]) for place in range(count) if (places == place).any()]


def _percentile_columns(steps: Sequence[tuple[float, Floats]], part: float, name: str, scale: float) -> Columns:
    values = np.array([np.quantile(found, part) for _, found in steps])
    return {
        "x": short(np.array([center for center, _ in steps])),
        "y": short(values * scale),
        "at": [f"{center:.1f} s" for center, _ in steps],
        "line": [name] * len(steps),
        "shown": [seconds(value * 1e9) for value in values],
        "count": [str(found.size) for _, found in steps],
    }


def rtt_chart(title: str, trials: Iterable[Indicators], time_range: Model | None) -> tuple[Plot, float]:
    """An empty chart of round-trip times, and how many of its units a second has."""
    longest = max(float(trial.rtt_samples.rtt_s.max()) for trial in trials if trial.rtt_samples.rtt_s.size)
    scale, unit = (1e3, "ms") if longest >= 1e-3 else (1e6, "µs")
    made = figures.time_chart(f"{title} ({unit})", height=240)
    if time_range is not None:
        made.x_range = time_range
    return made, scale


def _note(trials: Sequence[Indicators]) -> str:
    flows = ", ".join(str(len(region.flows)) for region in trials[0].course.regions)
    sources = {trial.rtt_samples.source for trial in trials}
    smoothed = " Without a probe, round-trip times are the smoothed ones of the senders." if SENDER in sources else ""
    bands = f"Bands are the regions of the schedule, with {flows} flows." if _same_regions(trials) else ""
    most = max(len(trial.course.active) for trial in trials)
    cut = (
        f" The first {MAX_FLOWS} of {most} flows in the schedule have a color each; the others are one area, and their "
        "windows are not drawn."
        if most > MAX_FLOWS
        else ""
    )
    return f"{bands} The first trial of each cell.{cut}{smoothed}".strip()


def _round_trips(
    choices: tuple[Choice, ...],
    trials: Mapping[tuple[str, ...], Indicators],
    board: Switchboard,
    time_range: Model,
) -> Chart:
    made, scale = rtt_chart("Round-trip time", trials.values(), time_range)
    source = board.source(choices, {key: mean_columns(trial, scale) for key, trial in trials.items()})
    figures.add_line(made, source, CATEGORIES[2])
    points = figures.add_points(made, source, CATEGORIES[2], size=3)
    figures.hover(made, [points], {"Time": "at", "Round-trip time": "shown"})
    return Chart(f"{ID}-rtt", "Round-trip time", made, "Round-trip time over time.")


def _stacked(trial: Indicators, direction: str, flows: Sequence[int], unit: RateUnit) -> Columns:
    """Edges of the areas: y0 is 0, y1 the first of `flows`, y2 the first two …, at the center of each bin.

    A flow that the trial does not have, or has in the other direction, is 0. `MAX_FLOWS` stands for all flows from that
    position on.
    """
    course = trial.course
    step = max(1, -(-course.region.size // MAX_POINTS))
    centers = thinned((course.edges_s[1:] + course.edges_s[:-1]) / 2, step)
    levels = np.zeros((len(flows) + 1, centers.size))
    for flow in flows_of(trial, direction):
        levels[flows.index(min(flow, MAX_FLOWS)) + 1] += thinned(course.bps[flow], step)
    levels = levels.cumsum(axis=0)
    regions = course.region[::step][: centers.size]
    return {
        "x": short(centers),
        **{f"y{number}": short(level / unit.scale) for number, level in enumerate(levels)},
        "at": [f"{value:.1f} s" for value in centers],
        "region": [f"{course.regions[region].number}" for region in regions],
        "shown": [bit_rate(value) for value in levels[-1]],
    }


def mean_columns(trial: Indicators, scale: float) -> Columns:
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
        "x": short(centers),
        "y": short(means * scale),
        "at": [f"{value:.1f} s" for value in centers],
        "shown": [seconds(value * 1e9) for value in means],
    }


def _same_regions(trials: Sequence[Indicators]) -> bool:
    return len({trial.course.regions for trial in trials}) == 1


def _mark_regions(made: Plot, trials: Sequence[Indicators]) -> None:
    """Shades every second region and puts a tick at each change, if all trials have the same regions."""
    if not _same_regions(trials):
        return
    regions = trials[0].course.regions
    for region in regions[1::2]:
        figures.add_shade(made, region.start_ns / 1e9, region.stop_ns / 1e9)
    edges = [0.0, *(region.stop_ns / 1e9 for region in regions)]
    if MIN_TICKS <= len(edges) <= MAX_TICKS + 2:
        made.xaxis.ticker = FixedTicker(ticks=edges, minor_ticks=[])
        figures.label(made, {edge: f"{edge:g}" for edge in edges})


def thinned(values: Floats, step: int) -> Floats:
    """Means of `step` neighbors; an incomplete group at the end is left out."""
    count = values.size // step
    means: Floats = values[: count * step].reshape(count, step).mean(axis=1)
    return means


def short(values: Floats) -> list[float]:
    """Five significant digits: finer than a pixel, and it halves the size of the page."""
    return [float(f"{value:.5g}") for value in values]
