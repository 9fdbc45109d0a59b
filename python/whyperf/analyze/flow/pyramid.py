"""A series at many resolutions, for zooming without reading it again."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from whyperf.analyze.flow.series import Series, Times, Values


@dataclass(frozen=True)
class View:
    """Points to draw. `every_point` says that none of those between start and end is left out."""

    time_ns: Times
    value: Values
    every_point: bool


@dataclass(frozen=True)
class Level:
    """The series with bins of `bin_ns`, aligned to the series' first instant: of each bin its first, last, lowest
    and highest point, as ascending `indices` into the series (UInt32).
    """

    bin_ns: int
    indices: NDArray[np.uint32]


class Pyramid:
    """A series with `levels`, from fine to coarse, each with bins four times as wide.

    The coarsest has about 1024 bins; together they hold fewer points than the series. Below the
    finest is the series itself.
    """

    series: Series
    levels: tuple[Level, ...]

    def __init__(self, series: Series) -> None:
        """Builds all levels; about a second for ten million points."""
        raise NotImplementedError(series)

    def view(self, start_ns: int, end_ns: int, columns: int) -> View:
        """What to draw between `start_ns` and `end_ns` (exclusive) on `columns` pixels.

        At most 16 points a column, lowest and highest right to a quarter of a column; where there
        are no more points than that, every single one. One point before and one after are added.
        """
        raise NotImplementedError(start_ns, end_ns, columns)
