"""The criteria of shape: each says of figures whether they have it, with the figures that decide.

They are data of the catalog. A criterion is written from the text of the study. Nothing here reads a result.
"""

from itertools import pairwise
from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from whyperf.analyze.spread import FrozenModel
from whyperf.analyze.text import percent, significant
from whyperf.studies.series import (
    Abscissa,
    AllSeries,
    MissingFigureError,
    Series,
    StudyFigure,
    common,
    line_of,
    one_number,
    series_named,
    x_text,
)


class Outcome(FrozenModel):
    """The outcome of a criterion, and the figures that decide."""

    holds: bool
    text: str


class Bounded(FrozenModel):
    """A value that must lie in a range, of which at least one limit is given: without both, nothing could fail."""

    at_least: float | None = None
    at_most: float | None = None

    @model_validator(mode="after")
    def _has_a_bound(self) -> Self:
        if self.at_least is None and self.at_most is None:
            raise ValueError("a criterion without at_least and at_most always holds; give one of them")
        return self


class Within(FrozenModel):
    """Every figure is within `ratio` of that of another series, at all places of the latter; `mean` bounds the mean."""

    kind: Literal["within"]
    series: str = "ours"
    of: str = "study"
    ratio: float = Field(gt=0)
    mean: float | None = None

    def outcome(self, series: AllSeries) -> Outcome:
        """Compares each figure of the study with ours."""
        published, ours = series_named(series, self.of), series_named(series, self.series)
        errors = [(x, here / there - 1) for x, there, here in common(published, ours)]
        worst = max(errors, key=lambda pair: abs(pair[1]))
        inside = sum(abs(error) <= self.ratio for _, error in errors)
        mean = sum(abs(error) for _, error in errors) / len(errors)
        holds = inside == len(errors) and (self.mean is None or mean <= self.mean)
        bound = "" if self.mean is None else f" (at most {percent(self.mean)})"
        text = f"{inside} of {len(errors)} within {percent(self.ratio)}; mean error {percent(mean)}{bound}, largest "
        return Outcome(holds=holds, text=f"{text}{100 * worst[1]:+.0f} % at {x_text(worst[0])}")


class Order(FrozenModel):
    """Figures that differ by more than `apart` in the study have the same order here, in a `share` of their pairs."""

    kind: Literal["order"]
    series: str = "ours"
    of: str = "study"
    apart: float = Field(default=0.1, ge=0)
    share: float = Field(default=1.0, gt=0, le=1)

    def outcome(self, series: AllSeries) -> Outcome:
        """Counts the pairs of places in the same order."""
        points = common(series_named(series, self.of), series_named(series, self.series))
        pairs = [
            (first, second)
            for index, first in enumerate(points)
            for second in points[index + 1 :]
            if max(first[1], second[1]) > (1 + self.apart) * min(first[1], second[1])
        ]
        if not pairs:
            raise MissingFigureError(f"no two figures of {self.of} differ by more than {percent(self.apart)}")
        same = sum((a[1] < b[1]) == (a[2] < b[2]) and a[2] != b[2] for a, b in pairs)
        text = f"{same} of {len(pairs)} pairs in the study's order"
        return Outcome(holds=same >= self.share * len(pairs), text=f"{text}{_required(self.share)}")


class Monotone(FrozenModel):
    """Each figure is at least the one before it, or at most; `slack` is the part that it may go the other way."""

    kind: Literal["monotone"]
    series: str = "ours"
    direction: Literal["rising", "falling"]
    slack: float = Field(default=0.0, ge=0, lt=1)

    def outcome(self, series: AllSeries) -> Outcome:
        """Compares neighbors, and the last with the first."""
        found = series_named(series, self.series)
        found.numbers()
        numbers = [figure.number for figure in _by_place(found)]
        if len(numbers) < 2:
            raise MissingFigureError(f"{self.series} has one figure, and an order needs two")
        sign = 1 if self.direction == "rising" else -1
        pairs = list(pairwise(numbers))
        wrong = sum(sign * (after - before) < -self.slack * abs(before) for before, after in pairs)
        holds = wrong == 0 and sign * (numbers[-1] - numbers[0]) > 0
        steps = f"{len(pairs) - wrong} of {len(pairs)} steps {self.direction}"
        text = f"{number_text(numbers[0])} to {number_text(numbers[-1])}; {steps}"
        return Outcome(holds=holds, text=text)


def _by_place(found: Series) -> list[StudyFigure]:
    """The figures by what was varied, where that is a number; else as they come."""
    places = {figure.x: figure.x for figure in found.figures}
    numeric = [x for x in places if isinstance(x, int | float)]
    if len(numeric) < len(places):
        return list(found.figures)
    return sorted(found.figures, key=lambda figure: float(figure.x))


class Peak(FrozenModel):
    """The largest figure, or the smallest, is at one of these places; others within `tie` of it count as it."""

    kind: Literal["peak"]
    series: str = "ours"
    at: tuple[Abscissa, ...]
    extreme: Literal["largest", "smallest"] = "largest"
    tie: float = Field(default=0.0, ge=0, lt=1)

    def outcome(self, series: AllSeries) -> Outcome:
        """Looks for the extreme."""
        found = series_named(series, self.series)
        found.numbers()
        largest = self.extreme == "largest"
        best = (max if largest else min)(found.figures, key=lambda figure: figure.number)
        limit = best.number * (1 - self.tie if largest else 1 + self.tie)
        ties = [f.x for f in found.figures if (f.number >= limit if largest else f.number <= limit)]
        text = f"{self.extreme} {number_text(best.number)} at {x_text(best.x)}"
        return Outcome(holds=bool(set(ties) & set(self.at)), text=text)


class Ratio(Bounded):
    """One figure divided by another is in a range; both are written NAME@X. With `than_top` and `than_bottom` it is
    this ratio divided by theirs: how much more one grows than the other.
    """

    kind: Literal["ratio"]
    top: str
    bottom: str
    than_top: str = ""
    than_bottom: str = ""

    def outcome(self, series: AllSeries) -> Outcome:
        """Divides."""
        ratio, text = _quotient(series, self.top, self.bottom)
        if self.than_top:
            other, other_text = _quotient(series, self.than_top, self.than_bottom)
            if other == 0:
                raise MissingFigureError(f"{self.than_top} is 0")
            ratio, text = ratio / other, f"({text}) / ({other_text}) = {number_text(ratio / other)}"
        holds = _inside(ratio, self.at_least, self.at_most)
        return Outcome(holds=holds, text=f"{text} ({_range(self.at_least, self.at_most)})")


def _quotient(series: AllSeries, top: str, bottom: str) -> tuple[float, str]:
    """One figure divided by another, and both as text."""
    above, below = one_number(series, top), one_number(series, bottom)
    if below == 0:
        raise MissingFigureError(f"{bottom} is 0")
    return above / below, f"{top} / {bottom} = {number_text(above / below)}"


class Between(Bounded):
    """Every figure is in a range; with `at`, that one alone."""

    kind: Literal["between"]
    series: str = "ours"
    at: Abscissa | None = None

    def outcome(self, series: AllSeries) -> Outcome:
        """Counts the figures in the range."""
        found = series_named(series, self.series)
        numbers = found.numbers() if self.at is None else [found.at(self.at).number]
        inside = sum(_inside(number, self.at_least, self.at_most) for number in numbers)
        ends = (
            f"{number_text(min(numbers))} to {number_text(max(numbers))}"
            if len(numbers) > 1
            else number_text(numbers[0])
        )
        text = f"{self.series} {ends} ({_range(self.at_least, self.at_most)})"
        return Outcome(holds=inside == len(numbers), text=text)


class Spans(Bounded):
    """The largest figure of a series divided by its smallest is in a range: flat with `at_most`."""

    kind: Literal["spans"]
    series: str = "ours"

    def outcome(self, series: AllSeries) -> Outcome:
        """Divides the extremes."""
        numbers = series_named(series, self.series).numbers()
        if len(numbers) < 2 or min(numbers) <= 0:
            raise MissingFigureError(f"{self.series} has too few figures above 0")
        ratio = max(numbers) / min(numbers)
        text = f"largest / smallest {self.series} = {number_text(ratio)} ({_range(self.at_least, self.at_most)})"
        return Outcome(holds=_inside(ratio, self.at_least, self.at_most), text=text)


class Above(FrozenModel):
    """At a `share` of the common places a series is above another by more than the part `by`."""

    kind: Literal["above"]
    series: str
    than: str
    by: float = 0.0
    share: float = Field(default=1.0, gt=0, le=1)

    def outcome(self, series: AllSeries) -> Outcome:
        """Compares place by place."""
        points = common(series_named(series, self.series), series_named(series, self.than))
        above = sum(high > (1 + self.by) * low for _, high, low in points)
        by = f" by more than {percent(self.by)}" if self.by else ""
        text = f"{self.series} above {self.than}{by} at {above} of {len(points)} places{_required(self.share)}"
        return Outcome(holds=above >= self.share * len(points), text=text)


class Multiples(FrozenModel):
    """At a `share` of the multiples of `of` that have neighbors on both sides, the figure is above both."""

    kind: Literal["multiples"]
    series: str = "ours"
    of: float = Field(gt=0)
    share: float = Field(default=1.0, gt=0, le=1)

    def outcome(self, series: AllSeries) -> Outcome:
        """Compares each multiple with its neighbors."""
        figures = series_named(series, self.series).figures
        places = [
            (before.number, here.number, after.number)
            for before, here, after in zip(figures, figures[1:], figures[2:], strict=False)
            if not isinstance(here.x, str) and here.x % self.of == 0
        ]
        if not places:
            raise MissingFigureError(f"{self.series} has no multiple of {self.of:g} with neighbors")
        peaks = sum(here > max(before, after) for before, here, after in places)
        text = f"{peaks} of {len(places)} multiples of {x_text(self.of)} are peaks{_required(self.share)}"
        return Outcome(holds=peaks >= self.share * len(places), text=text)


class Slope(Bounded):
    """The straight line through a series: its slope divided by that of another, or its fixed part at a place.

    With `than`, slope / slope of that series is in the range. With `fixed_at`, intercept / value of the line there is.
    """

    kind: Literal["slope"]
    series: str = "ours"
    than: str | None = None
    fixed_at: float | None = None

    def outcome(self, series: AllSeries) -> Outcome:
        """Fits and divides."""
        intercept, slope = line_of(series_named(series, self.series))
        if self.than is not None:
            _, other = line_of(series_named(series, self.than))
            if other == 0:
                raise MissingFigureError(f"{self.than} does not change")
            ratio, what = slope / other, f"slope of {self.series} / slope of {self.than}"
        elif self.fixed_at is not None and (whole := intercept + slope * self.fixed_at) != 0:
            ratio, what = intercept / whole, f"fixed part at {x_text(self.fixed_at)}"
        else:
            raise MissingFigureError(f"{self.series} needs another slope, or a place of its own")
        text = f"{what} = {number_text(ratio)} ({_range(self.at_least, self.at_most)})"
        return Outcome(holds=_inside(ratio, self.at_least, self.at_most), text=text)


class Equals(FrozenModel):
    """The text at each of these places is one of those expected; `has` accepts texts that contain it."""

    kind: Literal["equals"]
    series: str = "ours"
    expected: dict[str, tuple[str, ...]]
    has: bool = False

    def outcome(self, series: AllSeries) -> Outcome:
        """Compares texts."""
        found = series_named(series, self.series)
        texts = {place: _text_at(found, place) for place in self.expected}
        right = [place for place, wanted in self.expected.items() if self._fits(texts[place], wanted)]
        shown = "; ".join(f"{place}: {text}" for place, text in texts.items())
        return Outcome(
            holds=len(right) == len(self.expected), text=f"{len(right)} of {len(texts)} as expected: {shown}"
        )

    def _fits(self, text: str, wanted: tuple[str, ...]) -> bool:
        return any(each in text if self.has else each == text for each in wanted)


def _text_at(series: Series, place: str) -> str:
    for figure in series.figures:
        if x_text(figure.x).replace(",", "") == place:
            return figure.value if isinstance(figure.value, str) else number_text(figure.value)
    raise MissingFigureError(f"{series.name} has no figure at {place}")


Criterion = Annotated[
    Within | Order | Monotone | Peak | Ratio | Between | Spans | Above | Multiples | Slope | Equals,
    Field(discriminator="kind"),
]


def number_text(number: float) -> str:
    """A figure as text: three digits, four above 1000."""
    return significant(number, 4 if abs(number) >= 1000 else 3)


def _inside(number: float, at_least: float | None, at_most: float | None) -> bool:
    return (at_least is None or number >= at_least) and (at_most is None or number <= at_most)


def _range(at_least: float | None, at_most: float | None) -> str:
    ends = [
        f"at least {at_least:g}" if at_least is not None else "",
        f"at most {at_most:g}" if at_most is not None else "",
    ]
    return "required: " + ", ".join(filter(None, ends))


def _required(share: float) -> str:
    return "" if share == 1 else f" (required: {percent(share)})"
