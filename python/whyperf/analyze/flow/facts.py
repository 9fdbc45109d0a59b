"""Every quantity of the segment flow, from the best level of evidence that has it."""

from dataclasses import dataclass

from whyperf.analyze.flow.trial import FlowTrial


@dataclass(frozen=True)
class Quantity:
    """A quantity: `name`; `unit`: bytes, segments, packets, count or ratio; and what it is, in words."""

    name: str
    unit: str
    words: str


QUANTITIES: tuple[Quantity, ...] = ()
"""All quantities, in the order they are told."""


@dataclass(frozen=True)
class Fact:
    """A quantity of one end: `value` is None when no level knows it, and so is `level` ("segments",
    "counters" or "user").
    """

    quantity: Quantity
    role: str
    value: float | None
    level: str | None


@dataclass(frozen=True)
class FlowFacts:
    """All quantities of both ends, and of which connection (None: all together)."""

    connection: int | None
    facts: tuple[Fact, ...]

    def get(self, role: str, name: str) -> Fact:
        """The fact `name` of the end with this role."""
        return next(fact for fact in self.facts if fact.role == role and fact.quantity.name == name)


def flow_facts(trial: FlowTrial, connection: int | None = None, *, whole_life: bool = False) -> FlowFacts:
    """The facts of `trial` in its measured phase, or in its whole life, handshake and preamble included.

    The log counts only where it is complete (`completeness`); where it is not, the counters do.
    """
    raise NotImplementedError(trial, connection, whole_life)
