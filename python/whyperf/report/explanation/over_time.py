"""The time budget over time: the states of each host in every part of the trial, stacked, as SVG."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import polars as pl

from whyperf.analyze.text import seconds
from whyperf.report.explanation.styles import Look, look_of, rank_of

BINS = 160
WIDTH, HEIGHT = 1200, 150
"""In the coordinates of the drawing, which is stretched to its place."""
TICKS = 4

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Layer:
    """The area of a state as an SVG path."""

    look: Look
    path: str


@dataclass(frozen=True)
class TimeChart:
    """The areas of one host, and the times below them."""

    title: str
    layers: tuple[Layer, ...]
    ticks: tuple[str, ...]
    description: str


def time_charts(spans: pl.DataFrame) -> list[TimeChart]:
    """A chart for each host in `spans` (see `TrialBudgets.spans`), all connections together."""
    if spans.is_empty():
        return []
    start, end = int(spans["begin_ns"].min()), int(spans["end_ns"].max())  # type: ignore[arg-type]
    if end <= start:
        return []
    edges = np.linspace(start, end, BINS + 1)
    charts = []
    for role in ("sender", "receiver"):
        of_role = spans.filter(pl.col("role") == role)
        if not of_role.is_empty():
            charts.append(_chart(of_role, role, edges))
    return charts


def shares(spans: pl.DataFrame, edges: Floats) -> dict[str, Floats]:
    """The share of each state in the time of the connections between two edges; 0 where there is no connection.

    Args:
        spans: columns `begin_ns`, `end_ns`, `state`.
        edges: ns, ascending.
    """
    times = {
        # Relative to the first edge: sums of large times would lose their last digits.
        str(state): np.diff(
            _before(part["begin_ns"].to_numpy() - edges[0], part["end_ns"].to_numpy() - edges[0], edges - edges[0])
        )
        for (state,), part in spans.partition_by("state", as_dict=True).items()
    }
    alive: Floats = np.sum(list(times.values()), axis=0)
    return {state: np.divide(time, alive, out=np.zeros_like(time), where=alive > 0) for state, time in times.items()}


def _before(begin_ns: Floats, end_ns: Floats, at: Floats) -> Floats:
    """The total length of the spans before each time `at`: each span counts from its start to its end."""
    return _grown(np.sort(begin_ns), at) - _grown(np.sort(end_ns), at)


def _grown(times_ns: Floats, at: Floats) -> Floats:
    sums = np.concatenate([[0.0], np.cumsum(times_ns)])
    passed = np.searchsorted(times_ns, at, side="left")
    grown: Floats = passed * at - sums[passed]
    return grown


def _chart(spans: pl.DataFrame, role: str, edges: Floats) -> TimeChart:
    parts = shares(spans, edges)
    order = sorted(parts, key=lambda state: rank_of(state, role))
    floor = np.zeros(BINS)
    layers = []
    for state in order:
        top = floor + parts[state]
        if parts[state].max(initial=0.0) > 0.002:
            layers.append(Layer(look_of(state, role), _area(floor, top)))
        floor = top
    dominant = max(order, key=lambda state: float(parts[state].mean()))
    title = "Sender" if role == "sender" else "Receiver"
    description = f"{title}: share of each state over time; largest: {look_of(dominant, role).name.lower()}."
    return TimeChart(title, tuple(layers), _ticks(edges), description)


def _ticks(edges: Floats) -> tuple[str, ...]:
    return tuple(
        seconds(float(edges[-1] * number / TICKS + edges[0] * (1 - number / TICKS))) for number in range(TICKS + 1)
    )


def _area(floor: Floats, top: Floats) -> str:
    """The closed path between two steps; y grows downward."""
    across = _run_starts(floor, top)
    xs = [*(number * WIDTH / BINS for number in across), WIDTH]
    upper = [(1 - top[number]) * HEIGHT for number in across]
    lower = [(1 - floor[number]) * HEIGHT for number in across]
    path = [f"M{xs[0]:.0f} {upper[0]:.1f}"]
    path += [f"V{upper[index]:.1f}H{xs[index + 1]:.1f}" for index in range(len(across))]
    path += [f"V{lower[index]:.1f}H{xs[index]:.1f}" for index in reversed(range(len(across)))]
    return "".join(path) + "Z"


def _run_starts(floor: Floats, top: Floats) -> Sequence[int]:
    """The first of each run of equal bins."""
    steps = np.round(np.stack([floor, top]), 3)
    changed = np.any(steps[:, 1:] != steps[:, :-1], axis=0)
    return [0, *(int(number) + 1 for number in np.flatnonzero(changed))]
