"""From a profile's sweeps to cells: every combination once, references resolved."""

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from itertools import product
from math import prod
from typing import TypeVar

from whyperf.plan.plan_document import Cell
from whyperf.profile import BY_NAME, FACTORS, Factors, Level, Profile, ProfileError, Sweep, resolve
from whyperf.profile.path_factors import MAKERS

Value = TypeVar("Value")

#: Where an error is that only the options of a run make.
COMMAND_LINE = "the command line"
#: More cells than this is taken for a mistake in a range.
MAX_CELLS = 100_000


def expand(profile: Profile, *, testbed: bool, model: bool = False) -> tuple[Cell, ...]:
    """All cells of all sweeps, in a stable order: sweeps as written, factors as in their table.

    Cells of a sweep that become identical when references are resolved are one.

    Raises:
        ProfileError: a combination that cannot be, a sweep without cells, too many of them.
    """
    if sum(_combinations_count(sweep) for sweep in profile.sweeps) > MAX_CELLS:
        raise ProfileError(profile.where, "sweep", f"there are over {MAX_CELLS} cells; use larger steps")
    found: list[tuple[str, Factors]] = []
    for sweep in profile.sweeps:
        try:
            factors = list(_sweep_cells(profile, sweep, testbed=testbed, model=model))
        except ProfileError as error:
            raise error.at(profile.where, f"sweep.{sweep.name}") from None
        found.extend((sweep.name, cell) for cell in factors)
    width = max(4, len(str(len(found))))
    return tuple(
        Cell(id=f"c{number:0{width}d}", sweep=sweep, factors=factors)
        for number, (sweep, factors) in enumerate(found, start=1)
    )


def without_testbed_factors(profile: Profile, target: str) -> tuple[Profile, tuple[str, ...]]:
    """The profile for a target that is not the embedded testbed, and a sentence for each factor left out.

    A factor that the testbed alone can set is left out where it has one level; where it is varied,
    or was set on the command line, the question cannot be asked of this target.

    Raises:
        ProfileError: in that case.
    """
    names = [factor.name for factor in FACTORS if factor.testbed]
    place = "loopback" if target == "loopback" else f"the path to {target}"
    out = "measure on the embedded testbed (--testbed veth), or leave the factor out"
    for name in names:
        if name in profile.overrides:
            raise ProfileError(COMMAND_LINE, name, f"{place} has no such setting; {out}")
        for sweep in profile.sweeps:
            if len(sweep.levels.get(name, ())) > 1:
                raise ProfileError(
                    profile.where, f"sweep.{sweep.name}.factors.{name}", f"{place} cannot vary it; {out}"
                )
    dropped: dict[tuple[str, Level], None] = {}
    for given in [profile.fixed, *(sweep.fixed | _single_levels(sweep) for sweep in profile.sweeps)]:
        if path := next((name for name in MAKERS if given.get(name, "none") != "none"), None):
            # Without its path the question would be another one.
            problem = f"{place} cannot be emulated; measure on the embedded testbed (--testbed veth), or leave it out"
            raise ProfileError(profile.where, path, problem)
        dropped |= {(name, given[name]): None for name in names if name in given}
    kept = replace(
        profile,
        fixed=_without(profile.fixed, names),
        sweeps=tuple(
            replace(sweep, fixed=_without(sweep.fixed, names), levels=_without(sweep.levels, names))
            for sweep in profile.sweeps
        ),
    )
    warnings = (f"The profile's {name} = {level} is left out: {place} has no such setting." for name, level in dropped)
    return kept, tuple(warnings)


def _sweep_cells(profile: Profile, sweep: Sweep, *, testbed: bool, model: bool) -> Iterator[Factors]:
    varied = [factor.name for factor in FACTORS if factor.name in sweep.levels]
    fixed = profile.fixed | sweep.fixed
    seen: set[str] = set()
    excluded_by: set[int] = set()
    for combination in product(*(sweep.levels[name] for name in varied)):
        given = fixed | dict(zip(varied, combination, strict=True))
        factors = resolve(
            given, testbed=testbed, model=model, own=profile.workloads, schedules=profile.schedules, usual=profile.usual
        )
        matching = {number for number, entry in enumerate(sweep.exclude) if _matches(factors, entry)}
        excluded_by |= matching
        key = json.dumps(factors)
        if matching or key in seen:
            continue
        seen.add(key)
        yield factors
    if not seen:
        raise ProfileError("", "exclude", "it leaves no cell of the sweep; exclude less")
    unused = set(range(len(sweep.exclude))) - excluded_by
    if unused and not profile.overrides:
        entry = sweep.exclude[min(unused)]
        raise ProfileError("", "exclude", f"no cell matches {{{_shown(entry)}}}; give levels of the sweep or remove it")


def _combinations_count(sweep: Sweep) -> int:
    return prod(len(levels) for levels in sweep.levels.values())


def _matches(factors: Factors, entry: Mapping[str, tuple[Level, ...]]) -> bool:
    return all(name in factors and factors[name] in levels for name, levels in entry.items())


def _single_levels(sweep: Sweep) -> Factors:
    return {name: levels[0] for name, levels in sweep.levels.items() if len(levels) == 1}


def _without(table: Mapping[str, Value], names: Iterable[str]) -> dict[str, Value]:
    return {name: value for name, value in table.items() if name not in names}


def _shown(entry: Mapping[str, tuple[Level, ...]]) -> str:
    return ", ".join(f"{name} = {list(levels)}" for name, levels in entry.items() if name in BY_NAME)
