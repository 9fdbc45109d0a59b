"""Cases that leave nothing to be weighed: nothing was moved, or a part of a host was busy all the time."""

from whyperf.explain.causes import Cause
from whyperf.explain.host_limits import HALF_DUPLEX
from whyperf.explain.limits.held import samples, sides
from whyperf.explain.limits.limit import LIMIT_FROM, WINDOWS, Limit, figure, or_zero
from whyperf.explain.states import SenderState as S
from whyperf.explain.trial_facts import Facts

FULL_RATIO = 0.97
"""Part of the load's time from which on a part is the limit. A transfer's start and end leave it idle for some percent.
A part that waits for another, such as a receiver's bus behind a full one, is at most as busy as that."""
TABLES = {HALF_DUPLEX: "tcp_info"}
"""The table that a part's use is from, if not `host_counters`."""


def settled(facts: Facts) -> Limit | None:
    """The limit that leaves nothing to be weighed."""
    return idle(facts) or full_part(facts)


def full_part(facts: Facts) -> Limit | None:
    """A part that all connections of a host of the model share, busy nearly all the time: its bus, its adapter's
    processor, a link of half duplex. A live host's bus has no counter that whyperf reads.
    """
    busy = [(ratio, role, part, end) for role, end in sides(facts) for part, ratio in end.limits.parts.items()]
    # Of a bus at both hosts the sender's is named: what the other moves has crossed it.
    ratio, role, part, end = max(busy, key=lambda found: round(found[0], 2), default=(0.0, "", "", facts.sender))
    if ratio < FULL_RATIO:
        return None
    count = end.limits.adapters_count
    most = max((rate for rate in (facts.rate_bps, facts.goodput_bps) if rate is not None), default=None)
    return Limit(
        Cause.CAPACITY,
        1.0,
        (figure(f"{part}_busy", TABLES.get(part, "host_counters"), end, busy_ratio=ratio, role=role),),
        variant=part,
        values={"role": role, "busy_ratio": ratio, "max_bps": most, "adapters_count": count if count > 1 else None},
        probability=FULL_RATIO,
    )


MAX_MOVED_SEGMENTS, MIN_WATCHED_NS = 10, 1_000_000_000
"""Segments with payload in both directions, and how long it was watched at least: a short transfer has few as well."""
IDLE_STATES = (S.NOT_WRITING, S.UNKNOWN)


def idle(facts: Facts) -> Limit | None:
    """A connection of another program that moved next to nothing: nothing waited to be sent, acknowledged or read."""
    sent, taken = samples(facts.sender), samples(facts.receiver)
    known = [seen.moved_segments for seen in (sent, taken) if seen.moved_segments is not None]
    if not known or max(known) > MAX_MOVED_SEGMENTS or facts.life_ns < MIN_WATCHED_NS:
        return None
    held = sum(facts.sender.shares.values()) - facts.sender.ratio(*IDLE_STATES)
    if max(held, or_zero(sent.waiting_ratio), or_zero(taken.unread_ratio)) > 2 * LIMIT_FROM:
        return None
    end = facts.receiver if facts.watched_sides == "receiver" else facts.sender
    moved = round(or_zero(facts.rate_bps) * facts.life_ns / 8e9)
    row = figure("moved_segments", WINDOWS, end, moved_segments=max(known))
    values = {"moved_bytes": moved, "span_ns": facts.life_ns}
    return Limit(Cause.NOT_KNOWN, 0.0, (row,), variant="watched.idle", values=values)
