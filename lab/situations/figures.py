"""Figures of judged situations: how often each outcome occurs, by level, by cause, by load, by confidence."""

import operator
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from statistics import median

from lab.shares import wilson
from lab.situations.judge import OUTCOMES, Gain, Judged, Outcome
from lab.truth.levels import View
from lab.truth.one_sided import WatchedView

NOTHING = 1.05
"""A change that raises the rate by less does nothing that a user would notice."""
LOWERS = 0.95
"""A change that leaves less of the rate lowers it."""


@dataclass(frozen=True)
class Share:
    """A share with its 95 % interval (Wilson)."""

    of: int
    number: int

    @property
    def ratio(self) -> float:
        """The share; 0 of nothing."""
        return self.number / self.of if self.of else 0.0

    @property
    def interval(self) -> tuple[float, float]:
        """Its ends; all of it where there is nothing."""
        return wilson(self.number, self.of)

    def __str__(self) -> str:
        """In percent, with the interval."""
        low, high = self.interval
        return f"{self.ratio:.0%} ({low:.0%}-{high:.0%})"


Shares = dict[Outcome, Share]


Level = View | WatchedView
_OUTCOME: Callable[[Judged], Outcome] = operator.attrgetter("outcome")
LEVELS: tuple[Level, ...] = (*View, *WatchedView)


def shares(found: Sequence[Judged]) -> dict[Level, Shares]:
    """The share of each outcome of the first verdict at each level, in the order of the levels."""
    return {view: shares_of([row.outcome for row in rows]) for view in LEVELS if (rows := median_rows(found, view))}


def weighed_shares(found: Sequence[Judged]) -> dict[Level, Shares]:
    """The same of what probabilities say, where there are any."""
    known = [row for row in found if row.weighed is not None]
    return {
        view: shares_of([row.weighed for row in rows])
        for view in LEVELS
        if (rows := median_rows(known, view, lambda row: row.weighed or "wrong"))
    }


def median_rows(found: Iterable[Judged], view: Level, by: Callable[[Judged], Outcome] = _OUTCOME) -> list[Judged]:
    """The median of the trials of each situation at a level, by what they are worth; of two the worse.

    Trials of one situation are not independent, so it counts once. A single trial is not enough: grades
    of two runs of one seed are then the same in 85 to 88 % of situations (seed 20261203).
    """
    rows: dict[str, list[Judged]] = {}
    for row in found:
        if row.view is view:
            rows.setdefault(row.situation, []).append(row)
    return [sorted(own, key=lambda row: OUTCOMES.index(by(row)))[len(own) // 2] for own in rows.values()]


def shares_of(outcomes: Sequence[Outcome | None]) -> Shares:
    """The share of each of them."""
    counted = Counter(outcomes)
    return {outcome: Share(len(outcomes), counted[outcome]) for outcome in OUTCOMES}


def classes(rows: Sequence[Judged], kind: Callable[[Judged], str]) -> dict[str, Shares]:
    """The outcomes of each class of rows, by its name."""
    names = sorted({kind(row) for row in rows})
    return {name: shares_of([row.outcome for row in rows if kind(row) == name]) for name in names}


def stated(rows: Sequence[Judged]) -> dict[str, Share]:
    """The share of right ones among first verdicts that name a cause, by their confidence."""
    named = [row for row in rows if row.outcome in {"right", "wrong"}]
    return {
        confidence: Share(len(own), sum(row.outcome == "right" for row in own))
        for confidence in ("high", "medium", "low")
        if (own := [row for row in named if row.confidence == confidence])
    }


@dataclass(frozen=True)
class Gains:
    """Predicted gains next to measured ones.

    Attributes:
        inside: how many of those with an interval have the measured gain in it.
        median_error_ratio: the error of the predictions as a ratio of the measured gain; None without any.
        useless: changes that bring less than 5 %.
        harmful: changes that take more than 5 %.
    """

    inside: Share
    median_error_ratio: float | None
    useless: Share
    harmful: Share


def gains(found: Iterable[Gain | None]) -> Gains:
    """The figures of gains; None are those that nothing was predicted or measured of."""
    known = [gain for gain in found if gain is not None]
    bounded = [gain for gain in known if gain.low is not None and gain.high is not None]
    errors = [abs(gain.predicted / gain.measured - 1) for gain in known if gain.predicted is not None]
    return Gains(
        Share(len(bounded), sum(gain.is_inside for gain in bounded)),
        median(errors) if errors else None,
        Share(len(known), sum(gain.measured < NOTHING for gain in known)),
        Share(len(known), sum(gain.measured < LOWERS for gain in known)),
    )
