"""Fate of acknowledgments in the reverse direction, as far as it costs rate."""

from whyperf.explain.causes import Cause
from whyperf.explain.gather.delays import MIN_STANDING_NS
from whyperf.explain.rules import gain
from whyperf.explain.rules.finding import BUSY, SEGMENTS, WINDOWS, Finding, clipped, figure, state_evidence
from whyperf.explain.rules.gain import NEIGHBOR_RTT_NS
from whyperf.explain.rules.path import MIN_ACKS_ARRIVED, MIN_STANDING_RATIO, WAITS, use_of_line, waits_for_acks
from whyperf.explain.states import SenderState as S
from whyperf.explain.trial_facts import Facts

_WAITS = (*WAITS, S.RECEIVE_WINDOW_BUFFER, S.SEND_BUFFER, S.RECEIVE_WINDOW_READER, S.ZERO_WINDOW)
MAX_MERGED_RATIO = 0.55
"""Part of the ACKs that merging or filtering them leaves: at most every second one."""
MIN_SLOW_TRIP_RATIO = 0.2
"""Delay of ACKs over the smallest round trip from which on a queue in the reverse direction stretches the round trip.
"""


def ack_thinning(facts: Facts) -> Finding | None:
    """Acknowledgments that the receiver sent do not reach the sender."""
    arrived = facts.segments.acks_arrived_ratio
    if arrived is None or arrived >= MIN_ACKS_ARRIVED or ack_path(facts) is not None or _may_be_merged(facts):
        return None
    lost = _costs(facts)
    if lost < 0.1:
        return None
    return Finding(
        Cause.ACK_THINNING,
        lost,
        0.98,
        (
            figure("acks_arrived", "segments", facts.sender, arrived_ratio=arrived),
            state_evidence(facts.sender, "sender", *WAITS, S.RECEIVE_WINDOW_BUFFER),
        ),
        gain.of_share(facts, lost, by_line=True),
        values={"arrived_ratio": arrived},
    )


def _may_be_merged(facts: Facts) -> bool:
    """True where the sending host itself merges ACKs, which no path has lost: those that come while its program uses
    the socket wait for it, and become one (tcp_add_to_backlog, net/ipv4/tcp_ipv4.c)."""
    trip = facts.windows.rtt_ns_min
    return trip is not None and trip < NEIGHBOR_RTT_NS and (facts.sender.wanted_ratio or 0.0) >= BUSY


def ack_path(facts: Facts) -> Finding | None:
    """The reverse direction is slow: ACKs wait there, and what runs over is lost; or it loses them one by one."""
    arrived, queue, trip = facts.segments.acks_arrived_ratio, facts.segments.queue, facts.windows.rtt_ns_min
    late, is_of_acks = queue.back_delay_ns_median or 0.0, waits_for_acks(facts)
    if (arrived is None and not is_of_acks) or not trip or trip < NEIGHBOR_RTT_NS:
        return None
    is_slow = late >= max(MIN_STANDING_NS, MIN_SLOW_TRIP_RATIO * trip)
    is_lossy = arrived is not None and MAX_MERGED_RATIO < arrived < MIN_ACKS_ARRIVED
    if facts.level != "segments":
        # The round trip grows, and ACKs are lost: the queue that stands is the reverse direction's.
        is_full = arrived is not None and arrived < MIN_ACKS_ARRIVED
        is_slow = is_of_acks or (is_full and (queue.standing_ratio or 0.0) >= MIN_STANDING_RATIO)
    lost, table = _costs(facts), WINDOWS if is_of_acks else SEGMENTS
    if lost < 0.1 or not (is_slow or is_lossy):
        return None
    return Finding(
        Cause.ACK_PATH,
        lost,
        0.9,
        (
            *(() if arrived is None else (figure("acks_arrived", "segments", facts.sender, arrived_ratio=arrived),)),
            *((figure("ack_delay", table, facts.sender, delay_ns=late),) if late and is_slow else ()),
            state_evidence(facts.sender, "sender", *WAITS, S.RECEIVE_WINDOW_BUFFER),
        ),
        gain.of_share(facts, lost, by_line=True),
        variant="slow" if is_slow else "lossy",
        values={"arrived_ratio": arrived, "delay_ns": late or None},
    )


def _costs(facts: Facts) -> float:
    """Time that the sender waited; what a full line makes it wait for is not the ACKs' doing."""
    waits = facts.sender.ratio(*_WAITS, S.IN_FLIGHT)
    if facts.level != "segments":
        waits += facts.sender.ratio(S.UNKNOWN)
    return clipped(waits) * (1 - (use_of_line(facts) or 0.0))
