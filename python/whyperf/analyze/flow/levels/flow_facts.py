"""Every quantity of the segment flow, from the best level of evidence that has it."""

from collections.abc import Mapping
from dataclasses import dataclass

from whyperf.analyze.flow.complete import Completeness, completeness
from whyperf.analyze.flow.levels.counted import counted_values
from whyperf.analyze.flow.levels.logged import logged_values
from whyperf.analyze.flow.levels.quantities import QUANTITIES, Quantity, Values, with_quotients
from whyperf.analyze.flow.levels.user import user_values
from whyperf.analyze.flow.trial import FlowEnd, FlowTrial


@dataclass(frozen=True)
class Fact:
    """A quantity of one host: `value` is None when no level knows it, and so is `level` ("segments",
    "counters" or "user").
    """

    quantity: Quantity
    role: str
    value: float | None
    level: str | None


@dataclass(frozen=True)
class FlowFacts:
    """All quantities of both hosts, and of which connection (None: all together)."""

    connection: int | None
    facts: tuple[Fact, ...]

    def get(self, role: str, name: str) -> Fact:
        """The fact `name` of the end with this role."""
        return next(fact for fact in self.facts if fact.role == role and fact.quantity.name == name)


def flow_facts(
    trial: FlowTrial,
    connection: int | None = None,
    *,
    whole_life: bool = False,
    completenesses: Mapping[str, Completeness | None] | None = None,
) -> FlowFacts:
    """The facts of `trial` in its measured phase, or in its whole life, handshake and preamble included.

    The log counts only where it is complete; where it is not, the counters do. Duplicate ACKs and
    arrivals out of order were counted by the kernel as they came, and come from there first.
    `completenesses`, by host, saves finding them out again.
    """
    facts: list[Fact] = []
    for end in trial.ends.values():
        if completenesses is not None and end.host in completenesses:
            found = completenesses[end.host]
        else:
            found = completeness(trial, end.host)
        levels = _levels(
            trial, end, connection, whole_life=whole_life, is_complete=found is not None and found.complete
        )
        facts += [_best(quantity, end.role, levels) for quantity in QUANTITIES]
    return FlowFacts(connection, tuple(facts))


def _levels(
    trial: FlowTrial, end: FlowEnd, connection: int | None, *, whole_life: bool, is_complete: bool
) -> Mapping[str, Values]:
    """The values that each level knows."""
    window = None if whole_life else end.window_ns
    levels = {
        "segments": logged_values(trial, end, connection, window) if is_complete else {},
        "counters": counted_values(trial, end, connection, whole_life=whole_life),
        "user": user_values(trial, end, connection, whole_life=whole_life),
    }
    return {name: with_quotients(values) for name, values in levels.items()}


def _best(quantity: Quantity, role: str, levels: Mapping[str, Values]) -> Fact:
    for level in quantity.levels:
        value = levels[level].get(quantity.name)
        if value is not None:
            return Fact(quantity, role, value, level)
    return Fact(quantity, role, None, None)
