"""A connection that moved next to nothing while it was watched, such as one that carries commands only."""

from whyperf.explain.causes import Cause
from whyperf.explain.rules.finding import WINDOWS, Finding, figure
from whyperf.explain.rules.watched.windows import READ_ALL
from whyperf.explain.states import SenderState as S
from whyperf.explain.trial_facts import Facts
from whyperf.explain.watched_facts import WatchedSockets

MAX_MOVED_SEGMENTS, MIN_WATCHED_NS = 10, 1_000_000_000
"""Segments with payload in both directions, and how long it was watched at least: a short transfer has few as well."""
IDLE_STATES = (S.NOT_WRITING, S.UNKNOWN)
MAX_WAITING = 0.1
"""Part of the time in which data waits or is in flight, up to which nothing holds a connection."""


def idle(facts: Facts) -> Finding | None:
    """Next to nothing moved, and nothing waited to be sent, acknowledged or read."""
    sent, taken = facts.sender.watched or WatchedSockets(), facts.receiver.watched or WatchedSockets()
    known = [seen.moved_segments for seen in (sent, taken) if seen.moved_segments is not None]
    if not known or max(known) > MAX_MOVED_SEGMENTS or facts.life_ns < MIN_WATCHED_NS:
        return None
    held = sum(facts.sender.shares.values()) - facts.sender.ratio(*IDLE_STATES)
    if held > MAX_WAITING or (sent.waiting_ratio or 0.0) > MAX_WAITING or (taken.unread_ratio or 0.0) > READ_ALL:
        return None
    end = facts.receiver if facts.watched_sides == "receiver" else facts.sender
    moved = round((facts.rate_bps or 0.0) * facts.life_ns / 8e9)
    return Finding(
        Cause.NOT_KNOWN,
        0.0,
        0.0,
        (figure("moved_segments", WINDOWS, end, moved_segments=max(known)),),
        variant="watched.idle",
        values={"moved_bytes": moved, "span_ns": facts.life_ns},
    )
