"""What a rule gives back, and the words and figures that rules share."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from whyperf.analyze.quantity import percent
from whyperf.explain.causes import Cause
from whyperf.explain.facts import EndFacts, Facts, State
from whyperf.explain.model import Evidence


@dataclass(frozen=True)
class Finding:
    """A cause that the facts speak for.

    Attributes:
        cause: what.
        claim: a sentence a performance engineer would say.
        lost: part of the time, or of the rate that was possible, that it took: 0 to 1.
        certainty: how well the facts tell it from causes that look alike: 0 to 1.
        evidence: the facts, each to be looked up.
        refuted_by: what would speak against it.
        gain: the rate without the cause over the rate with it; None where nothing foretells it.
        targets: figures that the change needs, by name.
    """

    cause: Cause
    claim: str
    lost: float
    certainty: float
    evidence: tuple[Evidence, ...]
    refuted_by: str
    gain: float | None = None
    targets: Mapping[str, float] = field(default_factory=dict)

    @property
    def strength(self) -> float:
        """What verdicts are ranked by."""
        return self.lost * self.certainty


Rule = Callable[[Facts], Finding | None]

BUSY = 0.8
"""From here on a CPU is taken to be a limit: the rest is waiting that the log's clock does not see."""


def state_evidence(end: EndFacts, role: str, *states: State) -> Evidence:
    """How long an end was in these states."""
    words = " or ".join(dict.fromkeys(state.value.replace("_", " ") for state in states))
    ratio = end.ratio(*states)
    return Evidence(
        words=f"The {role} was in the state {words} for {percent(ratio)} of the time.",
        table="segments",
        host=end.host,
        value=ratio,
        unit="ratio",
    )


def figure(words: str, table: str, end: EndFacts, value: float | None, unit: str) -> Evidence:
    """A figure of a table."""
    return Evidence(words=words, table=table, host=end.host, value=None if value is None else float(value), unit=unit)


def gain_without(facts: Facts, lost: float, *, saved: str = "", by_line: bool = False) -> float:
    """The rate without time that is lost over the rate with it, as far as the next limit lets it grow.

    Taking away a share of the time makes the rest follow faster (Amdahl, AFIPS 1967), up to what the ends' CPUs and the
    line leave. `saved` is the end whose CPU time the cause itself takes, or both: it is no bound. `by_line` says that
    the cause lies on the path, so that a line that is seen is one.
    """
    bounds = [1 / max(1e-6, 1 - min(0.99, lost)), gain_of_ends(facts, saved=saved)]
    line = facts.segments
    if line.line_use_ratio and is_line_seen(facts) and (by_line or not _is_own_rhythm(facts)):
        bounds.append(1 / line.line_use_ratio)
    return max(1.0, min(bounds))


def gain_of_ends(facts: Facts, *, saved: str = "") -> float:
    """How much faster the ends could be if nothing but moving the payload took their CPUs.

    That is their calls, and receive processing, which may have a CPU of its own; what their threads do besides goes
    once nothing makes them wait. Without a log of the calls it is all that they took.
    """
    gains = [MOST_GAIN]
    for role, end in (("sender", facts.sender), ("receiver", facts.receiver)):
        known = [end.in_call_ratio, end.softirq_ratio] if end.in_call_ratio is not None else [end.on_cpu_ratio]
        works = [value for value in known if value]
        if saved not in {role, "both"} and works:
            gains.append(1 / max(works))
    return min(gains)


def _is_own_rhythm(facts: Facts) -> bool:
    """Whether segments come at one rate because the cause lets them go so: then they look like a full line.

    Before a line that is really full a queue stands, and a round trip takes longer. Between neighbors the round trip
    of one segment says nothing of that.
    """
    use, trip = facts.segments.line_use_ratio or 0.0, facts.windows.rtt_ns_min or 0
    if trip < NEIGHBOR_RTT_NS:
        return (facts.segments.line_steadiness or 0.0) < NEIGHBORS_STEADINESS
    return use > FULL_LINE_USE and (facts.windows.rtt_growth or 1.0) < QUEUE_GROWTH


NEIGHBOR_RTT_NS = 200_000
"""Round trips below are made of what hosts do, not of the path."""
FULL_LINE_USE = 0.85
"""A line used so far is full: the rest is gaps between the measured phases of a burst."""
QUEUE_GROWTH = 1.3
"""Usual round trip over the shortest from which on a queue stands on the path."""
NEIGHBORS_STEADINESS = 0.8
MOST_GAIN = 1000.0
"""Beyond that, what was measured says nothing about what would be."""


def is_line_seen(facts: Facts) -> bool:
    """Whether segments arrive at one rate, so that something before the receiver sets it."""
    steady = facts.segments.line_steadiness
    return steady is not None and steady >= LINE_STEADINESS


LINE_STEADINESS = 0.3
"""Part of the pairs of segments at the most frequent rate: without a line of one rate it is a tenth."""


def is_on_cpu(facts: Facts) -> bool:
    """Whether an end's CPU is the limit."""
    return facts.busiest_ratio is not None and facts.busiest_ratio >= BUSY


def clipped(value: float, low: float = 0.0, high: float = 1.0) -> float:
    """`value` between `low` and `high`."""
    return max(low, min(high, value))


LOST_BEHIND_PATH = 0.1
"""Part of what was sent again that the receiving host had lost, from which on it is no matter of the path."""
