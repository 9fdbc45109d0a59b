"""M4 and the pyramid: what is drawn, and that nothing is lost on the way down."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from whyperf.analyze.flow import Pyramid, Series, View, m4

Points = tuple[NDArray[np.int64], NDArray[np.int64]]


def walk(points: int, seed: int = 1995, bursts: bool = False) -> Points:
    rng = np.random.default_rng(seed)
    gaps = rng.integers(0, 2000, points) if not bursts else np.where(rng.random(points) < 0.01, 1_000_000, 3)
    return np.cumsum(gaps), np.cumsum(rng.integers(-1448, 1449, points)) + 10**6


def column_extremes(points: Points, start: int, end: int, columns: int) -> dict[int, tuple[int, int, int, int]]:
    """First, last, lowest and highest value of each pixel column, by definition."""
    found: dict[int, list[int]] = {}
    for at, value in zip(*(array.tolist() for array in points), strict=True):
        if start <= at < end:
            found.setdefault((at - start) * columns // (end - start), []).append(value)
    return {column: (values[0], values[-1], min(values), max(values)) for column, values in found.items()}


@given(
    st.lists(st.tuples(st.integers(0, 300), st.integers(-50, 50)), max_size=120),
    st.integers(1, 12),
    st.integers(0, 400),
)
def test_m4_draws_the_same_line(steps: list[tuple[int, int]], columns: int, start: int) -> None:
    time = np.cumsum([gap for gap, _ in steps], dtype=np.int64)
    value = np.array([value for _, value in steps], dtype=np.int64)
    end = start + 1000
    kept = m4(time, value, start, end, columns)
    before = column_extremes((time, value), start, end, columns)
    after = column_extremes((time[kept], value[kept]), start, end, columns)
    assert after == before
    within = (time[kept] >= start) & (time[kept] < end)
    assert within.sum() <= max(4 * columns, 0)
    assert (~within).sum() <= 2


def test_lines_run_to_the_edges() -> None:
    time, value = np.arange(0, 1000, 10), np.arange(100)
    kept = m4(time, value, 300, 500, 2)
    assert kept[0] == 29
    assert kept[-1] == 50


def test_no_points_draw_nothing() -> None:
    nothing = np.empty(0, dtype=np.int64)
    assert m4(nothing, nothing, 0, 10, 5).size == 0
    assert Pyramid(Series("nothing", "bytes", nothing, nothing)).view(0, 10, 5).time_ns.size == 0


def pyramid(points: Points) -> Pyramid:
    return Pyramid(Series("unacked", "bytes", *points))


@pytest.mark.parametrize("bursts", [False, True])
def test_every_point_comes_back_in_the_zoom(bursts: bool) -> None:
    """Zooming in place after place, each view small enough, gives all points once and in order."""
    points = walk(50_000, bursts=bursts)
    tower = pyramid(points)
    columns = 1000
    seen: list[View] = []
    edges = points[0][:: 2 * columns].tolist()
    for start, end in zip(edges, [*edges[1:], int(points[0][-1]) + 1], strict=True):
        view = tower.view(start, end, columns)
        assert view.every_point
        within = (view.time_ns >= start) & (view.time_ns < end)
        seen.append(View(view.time_ns[within], view.value[within], every_point=True))
    assert np.concatenate([view.time_ns for view in seen]).tolist() == points[0].tolist()
    assert np.concatenate([view.value for view in seen]).tolist() == points[1].tolist()


@pytest.mark.parametrize("bursts", [False, True])
def test_far_out_the_highest_and_lowest_stay(bursts: bool) -> None:
    points = walk(200_000, bursts=bursts)
    tower = pyramid(points)
    assert tower.levels
    view = tower.view(0, int(points[0][-1]) + 1, 300)
    assert not view.every_point
    assert view.time_ns.size <= 4 * 300 + 2
    assert (view.value.min(), view.value.max()) == (points[1].min(), points[1].max())
    assert (view.time_ns[0], view.time_ns[-1]) == (points[0][0], points[0][-1])
    known = set(zip(*(array.tolist() for array in points), strict=True))
    assert set(zip(view.time_ns.tolist(), view.value.tolist(), strict=True)) <= known


def test_extremes_of_a_column_are_no_further_than_a_quarter_beside() -> None:
    points = walk(200_000)
    end, columns = int(points[0][-1]) + 1, 200
    view = pyramid(points).view(0, end, columns)
    width = end / columns
    drawn = view.time_ns, view.value.astype(np.int64)
    for column, (_, _, low, high) in column_extremes(drawn, 0, end, columns).items():
        near = (points[0] >= (column - 0.25) * width) & (points[0] < (column + 1.25) * width)
        inner = (points[0] >= (column + 0.25) * width) & (points[0] < (column + 0.75) * width)
        assert points[1][near].min() <= low <= points[1][inner].min()
        assert points[1][near].max() >= high >= points[1][inner].max()


def test_levels_together_hold_fewer_points_than_the_series() -> None:
    tower = pyramid(walk(300_000))
    sizes = [level.indices.size for level in tower.levels]
    assert sizes == sorted(sizes, reverse=True)
    assert sum(sizes) < 300_000
    assert tower.levels[-1].indices.size <= 4 * 1025


def test_all_points_at_one_instant_are_no_trouble() -> None:
    time, value = np.full(5000, 7, dtype=np.int64), np.arange(5000)
    view = pyramid((time, value)).view(0, 100, 10)
    assert view.value.tolist() == [0, 4999]
