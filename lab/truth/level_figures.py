"""The share of right diagnoses at each level of evidence, and the worth of their confidence there."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from lab.truth.levels import OUTCOMES, Diagnosis, Outcome, View

CONFIDENCES = ("high", "medium", "low")

REQUIRED: dict[View, tuple[float, float]] = {
    View.SEGMENTS: (0.90, 0.03),
    View.COUNTERS: (0.75, 0.05),
    View.USER: (0.60, 0.08),
    View.RUN: (0.75, 0.05),
}
"""Required share of right first verdicts, and the largest share of first verdicts that name another cause."""

WITH_CANDIDATE = 0.80
"""Required share of the answers "not known" that name a correct cause among their candidates."""

RIGHT_AT: dict[str, float] = {"high": 0.95, "medium": 0.80}
"""Required share of right first verdicts of a confidence."""


@dataclass(frozen=True)
class Tally:
    """The outcomes of the diagnoses at one level.

    `counts` by outcome; `candidates` of those "not known" name a correct cause; `another` are the first verdicts that
    name another cause, by confidence: those that are wrong, and those right in the second place only. `stated` are the
    first verdicts that name a cause by confidence: (right, all).
    """

    view: View
    of: int
    counts: dict[Outcome, int]
    candidates: int
    another: dict[str, int]
    stated: dict[str, tuple[int, int]]

    @property
    def right_ratio(self) -> float:
        """Share of the first verdicts that are right."""
        return self.counts["first"] / self.of if self.of else 0.0

    @property
    def another_ratio(self) -> float:
        """Share of the first verdicts that name another cause."""
        return sum(self.another.values()) / self.of if self.of else 0.0

    @property
    def holds(self) -> bool | None:
        """True where the level is as good as required; None where nothing is required or nothing was counted."""
        if self.view not in REQUIRED or not self.of:
            return None
        right, another = REQUIRED[self.view]
        unknown = self.counts["not_known"]
        has_candidates = not unknown or self.candidates / unknown >= WITH_CANDIDATE
        return self.right_ratio >= right and self.another_ratio <= another and has_candidates


def tallies(found: Iterable[Diagnosis]) -> list[Tally]:
    """The levels that were graded, in their order; diagnoses that do not count are left out."""
    counting = [diagnosis for diagnosis in found if diagnosis.counts]
    graded = [(view, [diagnosis for diagnosis in counting if diagnosis.view is view]) for view in View]
    return [_tally(view, members) for view, members in graded if members]


def _tally(view: View, found: Sequence[Diagnosis]) -> Tally:
    counts = {outcome: sum(diagnosis.outcome == outcome for diagnosis in found) for outcome in OUTCOMES}
    unknown = [diagnosis for diagnosis in found if diagnosis.outcome == "not_known"]
    another: dict[str, int] = {}
    stated: dict[str, tuple[int, int]] = {}
    for confidence in CONFIDENCES:
        members = [
            diagnosis for diagnosis in found if diagnosis.confidence == confidence and diagnosis.outcome != "not_known"
        ]
        right = sum(diagnosis.outcome == "first" for diagnosis in members)
        stated[confidence] = (right, len(members))
        another[confidence] = len(members) - right
    return Tally(view, len(found), counts, sum(diagnosis.has_candidate for diagnosis in unknown), another, stated)
