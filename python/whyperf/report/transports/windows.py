"""The congestion window of each flow over time: how far a loss lowers it, and how long it takes to come back."""

from collections.abc import Mapping

import numpy as np

from whyperf.analyze.transports.indicators import Indicators
from whyperf.report.charts import figures
from whyperf.report.charts.blocks import Chart
from whyperf.report.charts.colors import CATEGORIES
from whyperf.report.charts.switchboard import Choice, Columns, Switchboard

ID = "transports"
MAX_POINTS = 480
MAX_FLOWS = len(CATEGORIES)


def window_chart(
    choices: tuple[Choice, ...], trials: Mapping[tuple[str, ...], Indicators], board: Switchboard
) -> Chart:
    """A line for each flow: the window of its first connection, in segments."""
    made = figures.time_chart("Window (segments)", height=240)
    flows = sorted({flow for trial in trials.values() for flow in trial.windows if flow < MAX_FLOWS})
    points = []
    for flow in flows:
        source = board.source(choices, {key: _columns(trial, flow) for key, trial in trials.items()})
        name = f"{ID}-flow-{flow}"
        figures.add_line(made, source, CATEGORIES[flow], name)
        points.append(figures.add_points(made, source, CATEGORIES[flow], name, size=3))
    figures.hover(made, points, {"Time": "at", "Flow": "flow", "Window": "shown"})
    return Chart(f"{ID}-window", "Congestion window of each flow", made, "Congestion window of each flow over time.")


def _columns(trial: Indicators, flow: int) -> Columns:
    """Samples while the flow was at work; of many, the least of each step, so that no loss disappears."""
    samples = trial.windows.get(flow)
    if samples is None:
        return {"x": [], "y": [], "at": [], "flow": [], "shown": []}
    active = trial.course.active[flow]
    mine = (samples.at_s >= active.start_s) & (samples.at_s < active.stop_s) & (samples.cwnd_segments > 0)
    at_s, window = samples.at_s[mine], samples.cwnd_segments[mine]
    starts = np.arange(0, window.size, max(1, -(-window.size // MAX_POINTS)))
    least = np.minimum.reduceat(window, starts) if window.size else window
    at_s = at_s[starts] if window.size else at_s
    return {
        "x": [float(f"{value:.5g}") for value in at_s],
        "y": [float(value) for value in least],
        "at": [f"{value:.2f} s" for value in at_s],
        "flow": [active.name] * at_s.size,
        "shown": [f"{value:,.0f} segments" for value in least],
    }
