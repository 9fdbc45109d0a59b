"""The receiver alone: what it sees of a peer that could send more, and of the path."""

from whyperf.explain.causes import Cause
from whyperf.explain.explanation import Evidence, Value
from whyperf.explain.rules.finding import SEGMENTS, WINDOWS, Finding, clipped, figure, is_on_cpu, state_evidence
from whyperf.explain.rules.watched.arrivals import (
    MIN_LATE_RATIO,
    Arrivals,
    arrivals,
    held_acks,
    is_held_small,
    is_left_unread,
    of_sizes,
    path_full,
    path_loss,
    small_segments,
)
from whyperf.explain.rules.watched.exchanges import is_alternating
from whyperf.explain.rules.watched.open import AT_WRITER, LATE, left_open
from whyperf.explain.rules.watched.windows import (
    READ_ALL,
    late_reads,
    own_buffer,
    own_scaling,
    own_window,
    reader_behind,
)
from whyperf.explain.states import ReceiverState as R
from whyperf.explain.trial_facts import Facts
from whyperf.explain.watched_facts import WatchedSockets

MIN_WAITING = 0.5
"""Share of the time that a receiver waits for payload, having read all, from which on it waits for others."""
MIN_SHORT_GAPS = 0.3
"""Part of the time in gaps before which the sender had sent all that was written, from which on its program is the
limit."""
CONSTANT_SPREAD = 0.1
"""Spread of the rate of arrivals from sample to sample where a link, or a clock of the sender, sets it."""


def _waiting(facts: Facts) -> float:
    """Share of the time in which unread payload does not take up the window, so that the sender may send."""
    seen = facts.receiver.watched or WatchedSockets()
    if seen.pressed_ratio is not None:
        return 1 - seen.pressed_ratio
    if seen.own_window.is_steady(facts.receiver.sockets.mss_bytes or 0):
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
    seen = facts.receiver.watched or WatchedSockets()
    causes = (*AT_WRITER, *(() if seen.are_full else (Cause.TINY_WRITES,)))
    return left_open("idle_peer", clipped(gaps), causes, evidence, facts, gap_ratio=gaps)


def waiting(facts: Facts) -> Finding | None:
    """The receiver reads in time: a program is idle, or the path, or its host, is slow."""
    seen, lost = facts.receiver.watched or WatchedSockets(), _waiting(facts)
    if facts.watched_sides != "receiver" or is_alternating(facts) or is_on_cpu(facts) or lost < MIN_WAITING:
        return None
    others = (
        reader_behind,
        late_reads,
        own_buffer,
        own_scaling,
        idle_peer,
        path_full,
        path_loss,
        held_acks,
        small_segments,
    )
    if any(rule(facts) is not None for rule in others):
        return None
    came = arrivals(facts)
    evidence: list[Evidence] = [state_evidence(facts.receiver, "receiver", R.WAITING, R.SEQUENCE_HOLE)]
    if seen.unread_ratio is not None:
        evidence.insert(0, figure("unread", "sockets", facts.receiver, unread_ratio=seen.unread_ratio))
    else:
        shape = seen.own_window
        evidence.insert(0, figure("own_window_steady", WINDOWS, facts.receiver, window_bytes=shape.median_bytes or 0,
                                  low_bytes=shape.low_bytes))  # fmt: skip
    evidence += of_sizes(facts)
    values: dict[str, Value | None] = {"waiting_ratio": lost, "late_ratio": came.late_ratio}
    reader = (Cause.SLOW_READER,) if is_left_unread(facts) else ()
    if came.late_ratio >= MIN_LATE_RATIO:
        evidence.insert(0, figure("late", "tcp_info", facts.receiver, late_ratio=came.late_ratio))
        causes = (*reader, *LATE, *AT_WRITER, Cause.SEND_BUFFER)
        return left_open("late", lost, causes, evidence, facts, **values)
    is_even = seen.rate_spread is not None and seen.rate_spread <= CONSTANT_SPREAD
    if is_even and (seen.pressed_ratio or 0.0) <= READ_ALL:
        evidence.insert(0, figure("even_rate", "tcp_info", facts.receiver, spread_ratio=seen.rate_spread))
        return left_open("even", lost, (*reader, *_even(facts, came)), evidence, facts, **values)
    window = own_window(facts)
    is_half = window is not None and window.full_ratio >= MIN_HALF
    causes = (*reader, *((Cause.RECEIVE_BUFFER,) if is_half else ()), *_of_sender(seen), *_of_path(came))
    return left_open("waiting", lost, causes, evidence, facts, **values)


MIN_HALF = 0.5
"""Part of the own window that arrives in a round trip, from which on it may be full at times."""


def _even(facts: Facts, came: Arrivals) -> tuple[Cause, ...]:
    """Causes that keep the rate constant; a program, or a full host, does so as well as a link."""
    seen = facts.receiver.watched or WatchedSockets()
    return (*_of_path(came), *_of_sender(seen))


def _of_sender(seen: WatchedSockets) -> tuple[Cause, ...]:
    """Possible causes in the sender's host: a program that writes little at a time makes segments that are not full."""
    small = (Cause.SMALL_MTU,) if is_held_small(seen, seen.own_window) else ()
    tiny = () if seen.are_full else (Cause.TINY_WRITES,)
    return (*small, *AT_WRITER, Cause.SEND_BUFFER, Cause.PACING_RATE, *tiny)


def _of_path(came: Arrivals) -> tuple[Cause, ...]:
    """Possible causes on the path: without a queue it holds nothing back, and where none is known, it may."""
    if came.is_grown is False:
        return (Cause.BOTTLENECK,)
    return Cause.BOTTLENECK, Cause.SHARED_BOTTLENECK, Cause.LOCAL_QUEUE, Cause.ACK_PATH
