"""A series at many resolutions, for zooming without reading it again."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from whyperf.analyze.flow.decimate import POINTS_PER_COLUMN, extremes, m4
from whyperf.analyze.flow.series import Series, Times, Values

COARSEST_BINS = 1024
FEWEST_POINTS = 8
"""Points a bin of the finest level holds on average, at least."""

CHUNK_POINTS = 1 << 20
"""Points looked at together."""

STEP_BITS = 2
"""Each level's bins are four times as wide as those of the level below."""

BINS_PER_COLUMN = 4
"""At least: bins and columns do not begin together, and what a bin holds may be drawn a bin beside its place."""


@dataclass(frozen=True)
class View:
    """Points to draw. `every_point` says that none of those between start and end is left out."""

    time_ns: Times
    value: Values
    every_point: bool


@dataclass(frozen=True)
class Level:
    """The series with bins of `bin_ns`, a power of two, counted from the series' first instant: of
    each bin its first, last, lowest and highest point, as ascending `indices` into the series.
    """

    bin_ns: int
    indices: NDArray[np.uint32]


class Pyramid:
    """A series with `levels`, from fine to coarse, each with bins four times as wide.

    The coarsest has at most 1024 bins, the finest leaves out at least half of the points. Below it
    is the series itself.
    """

    series: Series
    levels: tuple[Level, ...]

    def __init__(self, series: Series) -> None:
        """Builds all levels; under a second for ten million points."""
        self.series = series
        levels: list[Level] = []
        points: NDArray[np.uint32] | None = None
        for bits in _widths(series.time_ns):
            found = _level(series, bits, points)
            if found.indices.size <= series.time_ns.size // 2:
                levels.append(found)
            # The extremes of wide bins are among those of the narrow ones.
            points = found.indices
        self.levels = tuple(levels)

    def view(self, start_ns: int, end_ns: int, columns: int) -> View:
        """What to draw between `start_ns` and `end_ns` (exclusive) on `columns` pixels.

        At most 4 points a column and one before and after; lowest and highest are right to a
        quarter of a column. Where the view has no more points than that, every single one.
        """
        time, value = self.series.time_ns, self.series.value
        low, high = (int(at) for at in np.searchsorted(time, (start_ns, end_ns)))
        before, after = max(0, low - 1), min(time.size, high + 1)
        if high - low <= POINTS_PER_COLUMN * columns:
            return View(time[before:after], value[before:after], every_point=True)
        widest = (end_ns - start_ns) / columns / BINS_PER_COLUMN
        level = next((level for level in reversed(self.levels) if level.bin_ns <= widest), None)
        if level is not None:
            first, last = (int(at) for at in np.searchsorted(level.indices, (low, high)))
            edges = (np.arange(before, low), level.indices[first:last], np.arange(high, after))
            kept = np.concatenate(edges).astype(np.int64)
            time, value = time[kept], value[kept]
        drawn = m4(time, value, start_ns, end_ns, columns)
        return View(time[drawn], value[drawn], every_point=False)


def _widths(time: Times) -> range:
    """Widths of bins as powers of two, from about eight points a bin to 1024 bins in all."""
    if time.size <= COARSEST_BINS:
        return range(0)
    length = int(time[-1] - time[0])
    widest = (length // COARSEST_BINS).bit_length()
    finest = min(widest, (length // time.size * FEWEST_POINTS).bit_length())
    first = widest - (widest - finest) // STEP_BITS * STEP_BITS
    return range(first, widest + 1, STEP_BITS)


def _level(series: Series, bits: int, points: NDArray[np.uint32] | None) -> Level:
    """The level with bins of 2^bits ns, from `points`, or from all."""
    time = series.time_ns if points is None else series.time_ns[points]
    value = series.value if points is None else series.value[points]
    first = int(series.time_ns[0])
    parts = []
    start = 0
    while start < time.size:
        stop = min(time.size, start + CHUNK_POINTS)
        if stop < time.size:
            # To the end of the bin, so that a bin is never in two parts.
            edge = first + (((int(time[stop]) - first) >> bits) + 1 << bits)
            stop = int(np.searchsorted(time, edge))
        part = extremes((time[start:stop] - first) >> bits, value[start:stop])
        parts.append((part + start).astype(np.uint32))
        start = stop
    kept = np.concatenate(parts)
    return Level(1 << bits, kept if points is None else points[kept])
