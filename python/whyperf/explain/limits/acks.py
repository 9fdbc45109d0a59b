"""Acknowledgments: held back by a timer, sent too often, merged, lost or late."""

from collections.abc import Iterator

from whyperf.explain.causes import Cause
from whyperf.explain.explanation import Evidence
from whyperf.explain.limits import gain
from whyperf.explain.limits.limit import (
    LIMIT_FROM,
    SEGMENTS,
    WINDOWS,
    Limit,
    busy,
    clipped,
    figure,
    figures,
    has_log,
    is_far,
    known_figure,
    most_moving,
    or_zero,
    samples,
    state_evidence,
    use_of_link,
)
from whyperf.explain.limits.losses import is_reverse_outage, outage_of
from whyperf.explain.states import OF_PATH
from whyperf.explain.states import ReceiverState as R
from whyperf.explain.states import SenderState as S
from whyperf.explain.trial_facts import Facts

HELD_UP = (S.RECEIVE_WINDOW_BUFFER, S.CONGESTION_WINDOW, S.SLOW_START, S.SEND_BUFFER, S.ZERO_WINDOW, S.NAGLE)
"""States in which a sender may wait for an acknowledgment."""
DELAYED_ACK_NS = 40_000_000
"""Time by which Linux delays an acknowledgment at first, and at least (TCP_ATO_MIN, TCP_DELACK_MIN: HZ / 25)."""
MAX_DELAYED_ACK_NS = 200_000_000
"""The longest time (TCP_DELACK_MAX: HZ / 5)."""
TIMER_ERROR_RATIO = 0.25
"""By how much a wait may differ from that: ticks, and what else an exchange takes."""
MIN_CALLS = 2.5
"""System calls of an exchange from which on it is written in several pieces: one writes, and one reads."""


def held_by_timer(facts: Facts) -> float:
    """Time that the receiver's delayed-ACK timer held the sender up."""
    waited = min(facts.receiver.ratio(R.DELAYED_ACK), facts.sender.ratio(*HELD_UP))
    return max(or_zero(facts.segments.held_ratio), min(waited, _by_timers(facts)))


def _by_timers(facts: Facts) -> float:
    """The most time that the ACKs which a timer sent can have taken; all of it where nobody counts them."""
    segments = facts.segments
    if not segments.ack_reasons or segments.data_segments is None or segments.acks_per_segment is None:
        return 1.0
    timers = segments.ack_reasons.get("delayed_timer", 0.0) * segments.acks_per_segment * segments.data_segments
    return clipped(timers * MAX_DELAYED_ACK_NS / max(1, facts.life_ns) / facts.connections)


def _is_short(facts: Facts) -> bool:
    """True where what waits for the timer is less than a segment, so that Nagle's rule may be why it waits."""
    nagle, others = facts.sender.ratio(S.NAGLE), facts.sender.ratio(*HELD_UP[:-1])
    if nagle or others:
        return nagle > others
    size, mss = facts.segments.released_bytes, facts.sender.sockets.mss_bytes or facts.receiver.sockets.mss_bytes
    return size is not None and mss is not None and size < mss


def delayed_ack(facts: Facts) -> Limit | None:
    """The sender may not go on until the receiver's timer lets its acknowledgment go (RFC 1122 section 4.2.3.2)."""
    share = held_by_timer(facts) * (0.0 if _is_short(facts) and not facts.sender.sockets.no_delay else 1.0)
    if share < LIMIT_FROM:
        return None
    return Limit(Cause.DELAYED_ACK, share, tuple(_of_timer(facts)), gain.of_share(facts, share))


def nagle_delayed_ack(facts: Facts) -> Limit | None:
    """Nagle's rule waits for an acknowledgment that the receiver delays (RFC 896, RFC 9293 section 3.7.4)."""
    if facts.sender.sockets.no_delay:
        return None
    if (counted := _counted_nagle(facts)) is not None:
        return counted
    held, partial = held_by_timer(facts) if _is_short(facts) else 0.0, or_zero(samples(facts.sender).partial_ratio)
    # What an application that sleeps has left over, its next write pushes.
    waits = min(facts.sender.ratio(S.NAGLE), 1 - or_zero(facts.sender.calls.asleep_ratio))
    share = max(waits, held, partial * _late_acks(facts))
    if share < LIMIT_FROM:
        return None
    is_sampled = partial > max(waits, held)
    kept = facts.segments.cycle.waiting_ratio or max(1e-3, 1 - max(waits, held))
    return Limit(
        Cause.NAGLE_DELAYED_ACK,
        share,
        figures(
            figure("partial", WINDOWS, facts.sender, partial_ratio=partial) if is_sampled else None,
            state_evidence(facts.sender, "sender", S.NAGLE) if facts.sender.shares else None,
            *_of_timer(facts),
        ),
        gain.of_share(facts, share) if is_sampled else gain.of_held_cycles(facts, kept),
        variant="sampled" if is_sampled else "",
    )


def _late_acks(facts: Facts) -> float:
    """Part of the usual round trip that the path does not take: what waits for an ACK that comes at once waits for the
    path."""
    growth = facts.windows.rtt_growth
    return 0.0 if growth is None else clipped(1 - 1 / growth)


def _of_timer(facts: Facts) -> Iterator[Evidence]:
    late, held = or_zero(facts.segments.ack_reasons.get("delayed_timer")), facts.segments.held_ratio
    yield figure("timer_acks", "segments", facts.receiver, timer_ratio=late)
    if held:
        yield figure("timer_held", "segments", facts.receiver, held_ratio=held)
    if facts.receiver.shares:
        yield state_evidence(facts.receiver, "receiver", R.DELAYED_ACK)


def _counted_nagle(facts: Facts) -> Limit | None:
    """Exchanges that are written in pieces and take as long as the timer; of another program by counts of segments."""
    found = _counted_exchange(facts)
    trip = or_zero(facts.windows.rtt_ns_min)
    if found is None or has_log(facts) or trip > DELAYED_ACK_NS / 2:
        return None
    each, calls, part = found
    # The second piece waits for the ACK of the first: a round trip, and one more for the answer.
    late = min(abs(each - trips * trip - DELAYED_ACK_NS) for trips in (1, 2))
    if calls < MIN_CALLS or late > TIMER_ERROR_RATIO * DELAYED_ACK_NS:
        return None
    share = clipped(DELAYED_ACK_NS / each) * part
    is_own = facts.exchanges is not None
    end = facts.asker if is_own else facts.receiver
    row = known_figure("latency", "latencies", end, latency_ns=each) if is_own else None
    return Limit(
        Cause.NAGLE_DELAYED_ACK,
        share,
        figures(row, *_of_timer(facts)),
        gain.of_cycles(facts, 1 - share),
        variant="counted" if is_own else "timer",
        values={"latency_ns": each, "delay_ns": each, "calls_per_exchange": calls, "timer_ns": DELAYED_ACK_NS},
    )


def _counted_exchange(facts: Facts) -> tuple[float, float, float] | None:
    """Time of an exchange, its pieces, and its part of the payload; None where nobody counts exchanges."""
    exchanges, seen = facts.exchanges, samples(facts.receiver)
    if exchanges is not None and exchanges.latency_ns is not None:
        return exchanges.latency_ns, exchanges.calls_each, exchanges.payload_ratio
    answers, parts = seen.went_segments, seen.came_segments
    if facts.conversation is None or not answers or parts is None:
        return None
    # A request in two segments, one of which is acknowledged by itself, is written in two pieces.
    return facts.life_ns / answers, 1 + parts / answers, 1.0


def quick_ack(facts: Facts) -> Limit | None:
    """Acknowledgments at once, more of them than delayed ones would be: an ACK costs about what a packet does."""
    segments = facts.segments
    quick = or_zero(segments.ack_reasons.get("quick"))
    if segments.acks_per_segment is None:
        return None
    each = segments.acks_per_segment * (segments.taken_segments_per_packet or 1.0)
    share = quick * clipped(each / (1 + each)) * most_moving(facts)
    if share < LIMIT_FROM:
        return None
    return Limit(
        Cause.QUICK_ACK,
        share,
        (
            figure("acks_per_packet", "segments", facts.receiver, acks_per_packet=each),
            figure("quick_acks", "segments", facts.receiver, quick_ratio=quick),
        ),
        gain.of_share(facts, share, saved="both"),
        values={"quick_ratio": quick, "acks_per_packet": each},
    )


HELD_BY_ACKS = (*OF_PATH, S.RECEIVE_WINDOW_BUFFER, S.SEND_BUFFER, S.RECEIVE_WINDOW_READER, S.ZERO_WINDOW)
"""States in which a sender waits for acknowledgments."""


def _waits_for_acks(facts: Facts) -> float:
    """Time that the sender waited; what a full link makes it wait for is not the ACKs' doing."""
    unseen = 0.0 if has_log(facts) else facts.sender.ratio(S.UNKNOWN)
    return clipped(facts.sender.ratio(*HELD_BY_ACKS) + unseen) * (1 - use_of_link(facts))


def ack_thinning(facts: Facts) -> Limit | None:
    """Acknowledgments that the receiver sent do not reach the sender."""
    arrived = facts.segments.acks_arrived_ratio
    if arrived is None:
        return None
    # Those that come while the sending program uses its socket wait for it, and become one (tcp_add_to_backlog,
    # net/ipv4/tcp_ipv4.c): between neighbors a busy sender merges them itself.
    merged = 0.0 if is_far(facts) else busy(facts.sender)
    share = _waits_for_acks(facts) * clipped(2 * (1 - arrived)) * (1 - merged)
    if share < LIMIT_FROM:
        return None
    return Limit(
        Cause.ACK_THINNING,
        share,
        (
            figure("acks_arrived", "segments", facts.sender, arrived_ratio=arrived),
            state_evidence(facts.sender, "sender", *OF_PATH, S.RECEIVE_WINDOW_BUFFER),
        ),
        gain.of_share(facts, share, by_line=True),
        values={"arrived_ratio": arrived},
    )


def ack_path(facts: Facts) -> Limit | None:
    """The reverse direction is slow: ACKs wait there, and what runs over is lost; or it loses them one by one."""
    arrived, queue, trip = facts.segments.acks_arrived_ratio, facts.segments.queue, or_zero(facts.windows.rtt_ns_min)
    late = or_zero(queue.back_delay_ns_median)
    if is_reverse_outage(facts) and (outage := outage_of(facts, Cause.ACK_PATH)) is not None:
        return outage
    if not is_far(facts) or (arrived is None and not late):
        return None
    delayed, lost = late / (late + trip), 1 - (1.0 if arrived is None else arrived)
    # Without a log nobody saw in which direction a delay is, unless ACKs are most of it.
    sure = 1.0 if has_log(facts) or queue.is_of_acks else 0.5
    share = _waits_for_acks(facts) * max(delayed * sure, clipped(2 * lost))
    if share < LIMIT_FROM:
        return None
    is_slow = delayed * sure >= lost
    return Limit(
        Cause.ACK_PATH,
        share,
        figures(
            known_figure("acks_arrived", "segments", facts.sender, arrived_ratio=arrived),
            figure("ack_delay", WINDOWS if queue.is_of_acks else SEGMENTS, facts.sender, delay_ns=late)
            if late
            else None,
            state_evidence(facts.sender, "sender", *OF_PATH, S.RECEIVE_WINDOW_BUFFER),
        ),
        gain.of_share(facts, share, by_line=True),
        variant="slow" if is_slow or arrived is None else "lossy",
        values={"arrived_ratio": arrived, "delay_ns": late or None},
    )
