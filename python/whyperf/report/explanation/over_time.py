"""The budget over time: what each end waited for in every part of the trial, stacked, as SVG."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import polars as pl

from whyperf.analyze.text import seconds
from whyperf.report.explanation.styles import Look, look_of, rank_of

BINS = 160
WIDTH, HEIGHT = 1200, 150
"""Of the drawing's own coordinates; it is stretched to its place."""
TICKS = 4

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Layer:
    """A state's area as the path of an SVG."""

    look: Look
    path: str


@dataclass(frozen=True)
class Course:
    """The areas of one end, and the times below them."""

    title: str
    layers: tuple[Layer, ...]
    ticks: tuple[str, ...]
    words: str


def courses_of(spans: pl.DataFrame) -> list[Course]:
    """A course for each end in `spans` (see `TrialBudgets.spans`), all connections together."""
    if spans.is_empty():
        return []
    begin, end = int(spans["begin_ns"].min()), int(spans["end_ns"].max())  # type: ignore[arg-type]
    if end <= begin:
        return []
    edges = np.linspace(begin, end, BINS + 1)
    courses = []
    for role in ("sender", "receiver"):
        of_role = spans.filter(pl.col("role") == role)
        if not of_role.is_empty():
            courses.append(_course(of_role, role, edges))
    return courses


def shares(spans: pl.DataFrame, edges: Floats) -> dict[str, Floats]:
    """Of each state its part of the connections' time between two edges; 0 where no connection lives.

    Args:
        spans: columns `begin_ns`, `end_ns`, `state`.
        edges: ns, ascending.
    """
    times = {
        # From the first edge on: sums of large instants would lose their last digits.
        str(state): np.diff(
            _before(part["begin_ns"].to_numpy() - edges[0], part["end_ns"].to_numpy() - edges[0], edges - edges[0])
        )
        for (state,), part in spans.partition_by("state", as_dict=True).items()
    }
    alive: Floats = np.sum(list(times.values()), axis=0)
    return {state: np.divide(time, alive, out=np.zeros_like(time), where=alive > 0) for state, time in times.items()}


def _before(begin_ns: Floats, end_ns: Floats, at: Floats) -> Floats:
    """The time that spans hold before each instant: every span has grown since its begin, until its end."""
    return _grown(np.sort(begin_ns), at) - _grown(np.sort(end_ns), at)


def _grown(instants: Floats, at: Floats) -> Floats:
    sums = np.concatenate([[0.0], np.cumsum(instants)])
    passed = np.searchsorted(instants, at, side="left")
    grown: Floats = passed * at - sums[passed]
    return grown


def _course(spans: pl.DataFrame, role: str, edges: Floats) -> Course:
    parts = shares(spans, edges)
    order = sorted(parts, key=lambda state: rank_of(state, role))
    floor = np.zeros(BINS)
    layers = []
    for state in order:
        top = floor + parts[state]
        if parts[state].max(initial=0.0) > 0.002:
            layers.append(Layer(look_of(state, role), _area(floor, top)))
        floor = top
    most = {state: float(parts[state].max(initial=0.0)) for state in order}
    dominant = max(most, key=lambda state: float(parts[state].mean()))
    end = "Sender" if role == "sender" else "Receiver"
    words = f"{end}: parts of the time in each state over the trial; most of it {look_of(dominant, role).name.lower()}."
    return Course(end, tuple(layers), _ticks(edges), words)


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
    way = [f"M{xs[0]:.0f} {upper[0]:.1f}"]
    way += [f"V{upper[index]:.1f}H{xs[index + 1]:.1f}" for index in range(len(across))]
    way += [f"V{lower[index]:.1f}H{xs[index]:.1f}" for index in reversed(range(len(across)))]
    return "".join(way) + "Z"


def _run_starts(floor: Floats, top: Floats) -> Sequence[int]:
    """The first of each run of equal bins."""
    steps = np.round(np.stack([floor, top]), 3)
    changed = np.any(steps[:, 1:] != steps[:, :-1], axis=0)
    return [0, *(int(number) + 1 for number in np.flatnonzero(changed))]
