"""Figures against what was varied: how a check gets at them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import isfinite

Abscissa = float | str


class MissingFigureError(Exception):
    """A figure that a check needs is not there; the text says which."""


@dataclass(frozen=True)
class StudyFigure:
    """A figure: what was varied, the value, and the ends of its interval where it has one.

    `value` is a number, or a text where the figure is a name or a pattern of segments.
    """

    x: Abscissa
    value: float | str
    low: float | None = None
    high: float | None = None

    @property
    def number(self) -> float:
        """The value as a number.

        Raises:
            MissingFigureError: it is a text.
        """
        if isinstance(self.value, str):
            raise MissingFigureError(f"{self.value!r} at {x_text(self.x)} is no number")
        return self.value


@dataclass(frozen=True)
class Series:
    """Figures by what was varied, in that order; `name` is what messages call it."""

    name: str
    figures: tuple[StudyFigure, ...]

    def at(self, x: Abscissa) -> StudyFigure:
        """The figure at a place.

        Raises:
            MissingFigureError: there is none.
        """
        for figure in self.figures:
            if figure.x == x:
                return figure
        raise MissingFigureError(f"{self.name} has no figure at {x_text(x)}")

    def numbers(self) -> list[float]:
        """All values.

        Raises:
            MissingFigureError: there is none, or one is a text.
        """
        if not self.figures:
            raise MissingFigureError(f"{self.name} has no figure")
        return [figure.number for figure in self.figures]

    def places(self) -> list[Abscissa]:
        """The varied values, in order."""
        return [figure.x for figure in self.figures]


AllSeries = Mapping[str, Series]


def series_named(series: AllSeries, name: str) -> Series:
    """One of the series.

    Raises:
        MissingFigureError: there is none of this name.
    """
    if name not in series:
        raise MissingFigureError(f"there is no series {name}")
    return series[name]


def one_number(series: AllSeries, place: str) -> float:
    """The number at a place, written NAME@X, or NAME alone where the series has one figure.

    Raises:
        MissingFigureError: there is none.
    """
    name, has_x, x = place.partition("@")
    found = series_named(series, name)
    if has_x:
        return found.at(x_of(x)).number
    if len(found.figures) != 1:
        raise MissingFigureError(f"{name} has {len(found.figures)} figures, and one is needed")
    return found.figures[0].number


def x_of(text: str) -> Abscissa:
    """Reads a varied value as written in a catalog or a CSV: a number where it is one."""
    try:
        number = float(text)
    except ValueError:
        return text
    return number if isfinite(number) else text


def x_text(x: Abscissa) -> str:
    """The varied value, as text."""
    return x if isinstance(x, str) else f"{x:,.10g}"


def common(first: Series, second: Series) -> list[tuple[Abscissa, float, float]]:
    """Places of the first series with the numbers of both.

    Raises:
        MissingFigureError: the second lacks one, or there are none.
    """
    pairs = [(figure.x, figure.number, second.at(figure.x).number) for figure in first.figures]
    if not pairs:
        raise MissingFigureError(f"{first.name} has no figure")
    return pairs


def line_of(series: Series) -> tuple[float, float]:
    """Intercept and slope of the straight line of least squares through the figures.

    Raises:
        MissingFigureError: fewer than two places.
    """
    points = [(figure.x, figure.number) for figure in series.figures if not isinstance(figure.x, str)]
    xs, ys = [x for x, _ in points], [y for _, y in points]
    if len(set(xs)) < 2:
        raise MissingFigureError(f"{series.name} has fewer than two places, and a line needs them")
    return _least_squares(xs, ys)


def _least_squares(xs: Sequence[float], ys: Sequence[float]) -> tuple[float, float]:
    mean_x, mean_y = sum(xs) / len(xs), sum(ys) / len(ys)
    slope = sum((x - mean_x) * (y - mean_y) for x, y in zip(xs, ys, strict=True)) / sum((x - mean_x) ** 2 for x in xs)
    return mean_y - slope * mean_x, slope
