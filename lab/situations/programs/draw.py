"""Draws situations of programs of others: situations for the labels, and the cases that are run and watched."""

import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random

from pydantic import Field

from lab.situations.causes import CAUSES
from lab.situations.distributions import LAN_RATE_BPS, LAN_RTT_S, NO_PATH, NONE_CAUSES, Load, one_of
from lab.situations.draw import MAX_DRAWS
from lab.situations.injecting import Injected
from lab.situations.labels import NO_CAUSE
from lab.situations.programs.causes import CAUSES as OF_PROGRAMS
from lab.situations.programs.causes import Options, ProgramCause
from lab.situations.programs.served import SERVED, Served
from lab.situations.setting import Setting, draw_path, traits_of_path
from lab.truth.catalog import Baseline, Catalog
from lab.truth.situation import Ingredient, Situation
from lab.truth.watched.catalog import (
    TESTBED_FACTORS,
    Base,
    Case,
    Change,
    Program,
    WatchedCatalog,
    load_watched,
    plan_watched,
)
from whyperf.disturb.orders import Side
from whyperf.explain.causes import Cause
from whyperf.profile import Factors, ProfileError

FILE = Path(__file__).with_name("programs.toml")
FROM_START = 0.3
"""Probability that the watch begins before the client is started; otherwise it begins in mid-life."""
WHOLE = 0.5
"""Probability that super-segments pass a path whole."""
OWN_WEIGHT = 3
"""Weight of a cause of a program's own options: it has few of them, and all programs have the others."""
NOT_WITH_PROGRAMS = frozenset({"stopped-process"})
"""The launcher of the programs would be stopped, which answers for them."""
DOSE = 1
"""The dose of a case that is the situation as drawn; those behind it lack one cause, and 0 lacks all."""


class ProgramIngredient(Ingredient):
    """An injection into a program: `client`, `server` and `fill` as in a `Change`, in addition to factors."""

    client: tuple[str, ...] = ()
    server: tuple[str, ...] = ()
    fill: dict[str, str] = Field(default_factory=dict)

    @property
    def injects(self) -> bool:
        """True where it changes anything: what stands for no cause does not."""
        return True


@dataclass(frozen=True)
class DrawnPrograms:
    """The situations, and the cases that they are run as, by the same names."""

    catalog: Catalog
    watched: WatchedCatalog


def all_programs() -> dict[str, Program]:
    """The programs by name."""
    own = tomllib.loads(FILE.read_text(encoding="utf-8"))["program"]
    return load_watched().program | {name: Program.model_validate(table) for name, table in own.items()}


def draw_programs(count: int, seed: int) -> DrawnPrograms:
    """So many situations. The same seed gives the same ones on every machine, and the first of them at any count."""
    programs = all_programs()
    drawn = [_situation(number, seed, programs) for number in range(1, count + 1)]
    baselines = {f"{situation.name}-base": factors for situation, factors, _ in drawn}
    return DrawnPrograms(
        Catalog(
            baseline={
                name: Baseline(about="A path.", undisturbed=False, factors=factors)
                for name, factors in baselines.items()
            },
            situation=tuple(situation for situation, _, _ in drawn),
        ),
        WatchedCatalog(
            program=programs,
            baseline={name: Base(about="A path.", factors=factors) for name, factors in baselines.items()},
            case=tuple(case for _, _, case in drawn),
        ),
    )


def _situation(number: int, seed: int, programs: dict[str, Program]) -> tuple[Situation, Factors, Case]:
    rng = Random(f"programs {number} of seed {seed}")
    for _ in range(MAX_DRAWS):
        situation, factors, case = _drawn(rng, f"p{seed}-{number:04}", programs)
        base = {case.baseline: Base(about="A path.", factors=factors)}
        try:
            plan_watched(WatchedCatalog(program=programs, baseline=base, case=(case,)))
        except ProfileError:
            continue
        return situation, factors, case
    raise ValueError(f"nothing of {MAX_DRAWS} drawn settings fits: the distributions contradict each other")


def _drawn(rng: Random, name: str, programs: dict[str, Program]) -> tuple[Situation, Factors, Case]:
    served = one_of(rng, tuple((served, served.weight) for served in SERVED))
    setting = _setting(rng, served, programs[served.name])
    ingredients = _ingredients(rng, served, setting, rng.choices(range(len(NONE_CAUSES)), NONE_CAUSES)[0])
    from_start = rng.random() < FROM_START
    about = f"{served.name}; {', '.join(part.name for part in ingredients)}; {'whole' if from_start else 'mid-life'}"
    situation = Situation(name=name, about=about, group=served.name, baseline=f"{name}-base", ingredient=ingredients)
    causes = tuple(dict.fromkeys(Cause(cause) for part in ingredients for cause in part.causes))
    case = Case(
        name=name,
        causes=causes,
        also=dict.fromkeys(causes[1:], "It is injected, too."),
        program=served.name,
        baseline=f"{name}-base",
        client=served.client,
        server=served.server,
        fill=dict(served.fill),
        from_start=from_start,
        doses=(_merged(ingredients), *_without_each(situation, ingredients)),
    )
    return situation, setting.factors, case


def _setting(rng: Random, served: Served, program: Program) -> Setting:
    factors: Factors = {}
    rate_bps, rtt_s = LAN_RATE_BPS, LAN_RTT_S
    if rng.random() >= NO_PATH:
        factors, rate_bps, rtt_s = draw_path(rng)
    # The catalog gives a path the direction in which the program sends.
    traits = set(served.traits) | {"tcp", "kernel_tcp", "ipv4", "forward", "programs"}
    traits |= traits_of_path(factors, rate_bps * rtt_s / 8)
    if factors and rng.random() >= WHOLE:
        factors |= {"tso": False, "gso": False, "gro": False}
        traits.add("packets")
    load = Load(served.name, served.weight, served.traits, {})
    receiver: Side = "near" if program.sender == "far" else "far"
    return Setting(load, factors, frozenset(traits), rate_bps, rtt_s, 1, program.sender, receiver)


def _ingredients(rng: Random, served: Served, setting: Setting, wanted: int) -> tuple[ProgramIngredient, ...]:
    """Causes of different slots; that of nothing where none is wanted."""
    left: list[Injected | ProgramCause] = [cause for cause in OF_PROGRAMS if _fits(cause, served, setting)]
    left += [cause for cause in CAUSES if cause.fits(setting) and cause.name not in NOT_WITH_PROGRAMS]
    found: dict[str, ProgramIngredient] = {}
    while left and len(found) < wanted:
        weights = [OWN_WEIGHT if isinstance(cause, ProgramCause) else 1 for cause in left]
        cause = rng.choices(left, weights)[0]
        ingredient = _ingredient(rng, setting, cause)
        if all(name.startswith("path_") or name in TESTBED_FACTORS for name in ingredient.factors):
            found[cause.slot] = ingredient
        # One that sets what only a load of our own has is drawn for nothing.
        left = [other for other in left if other is not cause and other.slot not in found]
    return tuple(found.values()) or (ProgramIngredient(name=NO_CAUSE, causes=("capacity",)),)


def _fits(cause: ProgramCause, served: Served, setting: Setting) -> bool:
    return cause.program == served.name and cause.needs <= setting.traits


def _ingredient(rng: Random, setting: Setting, cause: Injected | ProgramCause) -> ProgramIngredient:
    dose = cause.dose(rng, setting)
    own = vars(dose) if isinstance(dose, Options) else {"factors": dose.factors, "disturb": dose.disturb}
    also = dict(zip(cause.causes[1:], cause.because, strict=True))
    return ProgramIngredient.model_validate({"name": cause.name, "causes": cause.causes, "also": also, **own})


def _merged(ingredients: Sequence[Ingredient]) -> Change:
    """The change that they all make together."""
    of_programs = [part for part in ingredients if isinstance(part, ProgramIngredient)]
    return Change(
        client=tuple(word for part in of_programs for word in part.client),
        server=tuple(word for part in of_programs for word in part.server),
        fill={name: text for part in of_programs for name, text in part.fill.items()},
        factors={name: level for part in ingredients for name, level in part.factors.items()},
        disturb=tuple(disturbance for part in ingredients for disturbance in part.disturb),
    )


def _without_each(situation: Situation, ingredients: Sequence[Ingredient]) -> tuple[Change, ...]:
    """The situation without one of its causes; without the only one it is dose 0."""
    if len(ingredients) == 1:
        return ()
    return tuple(_merged(situation.without(number + 1)) for number in range(len(ingredients)))
