"""The receiver alone: what it sees of a peer that could send more, and of the path."""

from whyperf.explain.causes import Cause
from whyperf.explain.model import Evidence, Value
from whyperf.explain.rules.finding import SEGMENTS, WINDOWS, Finding, clipped, figure, is_on_cpu, state_evidence
from whyperf.explain.rules.watched.exchanges import is_alternating
from whyperf.explain.rules.watched.open import AT_PEER, AT_WRITER, LATE, left_open
from whyperf.explain.rules.watched.windows import READ_ALL, own_buffer, reader_behind
from whyperf.explain.states import ReceiverState as R
from whyperf.explain.trial_facts import Facts
from whyperf.explain.watched_facts import WatchedSockets

MIN_WAITING = 0.5
"""Share of the time that a receiver waits for payload, having read all, from which on it waits for others."""
MIN_SHORT_GAPS = 0.3
"""Part of the time in gaps before which the sender had sent all that was written, from which on its program is the
limit."""
MIN_LATE_RATIO = 0.002
"""Segments behind a gap, over all, from which on losses or reordering may be what keeps windows small."""
CONSTANT_SPREAD = 0.1
"""How far the rate of arrivals varies from sample to sample where a link, or a clock of the sender, sets it."""


def _waiting(facts: Facts) -> float:
    """Share of the time in which all that came was read."""
    seen = facts.receiver.watched or WatchedSockets()
    if seen.unread_ratio is None and seen.own_window.is_steady(facts.receiver.sockets.mss_bytes or 0):
        # Nobody sampled the queue. Unread payload would make the announced window smaller.
        return 1.0
    states = facts.receiver.ratio(R.WAITING, R.SEQUENCE_HOLE, R.DELAYED_ACK, R.SOFTIRQ)
    return states if facts.receiver.shares or seen.unread_ratio is None else 1 - seen.unread_ratio


def idle_peer(facts: Facts) -> Finding | None:
    """The log of arrivals has gaps before which the sender had sent all that was written: its program is the limit, or
    it has no CPU.
    """
    gaps = facts.segments.short_gap_ratio or 0.0
    if facts.watched_sides != "receiver" or is_alternating(facts) or gaps < MIN_SHORT_GAPS:
        return None
    evidence = (figure("short_gaps", SEGMENTS, facts.receiver, gap_ratio=gaps),)
    return left_open("idle_peer", clipped(gaps), AT_WRITER, evidence, facts, gap_ratio=gaps)


def waiting(facts: Facts) -> Finding | None:
    """The receiver has read all, and waits: for a program that is idle, or for a path that is slow."""
    seen, lost = facts.receiver.watched or WatchedSockets(), _waiting(facts)
    if facts.watched_sides != "receiver" or is_alternating(facts) or is_on_cpu(facts) or lost < MIN_WAITING:
        return None
    others = (reader_behind, own_buffer, idle_peer)
    if any(rule(facts) is not None for rule in others):
        return None
    late = seen.late_ratio if seen.late_ratio is not None else facts.segments.out_of_order_ratio
    evidence: list[Evidence] = [state_evidence(facts.receiver, "receiver", R.WAITING, R.SEQUENCE_HOLE)]
    if seen.unread_ratio is not None:
        evidence.insert(0, figure("unread", "sockets", facts.receiver, unread_ratio=seen.unread_ratio))
    else:
        shape = seen.own_window
        evidence.insert(0, figure("own_window_steady", WINDOWS, facts.receiver, window_bytes=shape.median_bytes or 0,
                                  low_bytes=shape.low_bytes))  # fmt: skip
    values: dict[str, Value | None] = {"waiting_ratio": lost, "late_ratio": late}
    if (late or 0.0) >= MIN_LATE_RATIO:
        evidence.insert(0, figure("late", "tcp_info", facts.receiver, late_ratio=late))
        return left_open("late", lost, LATE, evidence, facts, **values)
    is_even = seen.rate_spread is not None and seen.rate_spread <= CONSTANT_SPREAD
    if is_even and (seen.pressed_ratio or 0.0) <= READ_ALL:
        evidence.insert(0, figure("even_rate", "tcp_info", facts.receiver, spread_ratio=seen.rate_spread))
        causes = (Cause.BOTTLENECK, Cause.PACING_RATE, Cause.SLOW_WRITER, Cause.SEND_BUFFER)
        return left_open("even", lost, causes, evidence, facts, **values)
    left = [cause for cause in AT_PEER if late or cause is not Cause.PATH_LOSS]
    return left_open("waiting", lost, left, evidence, facts, **values)
