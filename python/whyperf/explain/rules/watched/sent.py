"""Causes that only samples of the sender's socket show: Nagle's rule, overtaking segments, a busy program."""

from whyperf.explain.causes import Cause
from whyperf.explain.explanation import Evidence, Value
from whyperf.explain.gather.segments import MIN_HELD_NS
from whyperf.explain.rules import gain
from whyperf.explain.rules.finding import (
    PERHAPS_LIMITED_RATIO,
    WINDOWS,
    Finding,
    clipped,
    figure,
    is_on_cpu,
    state_evidence,
)
from whyperf.explain.rules.gain import NEIGHBOR_RTT_NS
from whyperf.explain.rules.losses import lost_to_reductions
from whyperf.explain.rules.path import MIN_REORDERINGS, MIN_SPURIOUS, path_wait, waiting_states
from whyperf.explain.rules.watched.exchanges import is_alternating
from whyperf.explain.rules.watched.open import AT_READER, AT_WRITER, left_open
from whyperf.explain.trial_facts import Facts
from whyperf.explain.watched_facts import WatchedSockets

MIN_PARTIAL = 0.3
"""Part of the samples in which less than a segment waits for the ACK of another one, from which on Nagle's rule is what
holds the connection: a stream has such a rest now and then."""


def nagle(facts: Facts) -> Finding | None:
    """Less than a segment waits, with room in all windows, until the peer's delayed ACK comes (RFC 896)."""
    seen = facts.sender.watched or WatchedSockets()
    lost, trip = seen.partial_ratio or 0.0, facts.windows.rtt_ns_median or 0
    waited = trip - (facts.windows.rtt_ns_min or 0)
    if lost < MIN_PARTIAL or facts.sender.sockets.no_delay or is_on_cpu(facts):
        return None
    if waited < MIN_HELD_NS:
        # What waits for an ACK that comes at once waits for the path.
        return None
    return Finding(
        Cause.NAGLE_DELAYED_ACK,
        lost,
        0.9,
        (
            figure("partial", WINDOWS, facts.sender, partial_ratio=lost),
            figure("late_acks", WINDOWS, facts.sender, rtt_ns_median=trip, rtt_ns_min=facts.windows.rtt_ns_min),
        ),
        gain.of_share(facts, lost),
        is_counted=True,
        variant="sampled",
    )


def overtaken(facts: Facts) -> Finding | None:
    """The sender's kernel saw segments overtake each other, and what it sent again had arrived."""
    segments, wait = facts.segments, path_wait(facts)
    events, again, twice = segments.reordering_events or 0, segments.retransmitted_ratio or 0.0, segments.spurious_ratio
    if facts.watched_sides != "sender" or events < MIN_REORDERINGS or (twice or 0.0) < MIN_SPURIOUS:
        return None
    # No more than what was sent again for nothing can have cost the window.
    lost = min(clipped(wait), lost_to_reductions(facts, again * (twice or 0.0)))
    if wait < MIN_WAIT or lost < MIN_LOST:
        return None
    evidence: list[Evidence] = [
        figure("seen_reordering", WINDOWS, facts.sender, events_count=events, spurious_ratio=twice),
        state_evidence(facts.sender, "sender", *waiting_states(facts)),
    ]
    values: dict[str, Value | None] = {"events_count": events, "spurious_ratio": twice}
    return Finding(Cause.REORDERING, lost, 0.8, tuple(evidence), is_counted=True, variant="seen", values=values)


MIN_WAIT = 0.3
"""Share of the time that data is in flight, or waits for it, from which on the path may be why."""
MIN_LOST = 0.1
MIN_GROWTH = 1.3
"""The usual round trip over the smallest, from which on something waits in a queue."""


def in_flight(facts: Facts) -> Finding | None:
    """The sender alone: data is in flight, no window or buffer is full, and no other rule says why."""
    segments, filled = facts.segments, (facts.sender.watched or WatchedSockets()).filled_ratio or 0.0
    # Where the buffer is full, too, the kernel may not send, whatever the program waits for.
    wait = max(path_wait(facts), filled)
    if facts.watched_sides != "sender" or wait < MIN_IN_FLIGHT or is_alternating(facts) or is_on_cpu(facts):
        return None
    growth, is_lossy = facts.windows.rtt_growth or 1.0, bool(segments.retransmitted_ratio)
    is_limited = (facts.windows.application_limited_ratio or 0.0) >= PERHAPS_LIMITED_RATIO
    causes = (
        *((Cause.REORDERING,) if segments.reordering_events else ()),
        *((*LATE_OF_SENDER,) if is_lossy else ()),
        *(QUEUED if growth >= MIN_GROWTH else ()),
        *(AT_WRITER if is_limited else ()),
        *(AT_READER if (facts.windows.rtt_ns_min or 0) < NEIGHBOR_RTT_NS else ()),
        *((Cause.PACING_RATE, Cause.SEND_BUFFER) if growth < MIN_GROWTH and not is_lossy else ()),
    )
    evidence: list[Evidence] = [state_evidence(facts.sender, "sender", *waiting_states(facts))]
    if facts.windows.rtt_growth is not None:
        evidence.append(figure("rtt_growth", WINDOWS, facts.sender, growth_times=growth))
    if is_lossy:
        evidence.append(
            figure("retransmitted", WINDOWS, facts.sender, retransmitted_ratio=segments.retransmitted_ratio)
        )
    return left_open("in_flight", LEAST, tuple(dict.fromkeys(causes)), evidence, facts, waiting_ratio=wait)


IN_FLIGHT = "watched.in_flight"
MIN_IN_FLIGHT, LEAST = 0.5, 0.25
"""Share of the time; and what is said of it comes after all that a rule is about."""
QUEUED = (Cause.BOTTLENECK, Cause.SHARED_BOTTLENECK, Cause.ACK_PATH, Cause.RECEIVER_CPU, Cause.OTHER_LOAD)
"""Why round trips are long, as far as the sender can see."""
LATE_OF_SENDER = (
    *(Cause.RANDOM_LOSS, Cause.BURST_LOSS, Cause.SMALL_QUEUE, Cause.POLICER, Cause.RECEIVER_LOSS, Cause.ACK_PATH),
)
"""Why segments are sent again, as far as the sender can see."""
