"""The plan of a ladder of experiments: the load as it was, and next to it each experiment, in blocks.

All cells go through the planner like any other, so that what cannot be measured is refused before anything runs, and
the record that comes of it can be read and repeated like any other.

The shortest trial that still shows the rate of the first look is found from its intervals, the warm-up included.
"""

import json
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from math import cbrt, log
from typing import Any

from whyperf.explain.experiments.goals import Obstacle
from whyperf.explain.experiments.ladder import ORIGINAL
from whyperf.explain.experiments.tries import Planned
from whyperf.explain.setup import Setup
from whyperf.foreign import parse_toml
from whyperf.plan import Cell, Plan, build
from whyperf.profile import Factors, Profile, ProfileError, parse

WARMUPS_S = (0.1, 0.2, 0.4, 0.7, 1.0, 1.5, 2.0, 3.0)
LENGTHS_S = (0.5, 0.8, 1.2, 2.0, 3.0)
"""The lengths looked at: steps by which a trial becomes half as long again, in steps of 100 ms as intervals are."""
ALIKE = log(1.1)
"""The rate of a short trial may differ from that of the first look by as much as a user does not see."""
ROUND_TRIPS, WARMUP_ROUND_TRIPS = 4, 12
"""The least in round trips: slow start fills 4 MB from ten segments in nine of them (RFC 5681, RFC 6928)."""


@dataclass(frozen=True)
class Lengths:
    """The times of a trial in s."""

    warmup_s: float
    duration_s: float

    @property
    def total_s(self) -> float:
        """Of both."""
        return self.warmup_s + self.duration_s


@dataclass(frozen=True)
class Arrival:
    """Payload that arrived from `begin_s` to `end_s` after the beginning of the load."""

    begin_s: float
    end_s: float
    octets: float


LOSING = Lengths(1.0, 1.5)
"""The most that losses ask for: the first one ends slow start at another time in each trial."""
LOSSES, WARMUP_LOSSES = 3.0, 1.5
"""The least in losses, each with a timeout and what the window takes to come back: one alone may be an accident."""
TIMEOUT_S, SEGMENT_BYTES = 0.2, 1448
"""The shortest timeout of Linux (TCP_RTO_MIN, include/net/tcp.h), and what a segment carries over Ethernet."""


def lengths_of(
    moved: Sequence[Arrival], first: Lengths, round_trip_s: float, *, connections: int = 1, loses: bool = False
) -> Lengths:
    """The shortest warm-up and measurement, within those of the first look, that have its rate.

    Args:
        moved: in the first look, of all connections; none where only its length is known.
        first: the first look.
        round_trip_s: under load.
        connections: among which the rate is shared.
        loses: whether the first look lost segments.
    """
    least = Lengths(WARMUP_ROUND_TRIPS * round_trip_s, ROUND_TRIPS * round_trip_s)
    whole_s = first.total_s
    wanted = _rate(moved, first.warmup_s, whole_s)
    if loses:
        losing = LOSING
        if wanted and round_trip_s:
            lost_s = TIMEOUT_S + _regrown_s(wanted * round_trip_s / SEGMENT_BYTES / connections, round_trip_s)
            losing = Lengths(min(LOSING.warmup_s, WARMUP_LOSSES * lost_s), min(LOSING.duration_s, LOSSES * lost_s))
        least = Lengths(max(least.warmup_s, losing.warmup_s), max(least.duration_s, losing.duration_s))
    shorter = [
        Lengths(max(warmup_s, round(least.warmup_s, 1)), max(duration_s, round(least.duration_s, 1)))
        for warmup_s, duration_s in product(WARMUPS_S, LENGTHS_S)
    ]
    shorter.sort(key=lambda each: each.total_s)
    for each in shorter:
        end_s = each.total_s
        if end_s > whole_s or each.warmup_s > first.warmup_s:
            continue
        rate = _rate(moved, each.warmup_s, end_s)
        if not wanted or not rate or abs(log(rate / wanted)) <= ALIKE:
            return each
    return first


def _regrown_s(segments: float, round_trip_s: float) -> float:
    """The time that a window of so many segments takes to come back after a loss: from half of it by one in each round
    trip, or as cubic does where that is sooner (RFC 5681, section 3.1; RFC 9438, section 4.2, with its beta and C)."""
    return min(segments / 2 * round_trip_s, cbrt(segments * (1 - 0.7) / 0.4))


def _rate(moved: Sequence[Arrival], begin_s: float, end_s: float) -> float:
    """Octets a second; what an interval moved is spread over it evenly."""
    octets = 0.0
    for each in moved:
        overlap_s = min(end_s, each.end_s) - max(begin_s, each.begin_s)
        if overlap_s > 0:
            octets += each.octets * overlap_s / max(each.end_s - each.begin_s, overlap_s)
    return octets / (end_s - begin_s) if end_s > begin_s else 0.0


NAME = "why"
BLOCKS = 24
"""More than a minute of experiments; the budget ends it before."""
COOLDOWN_S = 0.1
"""The measurement ends before any connection does; an interval has as much (profile/factors.py)."""
STATED = "interval_ms"
"""A factor that every cell has."""

DRAIN_S = 0.1
"""Then connections are reset. What a short path holds has arrived by then, and a full queue has not."""


def question_of(
    asked: Profile, plan: Plan, cell: Cell, tries: Sequence[Planned], lengths: Lengths | None
) -> tuple[Profile, Plan]:
    """The profile and the plan of the experiments `tries` with a cell of the plan, in trials of these lengths.

    Raises:
        Obstacle: the load cannot be made again.
    """
    setup = Setup(cell.factors, plan.testbed.kind, workloads=asked.workloads, schedules=asked.schedules)
    short: Factors = {}
    if lengths is not None:
        short = {"warmup_s": lengths.warmup_s, "duration_s": lengths.duration_s, "cooldown_s": COOLDOWN_S}
        # What is under way when the measurement is over says nothing more: nobody waits for a full queue to empty.
        short["deadline_s"] = round(sum(float(each) for each in short.values()) + DRAIN_S, 3)
    try:
        cells = {ORIGINAL: setup.stated(short)}
        cells |= {each.name: setup.stated({**short, **each.factors}) for each in tries}
        profile = _profile_of(asked, plan, cells)
        return profile, build(
            profile, target=plan.target, near=plan.near, fleet=plan.fleet, evidence=plan.evidence or "counters"
        )
    except ProfileError as error:
        raise Obstacle("not_in_plan", place=error.key or error.where, problem=error.problem) from None


def _profile_of(asked: Profile, plan: Plan, cells: Mapping[str, Factors]) -> Profile:
    """A profile with a sweep of one cell for each of `cells`, by their names, in blocks of all of them.

    Raises:
        ProfileError: the factors do not go together.
    """
    first = next(iter(cells.values()))
    names = dict.fromkeys(name for factors in cells.values() for name in factors)
    differ = {name for name in names if any(factors.get(name) != first.get(name) for factors in cells.values())}
    # A sweep states something, also where the change adds a factor that the original has none of.
    differ.add(STATED)
    document: dict[str, object] = {
        "about": f"Why {plan.experiment} is not faster.",
        "seed": plan.seed,
        "fixed": {name: level for name, level in first.items() if name not in differ},
        "design": {"trials": BLOCKS, "pause_ms": 0},
    }
    if plan.testbed.kind in {"veth", "loopback"}:
        document["testbed"] = {"kind": plan.testbed.kind}
    sweeps = [
        {"name": sweep, "fixed": {factor: level for factor, level in factors.items() if factor in differ}}
        for sweep, factors in cells.items()
    ]
    profile = parse(toml_of(document | _own_tables(asked), sweeps), name=NAME, where=NAME)
    # What the workloads took from the environment is named before it is sent.
    return replace(
        profile,
        workloads=dict(asked.workloads),
        schedules=dict(asked.schedules),
        variables=dict(asked.variables),
    )


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
