"""The verdict on each entry: computed from the figures of the study and of the results, never written by hand.

A verdict is *same shape* where all criteria of an entry hold, and *different shape* where one does not. It is *not
measured* where a figure is missing: the run was not made, failed, or lacks what is read.
"""

import random
from collections.abc import Mapping
from enum import StrEnum

from pydantic import Field

from whyperf.analyze.spread import FrozenModel
from whyperf.studies.catalog import StudyEntry
from whyperf.studies.checks import Outcome
from whyperf.studies.documents import measured_series, published_series
from whyperf.studies.folder import StudyResults
from whyperf.studies.series import AllSeries, MissingFigureError, Series, StudyFigure

#: Number of times that the criteria are applied to figures drawn from their intervals.
DRAWS = 400
#: Half of the width of a 95 % interval in standard deviations of a normal distribution.
_NORMAL_95 = 1.96


class Shape(StrEnum):
    """The verdict of an entry's figures."""

    SAME = "same"
    DIFFERENT = "different"
    CANNOT = "cannot"
    NOT_MEASURED = "not-measured"


SHAPE_TEXTS: Mapping[Shape, str] = {
    Shape.SAME: "same shape",
    Shape.DIFFERENT: "different shape",
    Shape.CANNOT: "cannot be measured here",
    Shape.NOT_MEASURED: "not measured",
}


class StudyVerdict(FrozenModel):
    """The verdict on an entry, with the figures it is computed from.

    `outcomes` are those of the criteria, in order. `certainty` is the share of draws from the intervals of the figures
    with the same verdict, null where no figure has an interval. `reason` says why it is different, cannot be measured
    or was not measured. `study` and `ours` are the figures by name.
    """

    entry: str
    shape: Shape
    outcomes: tuple[Outcome, ...] = ()
    certainty: float | None = None
    reason: str = ""
    study: dict[str, list[tuple[float | str, float | str]]] = Field(default_factory=dict)
    ours: dict[str, list[tuple[float | str, float | str]]] = Field(default_factory=dict)


def judged(entry: StudyEntry, results: StudyResults | None) -> StudyVerdict:
    """The verdict on an entry; `results` are those of a folder of runs, None without any."""
    published = {name: published_series(name, each) for name, each in entry.study.items()}
    shown = {name: _shown(series) for name, series in published.items()}
    if entry.cannot:
        return StudyVerdict(entry=entry.id, shape=Shape.CANNOT, reason=entry.cannot, study=shown)
    if results is None:
        return StudyVerdict(entry=entry.id, shape=Shape.NOT_MEASURED, reason="no results are here", study=shown)
    for run in entry.runs:
        if (cpus := results.cpus(run)) is not None and cpus < entry.cpus:
            reason = f"it needs {entry.cpus} CPUs, and the host of the results has {cpus}"
            return StudyVerdict(entry=entry.id, shape=Shape.CANNOT, reason=reason, study=shown)
    ours: dict[str, Series] = {}
    try:
        ours = {
            name: measured_series(name, source, results.document(source.run, source.document))
            for name, source in entry.ours.items()
        }
        outcomes = _outcomes(entry, {**published, **ours})
    except MissingFigureError as missing:
        found = {name: _shown(series) for name, series in ours.items()}
        return StudyVerdict(entry=entry.id, shape=Shape.NOT_MEASURED, reason=str(missing), study=shown, ours=found)
    same = all(outcome.holds for outcome in outcomes)
    return StudyVerdict(
        entry=entry.id,
        shape=Shape.SAME if same else Shape.DIFFERENT,
        outcomes=outcomes,
        certainty=_certainty(entry, published, ours, same=same),
        reason="" if same else entry.why,
        study=shown,
        ours={name: _shown(series) for name, series in ours.items()},
    )


def _outcomes(entry: StudyEntry, series: AllSeries) -> tuple[Outcome, ...]:
    return tuple(criterion.outcome(series) for criterion in entry.check)


def _certainty(entry: StudyEntry, published: AllSeries, ours: AllSeries, *, same: bool) -> float | None:
    """The share of draws with the same verdict. Each figure with an interval is drawn from a normal distribution whose
    95 % interval has its width, independently of the others.
    """
    if not any(figure.low is not None for series in ours.values() for figure in series.figures):
        return None
    rng = random.Random(entry.id)
    agreeing = 0
    for _ in range(DRAWS):
        drawn = {name: _drawn(series, rng) for name, series in ours.items()}
        try:
            outcomes = _outcomes(entry, {**published, **drawn})
        except MissingFigureError:
            continue
        agreeing += all(outcome.holds for outcome in outcomes) == same
    return agreeing / DRAWS


def _drawn(series: Series, rng: random.Random) -> Series:
    return Series(series.name, tuple(_drawn_figure(figure, rng) for figure in series.figures))


def _drawn_figure(figure: StudyFigure, rng: random.Random) -> StudyFigure:
    if figure.low is None or figure.high is None or isinstance(figure.value, str):
        return figure
    return StudyFigure(figure.x, rng.gauss(figure.value, (figure.high - figure.low) / (2 * _NORMAL_95)))


def _shown(series: Series) -> list[tuple[float | str, float | str]]:
    return [(figure.x, figure.value) for figure in series.figures]


class Tally(FrozenModel):
    """The number of entries with each verdict; `ratio` is that of the same shape among those with a shape."""

    entries: int
    same: int
    different: int
    cannot: int
    not_measured: int

    @property
    def ratio(self) -> float | None:
        """The share of entries of the same shape among those that could be measured here."""
        measurable = self.entries - self.cannot
        return self.same / measurable if measurable else None


def tally(verdicts: Mapping[str, StudyVerdict]) -> Tally:
    """Counts verdicts."""
    shapes = [verdict.shape for verdict in verdicts.values()]
    return Tally(
        entries=len(shapes),
        same=shapes.count(Shape.SAME),
        different=shapes.count(Shape.DIFFERENT),
        cannot=shapes.count(Shape.CANNOT),
        not_measured=shapes.count(Shape.NOT_MEASURED),
    )
