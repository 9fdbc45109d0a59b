"""The uses of a side's CPU time, from the stack samples of a cell's trials."""

from dataclasses import dataclass
from typing import Literal

CostPart = Literal["threads", "softirqs", "side"]
"""Whose cycles: of the load's threads, of softirqs on top of anything else, or of both."""


@dataclass(frozen=True)
class ClassFacts:
    """The cost of a class of functions (`whyperf.analyze.cost`), in cycles per KByte or per transaction.

    Attributes:
        name: the class.
        cycles: the mean over the trials, with its interval `low` to `high`; None with one trial.
        in_threads: the part that the load's threads have; None with a PMU, which counts whole CPUs.
        functions: its dearest functions, the dearest first.
        event: what is counted of it, as in `classes.toml`; "" where nothing is.
        each_cycles: cycles for each of these events, of which a KByte has `per_kbyte`.
    """

    name: str
    cycles: float
    low: float | None = None
    high: float | None = None
    in_threads: float | None = None
    functions: tuple[str, ...] = ()
    event: str = ""
    each_cycles: float | None = None
    per_kbyte: float | None = None

    def of(self, part: CostPart) -> float:
        """Its cycles in a part of the side."""
        if part == "side" or self.in_threads is None:
            return self.cycles
        return self.in_threads if part == "threads" else max(0.0, self.cycles - self.in_threads)


@dataclass(frozen=True)
class CostFacts:
    """The cost of a side, the dearest class first.

    Attributes:
        per: what cycles are divided by: KBytes of payload, or transactions.
        classes: those that belong to the load; not idle CPUs, nor other programs.
        samples: how many there are.
        packets_per_kbyte: packets of the side's direction, super-segments counted once; None where nothing counts them.
    """

    per: Literal["kbyte", "transaction"] = "kbyte"
    classes: tuple[ClassFacts, ...] = ()
    samples: int = 0
    packets_per_kbyte: float | None = None

    def total(self, part: CostPart = "side") -> float:
        """Cycles of the side, or of a part of it."""
        return sum(found.of(part) for found in self.classes)

    def share(self, name: str, part: CostPart = "side") -> float:
        """The share of a class, 0 to 1."""
        total = self.total(part)
        found = self.of_class(name)
        return 0.0 if found is None or total <= 0 else found.of(part) / total

    def of_class(self, name: str) -> ClassFacts | None:
        """The class of this name."""
        return next((found for found in self.classes if found.name == name), None)
