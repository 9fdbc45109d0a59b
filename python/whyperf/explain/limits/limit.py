"""A limit: how much of a trial one cause takes, and the figures that show it; and figures that limits share."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from whyperf.explain.budget.shares import MAX_LONGEST
from whyperf.explain.causes import Cause
from whyperf.explain.explanation import Evidence, Value
from whyperf.explain.host_facts import HostFacts, State
from whyperf.explain.limits.gain import HEADERS_BYTES, NEIGHBOR_RTT_NS, Gain
from whyperf.explain.states import OF_PATH
from whyperf.explain.states import SenderState as S
from whyperf.explain.trial_facts import Facts
from whyperf.explain.watched_facts import WatchedSockets
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


BUSY = 0.8
"""From here on a CPU is taken to be a limit: the rest is waiting that clocks do not see."""
SLOWLY_REGROWN_TIMES = 4.0
"""Factor by which a CUBIC window may grow back slower than a Reno one (RFC 9438 section 4.2), recovery included."""


def is_far(facts: Facts) -> bool:
    """True where a path lies between the hosts."""
    trip = facts.windows.rtt_ns_min if facts.own is None else facts.own.rtt_ns_min
    return or_zero(trip) >= NEIGHBOR_RTT_NS


def has_log(facts: Facts) -> bool:
    """True where a log shows what each segment waited for."""
    return facts.level == "segments"


def waiting_states(facts: Facts) -> tuple[S, ...]:
    """The states in which the path holds the sender; without a log that of data nobody saw what holds it."""
    return OF_PATH if has_log(facts) or facts.sender.ratio(S.IN_FLIGHT) else (*OF_PATH, S.UNKNOWN)


FILLED = 0.8
"""Payload under way over a send buffer that is full: a packet of 64 KB always fits (sk_stream_memory_free,
include/net/sock.h), so of two packets the kernel's own count (tcpi_sndbuf_limited) shows nothing."""


def filled(facts: Facts) -> float:
    """Time in which the send buffer is full by how much is under way, with room in the windows."""
    seen, windows, own = samples(facts.sender), facts.windows, facts.sender.sockets
    flight, buffer = or_zero(windows.flight_bytes_median), seen.send_buffer_bytes or own.buffer_bytes
    sent = or_zero(windows.cwnd_segments_median) * or_zero(own.mss_bytes)
    room = sent if windows.announced_bytes_median is None else min(sent, windows.announced_bytes_median)
    if has_log(facts) or not buffer or not flight or flight >= room:
        return 0.0
    if seen.filled_ratio is not None:
        return seen.filled_ratio
    always_writes = facts.asked.is_greedy and not facts.is_turned and flight >= FILLED * buffer
    return or_zero(windows.application_limited_ratio) if always_writes else 0.0


def path_wait(facts: Facts) -> float:
    """Time that the path held the sender; without a log no more than that in which it had something to send."""
    wait = clipped(facts.sender.ratio(*waiting_states(facts)))
    return wait if has_log(facts) else min(wait, 1 - or_zero(facts.windows.application_limited_ratio))


def use_of_link(facts: Facts) -> float:
    """Part of the link that was used while there was anything to send; 0 where no link is seen."""
    seen = facts.segments.bottleneck
    if seen.use_ratio is None or seen.steadiness is None:
        return 0.0
    return clipped(seen.use_ratio / max(0.05, 1 - facts.sender.ratio(S.NOT_WRITING)))


def unused(facts: Facts) -> float:
    """Time that the path held the sender while its link had room."""
    return path_wait(facts) * (1 - use_of_link(facts))


def lost_to_reductions(facts: Facts, ratio: float) -> float:
    """The most that reductions of the congestion window can have cost, one for `ratio` of the segments each.

    A window W that was halved grows back in W / 2 round trips, over which a quarter of it is missing in the mean (RFC
    5681 section 3.1): W / 8 round trips' worth, and the one in which it was found.
    """
    segments, seen = facts.segments, facts.windows
    if not ratio or segments.data_segments is None or seen.rtt_ns_median is None:
        return 1.0 if ratio else 0.0
    reductions = ratio * segments.data_segments / max(1, facts.connections)
    trips = 1 + or_zero(seen.cwnd_segments_median) / 8
    return clipped(SLOWLY_REGROWN_TIMES * reductions * trips * seen.rtt_ns_median / max(1, facts.life_ns))


def lost_part(facts: Facts) -> float:
    """Part of the segments that was sent again and had not arrived."""
    return or_zero(facts.segments.retransmitted_ratio) * (1 - or_zero(facts.segments.spurious_ratio))


def lost_to_losses(facts: Facts) -> float:
    """Time that losses on the path cost: what the path held the sender, as far as so many reductions explain it.

    What the receiving host lost is not the path's, and BBR does not heed single losses.
    """
    again, control = lost_part(facts) * (1 - facts.lost_in_receiver_ratio), samples(facts.sender).congestion_control
    if not again or control.startswith("bbr"):
        return 0.0
    return min(unused(facts), lost_to_reductions(facts, again))


def others_ratio(facts: Facts) -> float:
    """Part of the bytes that the sending device carried that are of others; 0 where that is not known.

    Of another program with several connections these are the others: who watches one knows little of them.
    """
    size, sent = facts.segments.segment_bytes_mean, facts.sender.devices.sent_bytes
    if not sent or not size or facts.datagrams is not None or (samples(facts.sender).program_connections or 1) > 1:
        return 0.0
    # Counters of segments end with the load, the device's a little later; the load's payload is all of it.
    new = max(or_zero(facts.rate_bps) * facts.life_ns / 8e9 / size, or_zero(facts.segments.data_segments))
    own = new / max(0.05, 1 - or_zero(facts.segments.retransmitted_ratio)) * (size + HEADERS_BYTES)
    return clipped(1 - own / sent)


def over_rate(facts: Facts, bps: float | None) -> float | None:
    """A rate that something allows over the present one."""
    now = facts.goodput_bps or facts.rate_bps
    return bps / now if bps and now else None


def by_window(facts: Facts, held_bytes: float | None) -> float | None:
    """The same of a window or buffer: one of them in each round trip of each connection."""
    trip = facts.windows.rtt_ns_min
    return over_rate(facts, 8e9 * held_bytes * facts.connections / trip) if held_bytes and trip else None


def samples(end: HostFacts) -> WatchedSockets:
    """Figures from samples of another program's sockets; nothing of the own load."""
    return end.watched or WatchedSockets()


def busy(end: HostFacts) -> float:
    """Part of a CPU that a side would take."""
    return or_zero(end.wanted_ratio)


def busiest(facts: Facts) -> float:
    """The same of the busier side."""
    return max(busy(facts.sender), busy(facts.receiver))


def moving(facts: Facts, end: HostFacts) -> float:
    """Part of a CPU that a side would take to move payload: what its program does outside the kernel is that only where
    a library of it is the transport."""
    return clipped(busy(end) - (or_zero(end.processors.own_user_ratio) if facts.own is None else 0.0))


def most_moving(facts: Facts) -> float:
    """The same of the side that takes more."""
    return max(moving(facts, facts.sender), moving(facts, facts.receiver))


def asleep(end: HostFacts) -> float:
    """Part of the time in which a side's busiest thread neither runs nor waits for a CPU; all of it where nobody sees
    its threads."""
    cpu = end.processors
    if cpu.thread_ratio is None:
        return 1.0
    return clipped(1 - cpu.thread_ratio - max(or_zero(cpu.withheld_ratio), or_zero(cpu.run_queue_ratio)))


def sides(facts: Facts) -> tuple[tuple[str, HostFacts], tuple[str, HostFacts]]:
    """Both sides with their roles."""
    return ("sender", facts.sender), ("receiver", facts.receiver)
