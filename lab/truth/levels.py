"""Grades the diagnosis at every level of evidence: of the same trials, with less and less of what they recorded."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Literal

from lab.truth.catalog import Catalog
from lab.truth.design import CellKind, Role, roles_of
from lab.truth.grade import COUNTS_FROM, causes_of, lowered_by, without_of
from lab.truth.situation import Situation, helpful
from whyperf.analyze.flow.view import Level
from whyperf.explain.causes import LOSS_KINDS, Cause
from whyperf.explain.explanation import CellExplanation, Verdict
from whyperf.plan import LOG_PREFIX, Plan

Outcome = Literal["first", "second", "not_known", "wrong"]
OUTCOMES: tuple[Outcome, ...] = ("first", "second", "not_known", "wrong")


class View(StrEnum):
    """The part of a trial's evidence that the diagnosis gets."""

    SEGMENTS = "segments"
    SENDER_SEGMENTS = "sender_segments"
    """The segment log of the sender alone; of the receiver what needs no rights."""
    RECEIVER_SEGMENTS = "receiver_segments"
    COUNTERS = "counters"
    USER = "user"
    """The evidence that needs no rights: TCP_INFO, CPUs, threads, devices, calls as the load counts them."""
    RUN = "run"
    """The one-line diagnosis that `whyperf run` prints, from counters, and the rate of the path in the plan."""

    @property
    def levels(self) -> Mapping[str, Level]:
        """The highest level of each role's host."""
        return _LEVELS[self]

    @property
    def needs_kernel(self) -> bool:
        """True where it is of more than segment logs. The model has no counters, threads and devices for that."""
        return set(self.levels.values()) != {"segments"}

    @property
    def needs_log(self) -> bool:
        """True where it is of trials with the segment log."""
        return "segments" in self.levels.values()


_LEVELS: Mapping[View, Mapping[str, Level]] = {
    View.SEGMENTS: {"sender": "segments", "receiver": "segments"},
    View.SENDER_SEGMENTS: {"sender": "segments", "receiver": "user"},
    View.RECEIVER_SEGMENTS: {"sender": "user", "receiver": "segments"},
    View.COUNTERS: {"sender": "counters", "receiver": "counters"},
    View.USER: {"sender": "user", "receiver": "user"},
    View.RUN: {"sender": "counters", "receiver": "counters"},
}

TITLES: Mapping[View, str] = {
    View.SEGMENTS: "segments, both hosts",
    View.SENDER_SEGMENTS: "segments, sender only",
    View.RECEIVER_SEGMENTS: "segments, receiver only",
    View.COUNTERS: "counters, both hosts",
    View.USER: "user level (no BPF)",
    View.RUN: "line printed by `run`",
}


@dataclass(frozen=True)
class Diagnosis:
    """The statement of the diagnosis of one trial at one level, and what may be said.

    Attributes:
        role: the cell's place in the catalog.
        view: the level.
        trial: its name.
        accepted: the causes that are correct.
        counts: whether the injected causes lower the rate enough to be graded; an undisturbed run always counts.
        lowered_ratio: the part of the rate that they take, if that was measured.
        found: the causes of the verdicts, the strongest first.
        confidence: of the first verdict.
        gain: that the first verdict predicts, and the ends of its interval.
        headline: as printed.
        missing: what evidence there is none of.
    """

    role: Role
    view: View
    trial: str
    accepted: tuple[str, ...]
    counts: bool
    lowered_ratio: float | None
    found: tuple[str, ...]
    confidence: str
    gain: tuple[float | None, float | None, float | None]
    headline: str
    missing: tuple[str, ...] = ()

    @property
    def outcome(self) -> Outcome:
        """Right first; right second, after another cause; not known; or wrong: two other causes, or only one.

        A run without a cause is right with only causes that may be named, and with none.
        """
        if not self.found or self.found[0] == Cause.NOT_KNOWN:
            return "first" if self.role.kind is CellKind.UNDISTURBED else "not_known"
        if self.found[0] in self.accepted:
            return "first"
        return "second" if len(self.found) > 1 and self.found[1] in self.accepted else "wrong"

    @property
    def has_candidate(self) -> bool:
        """True where a correct cause is among all that are named."""
        return bool(set(self.found) & set(self.accepted))

    @property
    def names_another(self) -> bool:
        """True where the first verdict names a cause that is not correct."""
        return self.outcome in {"second", "wrong"}


@dataclass(frozen=True)
class Explained:
    """The explanation of one trial at one level."""

    role: Role
    view: View
    trial: str
    explanation: CellExplanation


def trials_of(plan: Plan, complete: Sequence[str], cell: str, view: View) -> list[str]:
    """The names of the cell's complete trials that a level is graded on."""
    wanted = [trial.id for trial in plan.trials() if trial.cell == cell and trial.id in complete]
    return [trial for trial in wanted if trial.startswith(LOG_PREFIX) == view.needs_log]


def diagnoses(
    catalog: Catalog, plan: Plan, rates_bps: Mapping[str, float | None], explained: Sequence[Explained]
) -> list[Diagnosis]:
    """Collects what each explanation says and what may be said, in their order.

    `rates_bps` are the medians of the trials without the log, by cell.
    """
    cells = {cell.sweep: cell.id for cell in plan.cells}
    rates = {sweep: rates_bps.get(cell) for sweep, cell in cells.items()}
    situations = {situation.name: situation for situation in catalog.situation}
    truths = {
        role.sweep: truth_of(catalog, situations.get(role.of), role, rates)
        for role in roles_of(catalog)
        if role.is_explained
    }
    return [_diagnosis(found, *truths[found.role.sweep]) for found in explained]


OF_BOTH_LOGS = frozenset({View.SEGMENTS, "both_segments"})
"""Views with the segment logs of both hosts, also of another program (`one_sided.WatchedView`)."""


def with_path_loss(accepted: tuple[str, ...], view: StrEnum, verdicts: Sequence[Verdict] = ()) -> tuple[str, ...]:
    """Also that the path loses segments, where only logs of both hosts show how and what is correct is one of the kinds
    of loss that the verdict names. Of datagrams it names none: then it is any of `LOSS_KINDS`.
    """
    named = {
        cause
        for verdict in verdicts
        if verdict.cause is Cause.PATH_LOSS
        for cause in _texts(verdict.values.get("causes", ()))
    }
    is_lossy = any(cause in accepted for cause in named or map(str, LOSS_KINDS))
    is_open = view not in OF_BOTH_LOGS
    return (*accepted, str(Cause.PATH_LOSS)) if is_lossy and is_open else accepted


def _texts(value: object) -> list[str]:
    return [str(part) for part in value] if isinstance(value, list | tuple) else []


def _diagnosis(found: Explained, accepted: tuple[str, ...], counts: bool, lowered: float | None) -> Diagnosis:
    verdicts = found.explanation.verdicts
    first: Verdict | None = verdicts[0] if verdicts else None
    return Diagnosis(
        role=found.role,
        view=found.view,
        trial=found.trial,
        accepted=with_path_loss(accepted, found.view, verdicts),
        counts=counts,
        lowered_ratio=lowered,
        found=tuple(str(verdict.cause) for verdict in verdicts),
        confidence="" if first is None else first.confidence,
        gain=(None, None, None) if first is None else (first.predicted_gain, first.predicted_low, first.predicted_high),
        headline=found.explanation.headline,
        missing=tuple(found.explanation.missing),
    )


def truth_of(
    catalog: Catalog, situation: Situation | None, role: Role, rates: Mapping[str, float | None]
) -> tuple[tuple[str, ...], bool, float | None]:
    """The accepted causes, whether the cell counts, and the part of the rate that was lost."""
    if situation is not None:
        return _of_situation(situation, rates)
    accepted = tuple(str(cause) for cause in causes_of(catalog, role))
    if role.kind is CellKind.UNDISTURBED:
        return accepted, True, None
    lowered = lowered_by(rates.get(role.sweep), without_of(role, rates))
    return accepted, lowered is not None and lowered >= COUNTS_FROM, lowered


def _of_situation(
    situation: Situation, rates: Mapping[str, float | None]
) -> tuple[tuple[str, ...], bool, float | None]:
    rate = rates.get(f"{situation.name}-{CellKind.SITUATION}")
    control = rates.get(f"{situation.name}-{CellKind.CONTROL}")
    without = {
        number: rates.get(f"{situation.name}-{CellKind.WITHOUT}{number}")
        for number in range(1, len(situation.ingredient) + 1)
    }
    right = helpful(situation, rate, without, control, COUNTS_FROM)
    best = max((other for other in (control, *without.values()) if other), default=None)
    causes = dict.fromkeys(cause for ingredient in right for cause in ingredient.causes)
    # What does not count is listed with all its causes, so that a reader sees what was injected.
    listed = causes or dict.fromkeys(cause for ingredient in situation.ingredient for cause in ingredient.causes)
    return tuple(listed), bool(right), lowered_by(rate, best)
