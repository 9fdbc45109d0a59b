"""What is right to say of a situation: what removing its causes brought when it was measured."""

from collections.abc import Mapping
from dataclasses import dataclass

from lab.truth.catalog import Catalog
from lab.truth.design import CellKind
from lab.truth.situation import Ingredient, Situation, helpful
from whyperf.analyze.spread import Spread

RAISES_FROM = 1.15
"""A cause counts where the rate without it is so many times the rate with it: less, a user would not call a limit."""
TAKES_FROM = 1 - 1 / RAISES_FROM
"""The same as the part of the rate without the cause that it takes."""
NO_CAUSE = "none"
"""The name of the part of a situation that injects nothing."""
MIN_RATE_BPS = 1.0
"""For the rate of what moved nothing in the measurement: how often more the rest is has to be a number."""


@dataclass(frozen=True)
class Label:
    """What the measurements of a situation show.

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
        """Whether anything of what was injected limits."""
        return bool(self.right)

    @property
    def accepted(self) -> frozenset[str]:
        """The names of the causes that count; none where nothing does."""
        return frozenset(cause for ingredient in self.right for cause in ingredient.causes)

    @property
    def main(self) -> str:
        """What the situation is listed under: the injection that helps most when it is removed, or "none"."""
        return self.right[0].name if self.right else NO_CAUSE


def is_clear(label: Label, rates: Mapping[str, Spread]) -> bool:
    """Whether each removal that counts gave more in its worst trial than all causes left in their best.

    Otherwise the rates vary by more than the difference, and nobody knows what is right.
    """
    name = label.situation.name
    numbers = [number for number, part in enumerate(label.situation.ingredient, start=1) if part in label.right]
    alone = [number for number in numbers if label.raises[label.situation.ingredient[number - 1].name] >= RAISES_FROM]
    # Where none helps alone, they count together.
    compared = [f"{name}-{CellKind.WITHOUT}{number}" for number in alone] or [f"{name}-{CellKind.CONTROL}"]
    now = rates[f"{name}-{CellKind.SITUATION}"]
    return not label.counts or all(_low(rates[part]) > (now.high or _low(now)) for part in compared)


def _low(rate: Spread) -> float:
    """The lower of the trials, or the only one."""
    return rate.low if rate.low is not None else rate.median or 0.0


def labels_of(catalog: Catalog, rates: Mapping[str, Spread]) -> dict[str, Label]:
    """The labels of the situations all of whose parts were measured, by their names.

    Args:
        catalog: the situations.
        rates: of each part, by the name of its sweep; of two trials `low` and `high` are the two.
    """
    found = (_label(situation, rates) for situation in catalog.situation)
    return {label.situation.name: label for label in found if label is not None}


def _label(situation: Situation, rates: Mapping[str, Spread]) -> Label | None:
    def rate(kind: CellKind, number: int = 0) -> float | None:
        spread = rates.get(f"{situation.name}-{kind}{number or ''}")
        return None if spread is None or spread.median is None else max(spread.median, MIN_RATE_BPS)

    numbers = range(1, len(situation.ingredient) + 1)
    now, without = rate(CellKind.SITUATION), {number: rate(CellKind.WITHOUT, number) for number in numbers}
    control = rate(CellKind.CONTROL) if len(numbers) > 1 else without[1]
    if not now or not control or not all(without.values()):
        return None
    injects = situation.ingredient[0].name != NO_CAUSE
    right = helpful(situation, now, without, control, TAKES_FROM) if injects else []
    raises = {situation.ingredient[number - 1].name: (other or 0.0) / now for number, other in without.items()}
    return Label(situation, raises, control / now, tuple(right))
