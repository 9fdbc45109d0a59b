"""Grades explanations of trials as if another program's connection had been watched: one side only, or both, with less
and less evidence.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Literal

from whyperf.analyze.flow.view import Level
from whyperf.explain.causes import LOSS_KINDS, Cause
from whyperf.explain.explanation import CellExplanation

Sides = Literal["sender", "receiver", "both"]
Outcome = Literal["right", "candidate", "not_known", "wrong"]
OUTCOMES: tuple[Outcome, ...] = ("right", "candidate", "not_known", "wrong")


class WatchedView(StrEnum):
    """The sides that were watched, and the evidence of each."""

    BOTH_SEGMENTS = "both_segments"
    BOTH_USER = "both_user"
    SENDER_SEGMENTS = "sender_segments"
    SENDER_COUNTERS = "sender_counters"
    SENDER_USER = "sender_user"
    SENDER_TCP_INFO = "sender_tcp_info"
    RECEIVER_SEGMENTS = "receiver_segments"
    RECEIVER_COUNTERS = "receiver_counters"
    RECEIVER_USER = "receiver_user"
    RECEIVER_TCP_INFO = "receiver_tcp_info"

    @property
    def sides(self) -> Sides:
        """Whose hosts were watched."""
        name = self.value.partition("_")[0]
        return "both" if name == "both" else "sender" if name == "sender" else "receiver"

    @property
    def level(self) -> Level:
        """The highest level of evidence of these hosts."""
        name = self.value.partition("_")[2]
        return "segments" if name == "segments" else "counters" if name == "counters" else "user"

    @property
    def has_sockets(self) -> bool:
        """True where the table `sockets` is there, in addition to TCP_INFO."""
        return not self.value.endswith("tcp_info")


@dataclass(frozen=True)
class Graded:
    """One explanation: the situation, the view, the accepted causes, what was said, and what that is worth."""

    situation: str
    view: WatchedView
    accepted: tuple[str, ...]
    named: tuple[str, ...]
    outcome: Outcome
    closed_ratio: float | None
    headline: str


def graded(
    situation: str, view: WatchedView, accepted: Sequence[str], found: CellExplanation, *, is_undisturbed: bool = False
) -> Graded:
    """The grade of one explanation.

    Right is a first verdict with an accepted cause, or one of losses that names an accepted kind of them. Not known
    counts as a candidate if an accepted cause is among those that it leaves open. Undisturbed trials blame nothing.
    """
    first = found.verdicts[0]
    left_open = _listed(first.values.get("causes"))
    named = (str(first.cause), *left_open)
    outcome: Outcome
    if first.cause is Cause.NOT_KNOWN:
        is_among = bool(_with_losses(set(left_open)) & set(accepted))
        outcome = "right" if is_undisturbed else "candidate" if is_among else "not_known"
    elif str(first.cause) in accepted or (first.cause is Cause.PATH_LOSS and set(left_open) & set(accepted)):
        outcome = "right"
    else:
        outcome = "wrong"
    closed = [1 - budget.ratio("unknown") for budget in found.budgets]
    return Graded(situation, view, tuple(accepted), named, outcome, min(closed, default=None), found.headline)


def _with_losses(causes: set[str]) -> set[str]:
    """Candidates with the kinds of what is named as a whole."""
    kinds = {str(cause) for cause in LOSS_KINDS} if str(Cause.PATH_LOSS) in causes else set()
    return causes | kinds


def _listed(value: object) -> tuple[str, ...]:
    return tuple(str(part) for part in value) if isinstance(value, list | tuple) else ()


def counts_of(grades: Sequence[Graded]) -> dict[WatchedView, Counter[Outcome]]:
    """Number of each outcome, by view."""
    found: dict[WatchedView, Counter[Outcome]] = {view: Counter() for view in WatchedView}
    for grade in grades:
        found[grade.view][grade.outcome] += 1
    return found
