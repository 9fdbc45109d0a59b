"""A limit: how much of a trial one cause takes, and the figures that show it."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from whyperf.explain.budget.shares import MAX_LONGEST
from whyperf.explain.causes import Cause
from whyperf.explain.explanation import Evidence, Value
from whyperf.explain.host_facts import HostFacts, State
from whyperf.explain.limits.gain import Gain
from whyperf.explain.trial_facts import Facts
from whyperf.explain.wording.catalog import known, render, unit_of

LIMIT_FROM = 0.05
"""Less is within what repeating a trial changes, and is no limit."""
PROBABLE = 0.1
"""The probability from which on a limit is taken to have time of its own."""


@dataclass(frozen=True)
class Limit:
    """A cause, and what it takes of a trial by itself.

    Attributes:
        cause: what.
        share: part of the time, or of the rate that was possible, that it takes: 0 to 1.
        evidence: the figures, each to be looked up.
        gain: what the change brings; None where nothing predicts it.
        targets: figures that the change needs, by name.
        variant: which of the catalog's sentences for the cause.
        values: what the sentences need in addition to `share`.
        ceiling: the rate that it allows over the present one, near 1 where it is what holds it; None where nothing
            shows that rate.
        probability: that a verdict of it is right, once all limits are weighed (decide.py).
    """

    cause: Cause
    share: float
    evidence: tuple[Evidence, ...] = ()
    gain: Gain | None = None
    targets: Mapping[str, float] = field(default_factory=dict)
    variant: str = ""
    values: Mapping[str, Value | None] = field(default_factory=dict)
    ceiling: float | None = None
    probability: float = 0.0

    @property
    def code(self) -> str:
        """The sentence in the catalog: the cause, and what makes it that."""
        return f"{self.cause}.{self.variant}" if self.variant else str(self.cause)


Ask = Callable[[Facts], Limit | None]

WINDOWS = "windows"
"""Stands for the table with windows, round trips and states: the segment log, and below it TCP_INFO."""
SEGMENTS = "segments"
"""Stands for the table with what went over the wire: the segment log, and below it the kernel's counters."""

_BELOW_LOG = {
    "counters": {WINDOWS: "tcp_info", SEGMENTS: "counters"},
    "user": {WINDOWS: "tcp_info", SEGMENTS: "tcp_info"},
}


def looked_up(evidence: Evidence, level: str) -> Evidence:
    """The evidence with the table that it is from in a trial with evidence of this level."""
    tables = _BELOW_LOG.get(level, {WINDOWS: "segments"})
    return evidence.model_copy(update={"table": tables.get(evidence.table, evidence.table)})


def state_evidence(end: HostFacts, role: str, *states: State) -> Evidence:
    """Time that a side was in these states, how often, and when longest."""
    ratio = end.ratio(*states)
    times = sum(end.spells.get(state.value, 0) for state in states)
    spells = [spell for state in states for spell in end.longest.get(state.value, ())]
    spells = sorted(spells, key=lambda spell: spell.from_ns - spell.to_ns)[:MAX_LONGEST]
    first = spells[0] if spells else None
    longest_ns = None if first is None else first.to_ns - first.from_ns
    values: dict[str, Value | None] = {
        "role": role,
        "states": [state.value for state in states],
        "state_ratio": ratio,
        "once_ns": longest_ns if times == 1 else None,
        "longest_ns": None if times == 1 else longest_ns,
        "spells_count": times if first is not None else None,
        "from_ns": None if first is None else first.from_ns,
    }
    return Evidence(
        code="state",
        values=known(values),
        words=render("evidence", "state", values),
        table=WINDOWS,
        host=end.host,
        connection=None if first is None else first.connection,
        from_ns=None if first is None else first.from_ns,
        to_ns=None if first is None else first.to_ns,
        value=ratio,
        unit="ratio",
        spells=spells,
        spells_count=times if spells else None,
    )


def figure(code: str, table: str, end: HostFacts, **values: Value | None) -> Evidence:
    """A figure of a table: the first of the values, with the unit in its name."""
    name, value = next(iter(values.items()), ("", None))
    return Evidence(
        code=code,
        values=known(values),
        words=render("evidence", code, values),
        table=table,
        host=end.host,
        value=float(value) if isinstance(value, int | float) else None,
        unit=unit_of(name),
    )


def figures(*rows: Evidence | None) -> tuple[Evidence, ...]:
    """The rows that there are."""
    return tuple(row for row in rows if row is not None)


def known_figure(code: str, table: str, end: HostFacts, **values: Value | None) -> Evidence | None:
    """The figure; None where its first value is not known."""
    return None if next(iter(values.values()), None) is None else figure(code, table, end, **values)


def clipped(value: float, low: float = 0.0, high: float = 1.0) -> float:
    """`value` between `low` and `high`."""
    return max(low, min(high, value))


def or_zero(value: float | None) -> float:
    """A figure, and 0 where it is not known."""
    return 0.0 if value is None else value
