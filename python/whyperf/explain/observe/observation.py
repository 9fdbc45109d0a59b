"""An observation: a figure with its unit and its source, or the reason why it is missing."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from math import isfinite
from typing import Literal

from whyperf.explain.trial_facts import Facts

Unit = Literal["ratio", "ns", "bytes", "bps", "count", "per_s", "times", "log10"]
"""`log10` is the decimal logarithm of a likelihood ratio: as far below 0 as above."""
Source = Literal[
    "segments", "tcp_info", "cpu", "threads", "calls", "host_counters", "transactions", "datagrams", "load"
]
"""The table that a figure is from at the highest level; below the log, windows and losses are from TCP_INFO and
counters (`finding.looked_up`)."""

NOT_RECORDED = "the evidence of this trial does not have it"
NO_SUCH_LOAD = "the load has none"


@dataclass(frozen=True)
class Named:
    """The way that one observation is read from the facts of a trial.

    Attributes:
        name: side and figure, such as `sender.cpu.thread`.
        unit: of the value.
        source: the table that it is from.
        read: the value; None where it is missing.
        lacking: why it is missing where it is.
    """

    name: str
    unit: Unit
    source: Source
    read: Callable[[Facts], float | None]
    lacking: str = NOT_RECORDED


@dataclass(frozen=True)
class Observation:
    """A figure of a trial.

    Attributes:
        named: what it is.
        value: in the unit of `named`; None where it is missing.
        missing: why it is missing; "" where it is there.
    """

    named: Named
    value: float | None = None
    missing: str = ""


Observations = Mapping[str, Observation]
"""All observations of a trial by their names; each name is there at every level and on every side."""


def observe(facts: Facts, named: "tuple[Named, ...]") -> Observations:
    """The observations of a trial."""
    return {each.name: _of(each, facts) for each in named}


def _of(named: Named, facts: Facts) -> Observation:
    value = named.read(facts)
    if value is None or not isfinite(value):
        return Observation(named, None, named.lacking)
    return Observation(named, float(value))
