"""What to try of a cell: the first verdict that a plan can change, and what changes several causes together.

Where the limit is not known, every candidate's change is tried: the one that raises the rate is the limit.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from whyperf.explain.causes import Cause
from whyperf.explain.model import CellExplanation, Change, JointGain, Verdict, Verification
from whyperf.explain.wording.catalog import listed, render, template

MAX_CANDIDATES = 4
"""Candidates that are tried where the limit is not known."""


@dataclass(frozen=True)
class Attempt:
    """What is to be tried: a verdict of a cell, by its number there; `joint` where its change is that of several."""

    cell: CellExplanation
    number: int
    verdict: Verdict
    joint: JointGain | None = None

    @property
    def name(self) -> str:
        """`verdict 2 (random_loss) of cell c0001`."""
        if self.joint is not None:
            return f"{listed([str(cause) for cause in self.joint.causes])} together of cell {self.cell.cell}"
        return f"verdict {self.number} ({self.verdict.cause.value}) of cell {self.cell.cell}"


def has_factors(verdict: Verdict) -> bool:
    """Whether a plan may make its change."""
    return verdict.change is not None and bool(verdict.change.factors)


def attempts_of(cell: CellExplanation) -> list[Attempt]:
    """What is tried of a cell where no verdict is named: at least one attempt, with or without a change."""
    numbered = list(enumerate(cell.verdicts, start=1))
    possible = [(number, verdict) for number, verdict in numbered if has_factors(verdict)] or numbered[:1]
    if cell.verdicts[0].cause not in {Cause.NOT_KNOWN, Cause.PATH_LOSS}:
        possible = possible[:1]
    attempts: list[Attempt] = []
    for number, verdict in possible:
        changes = [attempt.verdict.change.factors for attempt in attempts if attempt.verdict.change is not None]
        if verdict.change is None or verdict.change.factors not in changes:
            attempts.append(Attempt(cell, number, verdict))
    attempts = attempts[:MAX_CANDIDATES]
    return attempts + [_together(attempts[0], joint) for joint in cell.joint if _is_tried(joint, attempts)][:1]


def _is_tried(joint: JointGain, attempts: Sequence[Attempt]) -> bool:
    return bool(joint.factors) and any(attempt.verdict.cause in joint.causes for attempt in attempts)


def _together(attempt: Attempt, joint: JointGain) -> Attempt:
    """The joint change, as that of the first verdict."""
    update = {
        "cause": joint.causes[0],
        "change": Change(factors=joint.factors),
        "predicted_gain": joint.gain,
        "predicted_low": joint.low,
        "predicted_high": joint.high,
        "unpredicted_because": "",
    }
    return Attempt(attempt.cell, attempt.number, attempt.verdict.model_copy(update=update), joint)


def summary_of(tried: Sequence[tuple[Attempt, Verification]]) -> str:
    """Which candidates' changes raised the rate; "" where only one change was tried."""
    if len(tried) < 2:
        return ""
    raised = [attempt for attempt, found in tried if found.outcome == "confirmed"]
    if not raised:
        return render("verification", "none_raised", {"candidates_count": len(tried)})
    return render("verification", "raised", {"names": listed([_limit(attempt) for attempt in raised])})


def _limit(attempt: Attempt) -> str:
    causes = [attempt.verdict.cause] if attempt.joint is None else attempt.joint.causes
    return listed([template("limit", cause) for cause in causes]) + (" together" if attempt.joint else "")
