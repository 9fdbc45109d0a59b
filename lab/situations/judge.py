"""What the diagnosis of each drawn situation is worth, at each level of evidence.

A cause counts where removing it raises the rate by 15 % or more, alone, or together with the others
(`lab.truth.situation.helpful`). Where nothing counts the situation is undisturbed: naming the capacity, the link,
or nothing is right there, and everything else is wrong.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import sqrt
from typing import Literal

from lab.disturb.model import Burn, Traffic
from lab.truth.catalog import Catalog
from lab.truth.levels import Diagnosis, View
from lab.truth.situation import Situation
from whyperf.explain.causes import Cause

Outcome = Literal["right", "candidate", "not_known", "wrong"]
OUTCOMES: tuple[Outcome, ...] = ("right", "candidate", "not_known", "wrong")

LIMITS: Mapping[str, frozenset[str]] = {
    "datagrams": frozenset({Cause.ASKED_RATE}),
    **dict.fromkeys(
        ("requests", "two-writes", "burst", "connections", "credit", "uploads"), frozenset({Cause.ROUND_TRIP})
    ),
}
"""What limits a load that nothing disturbs, in addition to `CAPACITY` and the link: datagrams have a rate that was
asked for, and whoever waits for an answer has the length of the path."""
UNDISTURBED = frozenset({Cause.CAPACITY, Cause.BOTTLENECK, Cause.NOT_KNOWN})

Z95 = 1.96
"""Of the interval of a share, 95 % (Wilson 1927)."""


@dataclass(frozen=True)
class Judged:
    """One diagnosis of one trial: what was right, what was said, what that is worth."""

    situation: str
    view: View
    trial: str
    accepted: tuple[str, ...]
    counts: bool
    found: tuple[str, ...]
    confidence: str
    outcome: Outcome


def void_situations(
    catalog: Catalog,
    rates: Mapping[str, float | None],
    disturbed_by_others: frozenset[str] = frozenset(),
) -> dict[str, str]:
    """The situations that could not be carried out as drawn, with the reason.

    Args:
        catalog: the situations.
        rates: of each part, by the name of its sweep; None where no trial was carried out faithfully.
        disturbed_by_others: sweeps whose CPUs other programs of this host used.
    """
    found: dict[str, str] = {}
    for situation in catalog.situation:
        own = {name: rate for name, rate in rates.items() if name.rpartition("-")[0] == situation.name}
        lacking = sorted(name for name, rate in own.items() if not rate)
        if not own or lacking:
            found[situation.name] = f"no trial of {', '.join(lacking) or 'it'} was carried out"
        elif not _is_busy(situation) and (busy := sorted(disturbed_by_others & own.keys())):
            found[situation.name] = f"other programs used the CPUs of {busy[0]}"
    return found


def _is_busy(situation: Situation) -> bool:
    """Whether programs of others are what is injected."""
    return any(isinstance(done, Burn | Traffic) for part in situation.ingredient for done in part.disturb)


def judged(catalog: Catalog, diagnoses: Sequence[Diagnosis], void: Mapping[str, str]) -> list[Judged]:
    """The diagnoses of all situations that were carried out as drawn."""
    situations = {situation.name: situation for situation in catalog.situation}
    return [_judged(situations[found.role.of], found) for found in diagnoses if found.role.of not in void]


def _judged(situation: Situation, found: Diagnosis) -> Judged:
    accepted = found.accepted if found.counts else tuple(UNDISTURBED | LIMITS.get(situation.group, frozenset()))
    first = found.found[0] if found.found else str(Cause.NOT_KNOWN)
    outcome: Outcome
    if first in accepted:
        outcome = "right"
    elif first == Cause.NOT_KNOWN:
        outcome = "candidate" if set(found.found) & set(accepted) else "not_known"
    else:
        outcome = "wrong"
    return Judged(
        situation.name, found.view, found.trial, accepted, found.counts, found.found, found.confidence, outcome
    )


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
        if not self.of:
            return 0.0, 1.0
        middle = (self.ratio + Z95**2 / (2 * self.of)) / (1 + Z95**2 / self.of)
        half = Z95 * sqrt(self.ratio * (1 - self.ratio) / self.of + Z95**2 / (4 * self.of**2)) / (1 + Z95**2 / self.of)
        return middle - half, middle + half


def shares(found: Sequence[Judged]) -> dict[View, dict[Outcome, Share]]:
    """How often each outcome occurs at each level, in the order of the levels.

    Trials of one situation are not independent, so each situation counts once, by its first trial at that level.
    """
    figures: dict[View, dict[Outcome, Share]] = {}
    for view in View:
        first: dict[str, Judged] = {}
        for row in found:
            if row.view is view:
                first.setdefault(row.situation, row)
        if first:
            counted = Counter(row.outcome for row in first.values())
            figures[view] = {outcome: Share(len(first), counted[outcome]) for outcome in OUTCOMES}
    return figures
