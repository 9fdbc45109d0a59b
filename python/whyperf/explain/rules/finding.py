"""Result of a rule, and the figures that rules share."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field

from whyperf.explain.budget.shares import MAX_LONGEST
from whyperf.explain.causes import Cause
from whyperf.explain.explanation import Evidence, Value
from whyperf.explain.host_facts import HostFacts, State
from whyperf.explain.rules.gain import Gain
from whyperf.explain.states import SenderState
from whyperf.explain.trial_facts import Facts
from whyperf.explain.watched_facts import WatchedSockets
from whyperf.explain.wording.catalog import known, render, unit_of


@dataclass(frozen=True)
class Finding:
    """A cause that the facts speak for.

    Attributes:
        cause: what.
        lost: part of the time, or of the rate that was possible, that it took: 0 to 1.
        certainty: how well the facts separate it from causes that look alike: 0 to 1.
        evidence: the facts, each to be looked up.
        gain: what the change brings; None where nothing predicts it.
        targets: figures that the change needs, by name.
        is_counted: the kernel counted it where it happens, so that a log of segments would show no more.
        variant: which of the catalog's sentences for the cause.
        values: what the sentences need in addition to `lost`.
        open: where the evidence fits another cause as well: which sentence of the catalog says so.
    """

    cause: Cause
    lost: float
    certainty: float
    evidence: tuple[Evidence, ...]
    gain: Gain | None = None
    targets: Mapping[str, float] = field(default_factory=dict)
    is_counted: bool = False
    variant: str = ""
    values: Mapping[str, Value | None] = field(default_factory=dict)
    open: str = ""

    @property
    def code(self) -> str:
        """The sentence in the catalog: the cause, and what makes it that."""
        return f"{self.cause}.{self.variant}" if self.variant else str(self.cause)

    @property
    def strength(self) -> float:
        """Figure by which verdicts are ranked."""
        return self.lost * self.certainty


Rule = Callable[[Facts], Finding | None]

MIN_CERTAINTY = 0.5
"""Below, "not known" stands first."""
UNDECIDED = 0.45
"""The certainty of a finding that the evidence allows, and another as well."""

BUSY = 0.8
"""From here on a CPU is taken to be a limit: the rest is waiting that the log's clock does not see."""
FULL_RATIO = 0.95
"""Busy share of a CPU from which on the present rate is what it can do: the rest is less than what trials differ by."""


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


def unseen(end: HostFacts) -> tuple[State, ...]:
    """The state of data that nobody saw what holds it: another program's has a name of its own."""
    return (SenderState.IN_FLIGHT,) if end.ratio(SenderState.IN_FLIGHT) else (SenderState.UNKNOWN,)


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


def others_on_cpu(facts: Facts, end: HostFacts) -> Evidence:
    """Part that other programs take of the CPU that the load, or the watched program, runs on."""
    code = "other_load.watched" if facts.is_watched else "other_load"
    return figure(code, "cpu", end, other_ratio=end.processors.other_ratio or 0.0)


APPLICATION_LIMITED_RATIO = 0.5
"""Share of the samples with too little to send from which on no loss on the path keeps the rate down."""


PERHAPS_LIMITED_RATIO = 0.2
"""Share from which on an application that sends by its own clock looks like a link: its rate is as constant."""


def is_perhaps_idle(facts: Facts) -> bool:
    """Without a log: whether an application that need not always write may be what sets the rate."""
    if facts.level == "segments" or facts.asked.is_greedy or facts.exchanges is not None or facts.transport != "tcp":
        return False
    return (facts.windows.application_limited_ratio or 0.0) >= PERHAPS_LIMITED_RATIO and not is_on_cpu(facts)


def is_on_cpu(facts: Facts) -> bool:
    """True where an end's CPU is the limit."""
    if facts.is_watched:
        return any((end.wanted_ratio or 0.0) >= BUSY for end in _that_hold(facts))
    return facts.busiest_ratio is not None and facts.busiest_ratio >= BUSY


MIN_WAITING, MAX_UNREAD = 0.8, 0.1


def _that_hold(facts: Facts) -> Iterator[HostFacts]:
    """The ends of another program's connection whose CPU may be its limit: a busy thread may work for something else.

    It does where data always waits in the sender's kernel, which needs no thread to send it, or where the receiver
    reads all that comes.
    """
    sent, taken = facts.sender.watched or WatchedSockets(), facts.receiver.watched or WatchedSockets()
    softirqs = [end.processors.softirq_ratio or 0.0 for end in (facts.sender, facts.receiver)]
    if (sent.waiting_ratio or 0.0) < MIN_WAITING or softirqs[0] >= BUSY:
        yield facts.sender
    if taken.unread_ratio is None or taken.unread_ratio > MAX_UNREAD or softirqs[1] >= BUSY:
        yield facts.receiver


def assumed(value: float | None, unknown: float) -> float:
    """A figure, and `unknown` where it is not known; a figure of 0 is known."""
    return unknown if value is None else value


def clipped(value: float, low: float = 0.0, high: float = 1.0) -> float:
    """`value` between `low` and `high`."""
    return max(low, min(high, value))


LOST_BEHIND_PATH = 0.3
"""Share of the losses whose place is known that the receiving host had, from which on they are no matter of the path:
with fewer, the path's own stand first."""
