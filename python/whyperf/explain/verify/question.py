"""The experiment that tries a verdict's change: the cell as it was and as changed, interleaved in randomized blocks.

Both cells go through the planner like any other, so that what cannot be measured is refused before anything runs,
and the record that comes of it can be read, resumed and repeated like any other.
"""

import json
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from whyperf.explain.setup import Setup
from whyperf.explain.verify.obstacles import Obstacle
from whyperf.explain.wording.verifications import change_text
from whyperf.foreign import parse_toml
from whyperf.plan import Cell, Plan, build
from whyperf.profile import BY_NAME, Factors, Level, Profile, ProfileError, parse

NAME = "verify"
ORIGINAL = "original"
CHANGED = "changed"
#: A factor that every cell has.
STATED = "interval_ms"


def question_of(asked: Profile, plan: Plan, cell: Cell, change: Mapping[str, Level], pairs: int) -> Profile:
    """The profile of the verification: two sweeps of a cell each, `original` and `changed`, `pairs` blocks.

    Args:
        asked: the profile of the explained experiment, for workloads and schedules of its own.
        plan: the explained experiment's.
        cell: the cell of the verdict, whose factors the plan resolved.
        change: factors with their new levels.
        pairs: blocks, each with both cells in random order.

    Raises:
        Obstacle: the cell has the change already, or the factors do not allow it.
    """
    change = _checked(change)
    setup = Setup(cell.factors, plan.testbed.kind, workloads=asked.workloads, schedules=asked.schedules)
    cells = {ORIGINAL: _stated(setup, {}), CHANGED: _stated(setup, change)}
    if cells[ORIGINAL] == cells[CHANGED]:
        raise Obstacle("already", change=change_text(change))
    about = f"Whether {change_text(change)} does what a verdict on {plan.experiment} predicts."
    try:
        return profile_of(asked, plan, cells, pairs, name=NAME, about=about)
    except ProfileError as error:
        raise Obstacle("unplannable", change=change_text(change), problem=error.problem) from None


def profile_of(
    asked: Profile, plan: Plan, cells: Mapping[str, Factors], blocks: int, *, name: str, about: str
) -> Profile:
    """A profile with a sweep of one cell for each of `cells`, by their names, in `blocks` of all of them.

    Raises:
        ProfileError: the factors do not go together.
    """
    first = next(iter(cells.values()))
    names = dict.fromkeys(name for factors in cells.values() for name in factors)
    differ = {name for name in names if any(factors.get(name) != first.get(name) for factors in cells.values())}
    # A sweep states something, also where the change adds a factor that the original has none of.
    differ.add(STATED)
    document: dict[str, object] = {
        "about": about,
        "seed": plan.seed,
        "fixed": {name: level for name, level in first.items() if name not in differ},
        "design": {"trials": blocks, "pause_ms": plan.pause_ms},
    }
    if plan.testbed.kind in {"veth", "loopback"}:
        document["testbed"] = {"kind": plan.testbed.kind}
    sweeps = [
        {"name": sweep, "fixed": {factor: level for factor, level in factors.items() if factor in differ}}
        for sweep, factors in cells.items()
    ]
    profile = parse(toml_of(document | _own_tables(asked), sweeps), name=name, where=name)
    # What the workloads took from the environment is named before it is sent.
    return replace(
        profile,
        workloads=dict(asked.workloads),
        schedules=dict(asked.schedules),
        variables=dict(asked.variables),
    )


def plan_of(question: Profile, plan: Plan) -> Plan:
    """The plan of a verification: where the explained experiment was measured, with the evidence of its throughputs.

    Raises:
        Obstacle: the changed cell cannot be measured there, and why.
    """
    try:
        return build(
            question, target=plan.target, near=plan.near, fleet=plan.fleet, evidence=plan.evidence or "counters"
        )
    except ProfileError as error:
        raise Obstacle("not_in_plan", place=error.key or error.where, problem=error.problem) from None


def _stated(setup: Setup, change: Mapping[str, Level]) -> Factors:
    """The factors to state for a cell that shall have the change."""
    try:
        return setup.stated(change)
    except ProfileError as error:
        raise Obstacle("impossible_here", change=change_text(change), problem=error.problem) from None


def _checked(change: Mapping[str, Level]) -> Factors:
    unknown = next((name for name in change if name not in BY_NAME), None)
    if unknown is not None:
        raise Obstacle("no_factor", name=unknown)
    try:
        return {name: BY_NAME[name].check(level) for name, level in change.items()}
    except ProfileError as error:
        raise Obstacle("impossible", change=change_text(change), problem=error.problem) from None


def _own_tables(asked: Profile) -> dict[str, object]:
    """The workload and the schedule that the profile carries, so that the kept profile is whole."""
    try:
        written = parse_toml(asked.text)
    except tomllib.TOMLDecodeError:
        # A profile of uperf; what it does is in the plan.
        return {}
    return {name: written[name] for name in ("workload", "schedule") if name in written}


def toml_of(document: Mapping[str, Any], sweeps: Sequence[Mapping[str, object]]) -> str:
    """A profile as TOML; tables within tables are inline."""
    plain = [f"{name} = {_inline(value)}" for name, value in document.items() if not isinstance(value, dict)]
    tables: list[tuple[str, Mapping[str, object]]] = [
        (f"[{name}]", value) for name, value in document.items() if isinstance(value, dict)
    ]
    tables += [("[[sweep]]", sweep) for sweep in sweeps]
    blocks = [[head, *(f"{key} = {_inline(value)}" for key, value in table.items())] for head, table in tables]
    return "\n\n".join("\n".join(lines) for lines in (plain, *blocks) if lines) + "\n"


def _inline(value: object) -> str:
    if isinstance(value, Mapping):
        return "{ " + ", ".join(f"{json.dumps(key)} = {_inline(inner)}" for key, inner in value.items()) + " }"
    if isinstance(value, list):
        return "[" + ", ".join(_inline(inner) for inner in value) + "]"
    # TOML takes strings, numbers and booleans as JSON writes them (toml.io, v1.0.0).
    return json.dumps(value, ensure_ascii=False)
