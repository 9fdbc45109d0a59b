"""A situation of the field catalog: one or more ingredients that may lower the rate, and what may be named for each.

A situation is measured as it is, and without each of its ingredients. With several ingredients it is measured without
all of them, too. Only what the measurements show to matter is a correct answer (`helpful`).
"""

from collections.abc import Mapping, Sequence
from random import Random
from typing import Literal, Self

from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator

from lab.disturb.disturbances import Disturbance
from whyperf.explain.causes import Cause
from whyperf.profile import Factors, Level

Half = Literal["tuning", "held_out"]

DRAW_SEED = 1609
"""Seed of the draw that gives each situation its half."""

COMING: frozenset[str] = frozenset(
    {
        "ack_path",
        "asked_rate",
        "connection_setup",
        "cpu_quota",
        "local_queue",
        "memory_limit",
        "pause",
        "policer",
        "shared_bottleneck",
        "window_scaling",
    }
)
"""Accepted names of causes that the explanation need not have yet: until then, no verdict can name them."""


class CatalogTable(BaseModel):
    """A table of a catalog. Unknown keys are refused."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class Ingredient(CatalogTable):
    """An injection: `factors` and `disturb`. The first of the `causes` is its cause.

    `also` gives, for each further cause, the reason why it is correct, too.
    """

    name: str
    causes: tuple[str, ...] = Field(min_length=1)
    also: dict[str, str] = {}
    factors: dict[str, Level] = {}
    disturb: tuple[Disturbance, ...] = ()

    @field_validator("causes")
    @classmethod
    def _are_causes(cls, causes: tuple[str, ...]) -> tuple[str, ...]:
        for cause in causes:
            if cause not in COMING and cause not in set(Cause):
                raise ValueError(f"there is no cause {cause}")
        return causes

    @model_validator(mode="after")
    def _has_reasons(self) -> Self:
        if set(self.also) != set(self.causes[1:]):
            raise ValueError(
                f"{self.name}: each cause after the first needs its reason under also, and no other has one"
            )
        if not self.injects:
            raise ValueError(f"{self.name} injects nothing: it needs factors or disturb")
        return self

    @property
    def injects(self) -> bool:
        """True where it changes anything."""
        return bool(self.factors or self.disturb)


class Situation(CatalogTable):
    """Something that users meet: a baseline, further `factors`, and the ingredients.

    `group` is the class that the draw of the halves is stratified by; only the field catalog has halves. `report` is
    the public report that it stands for, or the kind of them.
    """

    name: str
    about: str
    report: str = ""
    group: str
    half: Half | None = None
    baseline: str
    factors: dict[str, Level] = {}
    ingredient: tuple[Ingredient, ...] = Field(min_length=1)

    @property
    def main_causes(self) -> tuple[str, ...]:
        """The injected causes."""
        return tuple(ingredient.causes[0] for ingredient in self.ingredient)

    def all_factors(self) -> list[Factors]:
        """The factors that it and its ingredients set."""
        return [self.factors, *(ingredient.factors for ingredient in self.ingredient)]

    def factors_with(self, ingredients: Sequence[Ingredient]) -> Factors:
        """Its factors and those of these ingredients, in their order."""
        merged: Factors = dict(self.factors)
        for ingredient in ingredients:
            merged |= ingredient.factors
        return merged

    def without(self, number: int) -> tuple[Ingredient, ...]:
        """All ingredients but one, which counts from 1."""
        return (*self.ingredient[: number - 1], *self.ingredient[number:])


def helpful(
    situation: Situation,
    rate: float | None,
    without: Mapping[int, float | None],
    control: float | None,
    min_ratio: float,
) -> list[Ingredient]:
    """The ingredients that are right to name.

    Those whose removal alone raises the rate, the one whose removal helps most first. If none does, all of them, if
    removing all together raises it.

    Args:
        situation: whose.
        rate: of the situation.
        without: the rates without one ingredient, by its number.
        control: the rate without all.
        min_ratio: the part of the rate without an ingredient that the ingredient takes at least.
    """
    if not rate:
        return []
    raised = {number: other for number, other in without.items() if other and 1 - rate / other >= min_ratio}
    if raised:
        return [situation.ingredient[number - 1] for number in sorted(raised, key=lambda number: -raised[number])]
    return list(situation.ingredient) if control and 1 - rate / control >= min_ratio else []


def draw(groups: Mapping[str, Sequence[str]], seed: int = DRAW_SEED) -> dict[str, Half]:
    """The half of each situation: of each class half at random, by names, in the order of the classes.

    A class with an odd number of situations gives its last one to the half that has fewer by then.
    """
    rng = Random(f"halves of the field catalog, seed {seed}")
    halves: dict[str, Half] = {}
    for group in sorted(groups):
        names = sorted(groups[group])
        rng.shuffle(names)
        size = len(names) // 2
        tuning = sum(half == "tuning" for half in halves.values())
        if len(names) % 2 and tuning <= len(halves) - tuning:
            size += 1
        halves |= {name: "tuning" if place < size else "held_out" for place, name in enumerate(names)}
    return halves
