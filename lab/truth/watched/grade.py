"""Grades what the views of a watch say about programs into whose runs a cause was injected."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from pydantic import BaseModel, ConfigDict

from lab.shares import wilson
from lab.truth.grade import COUNTS_FROM, lowered_by
from lab.truth.one_sided import OUTCOMES, Outcome, WatchedView, graded
from lab.truth.watched.catalog import Case, WatchedCatalog
from whyperf.explain.causes import Cause
from whyperf.explain.explanation import CauseProbability, CellExplanation

MAX_OTHER_CPUS = 0.2
"""CPUs that processes may use which are of no run. With more, a verdict that names other programs may be right."""


class Sight(StrEnum):
    """The part that was watched: the two sides, one of them, or one without privilege. Options have these words."""

    BOTH = "both"
    SENDER = "sender"
    RECEIVER = "receiver"
    USER = "user"

    @property
    def views(self) -> tuple[WatchedView, ...]:
        """The explanations that a run gets of it."""
        return _VIEWS[self]


_VIEWS: Mapping[Sight, tuple[WatchedView, ...]] = {
    Sight.BOTH: (WatchedView.BOTH_SEGMENTS,),
    Sight.SENDER: (WatchedView.SENDER_SEGMENTS,),
    Sight.RECEIVER: (WatchedView.RECEIVER_SEGMENTS,),
    Sight.USER: (WatchedView.SENDER_USER, WatchedView.RECEIVER_USER),
}

TITLES: Mapping[WatchedView, str] = {
    WatchedView.BOTH_SEGMENTS: "both sides",
    WatchedView.SENDER_SEGMENTS: "sender alone",
    WatchedView.RECEIVER_SEGMENTS: "receiver alone",
    WatchedView.SENDER_USER: "sender alone, no privilege",
    WatchedView.RECEIVER_USER: "receiver alone, no privilege",
}


@dataclass(frozen=True)
class Bar:
    """The requirement on some views together: the least share of good outcomes, and the largest of wrong ones."""

    name: str
    views: tuple[WatchedView, ...]
    good: tuple[Outcome, ...]
    min_good: float
    max_wrong: float


BARS = (
    Bar("both sides, with privilege", (WatchedView.BOTH_SEGMENTS,), ("right",), 0.90, 0.03),
    Bar(
        "one side, with privilege",
        (WatchedView.SENDER_SEGMENTS, WatchedView.RECEIVER_SEGMENTS),
        ("right", "candidate"),
        0.85,
        0.05,
    ),
    Bar(
        "one side, without privilege",
        (WatchedView.SENDER_USER, WatchedView.RECEIVER_USER),
        ("right",),
        0.60,
        0.05,
    ),
)


class ViewGrade(BaseModel):
    """The statement of one view on one run. `named` has the first cause, and behind it those that it leaves open."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    view: WatchedView
    outcome: Outcome
    named: tuple[str, ...]
    confidence: str
    #: The smallest share of the watched time in known states; None without a budget.
    closed_ratio: float | None
    headline: str
    #: The probabilities of causes, by observations alone; older runs have none.
    probabilities: tuple[CauseProbability, ...] = ()

    @property
    def first(self) -> str:
        """The cause of the first verdict."""
        return self.named[0]


class WatchedRun(BaseModel):
    """One run of a case: dose 0 is the one without the cause. `void` says why it does not count, if it does not."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    case: str
    dose: int
    block: int
    rate_bps: float | None = None
    void: str | None = None
    #: CPUs that processes used which are of no run, and the busiest of them.
    other_cpus: float = 0.0
    busiest: str = ""
    grades: tuple[ViewGrade, ...] = ()
    #: Where its result is, below the folder of the experiment, if it was kept.
    kept: str | None = None

    @property
    def key(self) -> tuple[str, int, int]:
        """The case, the dose and the block that it is of."""
        return self.case, self.dose, self.block


@dataclass(frozen=True)
class JudgedRun:
    """A run with a cause, next to the one without. `lowered_ratio` is the share of the rate that the cause takes."""

    case: Case
    run: WatchedRun
    lowered_ratio: float | None

    @property
    def counts(self) -> bool:
        """True where it is graded: it is valid, and the cause lowers the rate enough."""
        return not self.why_not

    @property
    def why_not(self) -> str:
        """Why it does not count; "" where it does."""
        if self.run.void is not None:
            return self.run.void
        if self.lowered_ratio is None:
            return "the run without the cause is void"
        return "" if self.lowered_ratio >= COUNTS_FROM else "too weak"

    @property
    def graded(self) -> tuple[ViewGrade, ...]:
        """Grades that count of a run that does: not a verdict that names other programs while some took the CPUs."""
        if not self.counts:
            return ()
        may_be_right = {str(Cause.OTHER_LOAD)} if self.run.other_cpus > MAX_OTHER_CPUS else set()
        return tuple(grade for grade in self.run.grades if grade.outcome == "right" or grade.first not in may_be_right)

    def grade(self, view: WatchedView) -> ViewGrade | None:
        """The statement of a view."""
        return next((grade for grade in self.run.grades if grade.view is view), None)


@dataclass(frozen=True)
class OutcomeShares:
    """The outcomes of a bar's views, or of one view where `bar` has none to reach."""

    name: str
    counts: Counter[Outcome]
    bar: Bar | None = None

    @property
    def of(self) -> int:
        """Number of explanations that were graded."""
        return self.counts.total()

    def ratio(self, *outcomes: Outcome) -> float | None:
        """Their share; None where nothing was graded."""
        return sum(self.counts[outcome] for outcome in outcomes) / self.of if self.of else None

    def interval(self, *outcomes: Outcome) -> tuple[float, float] | None:
        """The 95 % interval of their share (Wilson, JASA 1927); it takes the runs as independent."""
        return wilson(sum(self.counts[outcome] for outcome in outcomes), self.of) if self.of else None

    @property
    def holds(self) -> bool | None:
        """True where the bar is reached; None without one, and where nothing was graded."""
        if self.bar is None or not self.of:
            return None
        good, wrong = self.ratio(*self.bar.good), self.ratio("wrong")
        assert good is not None
        assert wrong is not None
        return good >= self.bar.min_good and wrong <= self.bar.max_wrong


def view_grade(case: Case, view: WatchedView, found: CellExplanation) -> ViewGrade:
    """The grade of one explanation, by the criteria of `truth.one_sided`."""
    grade = graded(case.name, view, case.accepted, found)
    return ViewGrade(
        view=view,
        outcome=grade.outcome,
        named=grade.named,
        confidence=found.verdicts[0].confidence,
        closed_ratio=grade.closed_ratio,
        headline=grade.headline,
        probabilities=tuple(found.probabilities),
    )


def judged(catalog: WatchedCatalog, runs: Iterable[WatchedRun]) -> list[JudgedRun]:
    """The runs with a cause, in the order of the catalog; each is compared with the baseline of its own block."""
    by_key = {run.key: run for run in runs}
    found = []
    for case in catalog.case:
        for key, run in sorted(by_key.items()):
            if key[0] != case.name or not run.dose:
                continue
            base = by_key.get((case.name, 0, run.block))
            without = None if base is None or base.void is not None else base.rate_bps
            found.append(JudgedRun(case, run, lowered_by(run.rate_bps, without)))
    return found


def figures(found: Sequence[JudgedRun]) -> list[OutcomeShares]:
    """The outcomes of each bar, then of each view; those that nothing was graded of are left out."""
    by_bar = [OutcomeShares(bar.name, _counts(found, bar.views), bar) for bar in BARS]
    by_view = [OutcomeShares(title, _counts(found, (view,))) for view, title in TITLES.items()]
    return [figure for figure in (*by_bar, *by_view) if figure.of]


def _counts(found: Sequence[JudgedRun], views: Sequence[WatchedView]) -> Counter[Outcome]:
    grades = [grade for each in found for grade in each.graded if grade.view in views]
    return Counter({outcome: sum(grade.outcome == outcome for grade in grades) for outcome in OUTCOMES})


def confusions(found: Sequence[JudgedRun]) -> list[tuple[JudgedRun, ViewGrade]]:
    """The first verdicts that name a cause that was not injected."""
    return [(each, grade) for each in found for grade in each.graded if grade.outcome == "wrong"]
