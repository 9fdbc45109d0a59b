"""The right things to say of a situation: what removing its causes brought when it was measured."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import median

from lab.disturb.disturbances import Burn, Traffic
from lab.truth.catalog import Catalog
from lab.truth.design import CellKind
from lab.truth.situation import Ingredient, Situation, helpful

RAISES_FROM = 1.15
"""A cause counts where the rate without it is so many times the rate with it: less, a user would not call a limit."""
TAKES_FROM = 1 - 1 / RAISES_FROM
"""The same as the part of the rate without the cause that it takes."""
UNCLEAR = "its rates vary by more than its causes take"
NO_CAUSE = "none"
"""The name of the part of a situation that injects nothing."""
MIN_PAIRS_ABOVE = 7 / 8
"""Of two trials each, all pairs; of four each, 14 of 16: 6 % without a difference (Mann and Whitney 1947, table I)."""
MIN_RATE_BPS = 1.0
"""For the rate of what moved nothing in the measurement: how often more the rest is has to be a number."""

Trials = Mapping[str, Sequence[float]]
"""The rates of the trials of each part of a situation in bit/s, by the name of its sweep."""


@dataclass(frozen=True)
class Label:
    """The result of the measurements of a situation.

    Attributes:
        situation: whose.
        raises: the rate without a cause over the rate with all, by the name of the cause.
        together: the same without all.
        right: the causes that count, the one whose removal helps most first.
    """

    situation: Situation
    raises: Mapping[str, float]
    together: float
    right: tuple[Ingredient, ...]

    @property
    def counts(self) -> bool:
        """True where anything of what was injected limits."""
        return bool(self.right)

    @property
    def accepted(self) -> frozenset[str]:
        """The names of the causes that count; none where nothing does."""
        return frozenset(cause for ingredient in self.right for cause in ingredient.causes)

    @property
    def main(self) -> str:
        """The name that the situation is listed under: the injection that helps most when it is removed, or "none"."""
        return self.right[0].name if self.right else NO_CAUSE


@dataclass(frozen=True)
class Labels:
    """The labels of situations by their names, and the reasons why others are void."""

    known: Mapping[str, Label]
    void: Mapping[str, str]

    @property
    def unclear(self) -> frozenset[str]:
        """The situations of which more trials can show what is right."""
        return frozenset(name for name, reason in self.void.items() if reason == UNCLEAR)


def labels_of(catalog: Catalog, trials: Trials, disturbed_by_others: frozenset[str] = frozenset()) -> Labels:
    """The labels of the situations that were carried out as drawn, and whose trials agree; the others are void.

    Args:
        catalog: the situations.
        trials: of each part; without a rate where no trial was carried out faithfully.
        disturbed_by_others: sweeps whose CPUs other programs of this host used. On an emulated path that is seen in
            packets that are late, which a trial is repeated for; without one the CPUs are the limit.
    """
    found = [label for situation in catalog.situation if (label := _label(situation, trials)) is not None]
    unclear = {label.situation.name: UNCLEAR for label in found if not _is_clear(label, trials)}
    void = unclear | _not_as_drawn(catalog, trials, disturbed_by_others)
    return Labels({label.situation.name: label for label in found if label.situation.name not in void}, void)


def _label(situation: Situation, trials: Trials) -> Label | None:
    def rate(kind: CellKind, number: int = 0) -> float | None:
        own = trials.get(f"{situation.name}-{kind}{number or ''}")
        return max(median(own), MIN_RATE_BPS) if own else None

    numbers = range(1, len(situation.ingredient) + 1)
    now, without = rate(CellKind.SITUATION), {number: rate(CellKind.WITHOUT, number) for number in numbers}
    control = rate(CellKind.CONTROL) if len(numbers) > 1 else without[1]
    if not now or not control or not all(without.values()):
        return None
    injects = situation.ingredient[0].name != NO_CAUSE
    right = helpful(situation, now, without, control, TAKES_FROM) if injects else []
    raises = {situation.ingredient[number - 1].name: (other or 0.0) / now for number, other in without.items()}
    return Label(situation, raises, control / now, tuple(right))


def _is_clear(label: Label, trials: Trials) -> bool:
    """True where nearly every trial without what counts gave more than nearly every one with all causes.

    Otherwise the rates vary by more than the difference, and nobody knows what is right.
    """
    name = label.situation.name
    numbers = [number for number, part in enumerate(label.situation.ingredient, start=1) if part in label.right]
    alone = [number for number in numbers if label.raises[label.situation.ingredient[number - 1].name] >= RAISES_FROM]
    # Where none helps alone, they count together.
    compared = [f"{name}-{CellKind.WITHOUT}{number}" for number in alone] or [f"{name}-{CellKind.CONTROL}"]
    now = trials[f"{name}-{CellKind.SITUATION}"]
    return not label.counts or all(_pairs_above(trials[part], now) >= MIN_PAIRS_ABOVE for part in compared)


def _pairs_above(without: Sequence[float], now: Sequence[float]) -> float:
    """The part of all pairs of a trial without and one with, where the former is faster (Mann and Whitney 1947)."""
    return sum(other > own for other in without for own in now) / max(1, len(without) * len(now))


def _not_as_drawn(catalog: Catalog, trials: Trials, disturbed_by_others: frozenset[str]) -> dict[str, str]:
    """The situations that could not be carried out as drawn, with the reason."""
    found: dict[str, str] = {}
    for situation in catalog.situation:
        own = {name: rates for name, rates in trials.items() if name.rpartition("-")[0] == situation.name}
        lacking = sorted(name for name, rates in own.items() if not rates)
        if not own or lacking:
            found[situation.name] = f"no trial of {', '.join(lacking) or 'it'} was carried out"
        elif _needs_its_cpus(catalog, situation) and (busy := sorted(disturbed_by_others & own.keys())):
            found[situation.name] = f"other programs used the CPUs of {busy[0]}"
    return found


def _needs_its_cpus(catalog: Catalog, situation: Situation) -> bool:
    """True where it has no path, and programs of others are not what is injected."""
    injected = [done for part in situation.ingredient for done in part.disturb]
    has_path = "path_rtt_ms" in catalog.baseline[situation.baseline].factors
    return not has_path and not any(isinstance(done, Burn | Traffic) for done in injected)
