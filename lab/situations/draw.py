"""Draws the situations of a seed: a catalog, which is measured and graded as the written ones are."""

import tomllib
from pathlib import Path
from random import Random

from lab.situations.causes import CAUSES
from lab.situations.distributions import NONE_CAUSES
from lab.situations.injecting import Injected
from lab.situations.labels import NO_CAUSE
from lab.situations.setting import Setting, draw_setting
from lab.truth.catalog import Baseline, Catalog
from lab.truth.design import INTERVAL_MS
from lab.truth.situation import Ingredient, Situation
from whyperf.plan import build
from whyperf.profile import Design, Factors, Profile, ProfileError, Sweep
from whyperf.profile.workload import read_workload

WORKLOADS = Path(__file__).with_name("workloads.toml")
#: Settings whose causes contradict each other are drawn again; more often than this, the distributions are wrong.
MAX_DRAWS = 1000
OF_ONE_LOAD = frozenset(
    {"reads", "writes", "thinks", "pieces", "credit", "connects", "reconnects", "datagrams", "quic"}
)
"""Traits that one or two loads have."""
OWN_LOAD = 25
"""Weight of a cause that asks for one of them: about that of all the others that the load can have."""


def situations(count: int, seed: int) -> Catalog:
    """So many situations. The same seed gives the same ones on every machine, and the first of them at any count.

    A situation without a cause has an ingredient that changes nothing, so that it is measured like the others.
    """
    tables = tomllib.loads(WORKLOADS.read_text(encoding="utf-8"))["workload"]
    drawn = [_situation(number, seed, tables) for number in range(1, count + 1)]
    return Catalog(
        workload=tuple(tables),
        baseline={situation.baseline: baseline for situation, baseline in drawn},
        situation=tuple(situation for situation, _ in drawn),
    )


def _situation(number: int, seed: int, tables: list[dict[str, object]]) -> tuple[Situation, Baseline]:
    rng = Random(f"situation {number} of seed {seed}")
    for _ in range(MAX_DRAWS):
        setting = draw_setting(rng)
        wanted = rng.choices(range(len(NONE_CAUSES)), NONE_CAUSES)[0]
        chosen = _causes(rng, setting, wanted)
        if wanted and not chosen:
            continue
        name = f"s{seed}-{number:04}"
        ingredients = tuple(_ingredient(rng, setting, cause) for cause in chosen) or (_nothing(setting),)
        about = f"{setting.load.name}; {', '.join(ingredient.name for ingredient in ingredients)}"
        baseline = Baseline(about=setting.load.name, undisturbed=False, factors=setting.factors)
        found = Situation(
            name=name, about=about, group=setting.load.name, baseline=f"{name}-base", ingredient=ingredients
        )
        if _can_be_planned(found, setting.factors, tables):
            return found, baseline
    raise ValueError(f"nothing of {MAX_DRAWS} drawn settings fits: the distributions contradict each other")


def _causes(rng: Random, setting: Setting, wanted: int) -> list[Injected]:
    """Different causes that the setting can have, one of each slot; fewer where there are fewer."""
    left = [cause for cause in CAUSES if cause.fits(setting)]
    found: list[Injected] = []
    while left and len(found) < wanted:
        found.append(rng.choices(left, [_weight(cause) for cause in left])[0])
        slots = {cause.slot for cause in found}
        left = [cause for cause in left if cause.slot not in slots]
    return found


def _weight(cause: Injected) -> int:
    """So that a cause that few settings can have is about as frequent as one that all can have."""
    return 1 + len(cause.needs) ** 2 + (OWN_LOAD if cause.needs & OF_ONE_LOAD else 0)


def _ingredient(rng: Random, setting: Setting, cause: Injected) -> Ingredient:
    dose = cause.dose(rng, setting)
    also = {**dict(zip(cause.causes[1:], cause.because, strict=True)), **dose.also}
    causes = (cause.causes[0], *also)
    return Ingredient(name=cause.name, causes=causes, also=also, factors=dose.factors, disturb=dose.disturb)


def _nothing(setting: Setting) -> Ingredient:
    """The stand-in for no cause: a factor at the level that it has anyway."""
    factor = "schedule" if "schedule" in setting.factors else "duration_s"
    return Ingredient(name=NO_CAUSE, causes=("capacity",), factors={factor: setting.factors[factor]})


def _can_be_planned(situation: Situation, base: Factors, tables: list[dict[str, object]]) -> bool:
    """True where the planner takes it with all causes, without each, and without any."""
    workloads = {workload.name: workload for workload in map(read_workload, tables)}
    parts = [situation.ingredient, *(situation.without(number + 1) for number in range(len(situation.ingredient)))]
    sweeps = tuple(
        Sweep(f"s{number}", base | situation.factors_with(part), {}, 1, (), 0)
        for number, part in enumerate((*parts, ()))
    )
    try:
        build(
            Profile(
                name="drawn",
                where="a drawn situation",
                text="",
                about="",
                seed=1,
                kind="veth",
                fixed={"interval_ms": INTERVAL_MS},
                design=Design(trials=1),
                sweeps=sweeps,
                workloads=workloads,
            ),
            target="testbed",
        )
    except ProfileError:
        return False
    return True
