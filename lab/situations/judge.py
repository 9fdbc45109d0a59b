"""The worth of the diagnosis of each drawn situation, at each level of evidence."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from lab.situations.labels import Label
from lab.truth.levels import Explained, View, with_path_loss
from lab.truth.one_sided import WatchedView
from whyperf.explain.causes import ANOTHER, Cause
from whyperf.explain.decide import NAMED_FROM, as_named
from whyperf.explain.explanation import CauseProbability, CellExplanation, JointGain, Verdict

Outcome = Literal["right", "candidate", "not_known", "wrong"]
OUTCOMES: tuple[Outcome, ...] = ("right", "candidate", "not_known", "wrong")

LIMITS: Mapping[str, frozenset[str]] = {
    "datagrams": frozenset({Cause.ASKED_RATE}),
    "new-connections": frozenset({Cause.ROUND_TRIP, Cause.CONNECTION_SETUP, Cause.SLOW_START}),
    "burst": frozenset({Cause.ROUND_TRIP, Cause.THINK_TIME}),
    **dict.fromkeys(("requests", "two-writes", "kept-connections", "credit", "uploads"), frozenset({Cause.ROUND_TRIP})),
}
"""The limits of a load that nothing disturbs, in addition to `CAPACITY` and the link: datagrams have a rate that was
asked for, whoever waits for an answer has the length of the path, a new connection is opened and starts slowly, and
bursts are apart."""
UNDISTURBED = frozenset({Cause.CAPACITY, Cause.BOTTLENECK, Cause.NOT_KNOWN})
"""The right causes where nothing that was injected limits; everything else is wrong."""


@dataclass(frozen=True)
class Gain:
    """A gain that was predicted, and what the removal brought: rates over the rate as drawn."""

    predicted: float | None
    low: float | None
    high: float | None
    measured: float

    @property
    def is_inside(self) -> bool:
        """True where the measured gain is in the predicted interval."""
        return self.low is not None and self.high is not None and self.low <= self.measured <= self.high


@dataclass(frozen=True)
class Judged:
    """One diagnosis of one trial: what was right, what was said, what that is worth.

    `single` is the gain of the first verdict, where it names an injected cause; `joint` that of removing all causes
    together, where the diagnosis predicts it.
    """

    situation: str
    group: str
    main: str
    view: View | WatchedView
    trial: str
    accepted: tuple[str, ...]
    counts: bool
    found: tuple[str, ...]
    confidence: str
    outcome: Outcome
    #: The worth of the probabilities of causes by themselves; None where there are none.
    weighed: Outcome | None = None
    single: Gain | None = None
    joint: Gain | None = None


def judged(labels: Mapping[str, Label], explained: Sequence[Explained]) -> list[Judged]:
    """The explanations of the situations that have a label."""
    return [_judged(labels[found.role.of], found) for found in explained if found.role.of in labels]


def _judged(label: Label, explained: Explained) -> Judged:
    situation, explanation = label.situation, explained.explanation
    verdicts = explanation.verdicts
    names = tuple(str(verdict.cause) for verdict in verdicts)
    if label.counts:
        accepted = set(with_path_loss(tuple(sorted(label.accepted)), explained.view, verdicts))
    else:
        accepted = set(UNDISTURBED | LIMITS.get(situation.group, frozenset()))
    return Judged(
        situation.name,
        situation.group,
        label.main,
        explained.view,
        explained.trial,
        tuple(sorted(map(str, accepted))),
        label.counts,
        names,
        verdicts[0].confidence if verdicts else "",
        outcome_of(all_named(verdicts), accepted),
        weighed_outcome(explanation.probabilities, accepted),
        _single(label, verdicts),
        _joint(label, explanation),
    )


def all_named(verdicts: Sequence[Verdict]) -> list[str]:
    """The causes of the verdicts, and those that "not known" names: some of these have no verdict of their own."""
    causes = verdicts[0].values.get("causes") if verdicts else None
    return [*(str(verdict.cause) for verdict in verdicts), *(map(str, causes) if isinstance(causes, list) else ())]


def outcome_of(names: Sequence[str], accepted: set[str]) -> Outcome:
    """The worth of the causes that were named, the first of which is the verdict."""
    first = names[0] if names else str(Cause.NOT_KNOWN)
    if first in accepted:
        return "right"
    if first == Cause.NOT_KNOWN:
        return "candidate" if set(names) & accepted else "not_known"
    return "wrong"


MAX_CANDIDATES = 3
"""Causes that are looked at where nothing is probable enough to be named."""


def weighed_outcome(
    probabilities: Sequence[CauseProbability], accepted: set[str], bar: float = NAMED_FROM
) -> Outcome | None:
    """The worth of probabilities: what a limit finds is a verdict from `bar` on; all causes can be candidates.

    They are named as `explain` names them. Where nothing limits, it is right to name nothing.
    """
    if not probabilities:
        return None
    found, named = {each.cause for each in probabilities if each.is_found}, as_named(probabilities)
    first = max((cause for cause in named if cause in found), key=lambda cause: named[cause], default=None)
    if first is not None and named[first] >= bar:
        return "right" if first in accepted else "wrong"
    if Cause.NOT_KNOWN in accepted:
        return "right"
    causes = [each.cause for each in probabilities if each.cause != ANOTHER]
    return "candidate" if accepted.intersection(causes[:MAX_CANDIDATES]) else "not_known"


def _single(label: Label, verdicts: Sequence[Verdict]) -> Gain | None:
    """The gain of the first verdict next to the best removal of a cause that it names."""
    if not verdicts:
        return None
    first = verdicts[0]
    removed = [label.raises[part.name] for part in label.situation.ingredient if first.cause in part.causes]
    if not removed:
        return None
    return Gain(first.predicted_gain, first.predicted_low, first.predicted_high, max(removed))


def _joint(label: Label, explanation: CellExplanation) -> Gain | None:
    """The gain of the joint change that names each of several causes: what was measured without all."""
    parts = label.situation.ingredient
    for joint in explanation.joint if len(parts) > 1 else ():
        if all(_names(joint, part.causes) for part in parts):
            return Gain(joint.gain, joint.low, joint.high, label.together)
    return None


def _names(joint: JointGain, causes: Sequence[str]) -> bool:
    return bool(set(map(str, joint.causes)) & set(causes))
