"""QUIC, UDT and SRT: what their libraries count of windows, losses and round trips. No state of TCP is assumed.

FAST on a queue that is smaller than its alpha, the segments that it keeps there.
"""

from whyperf.explain.causes import Cause
from whyperf.explain.explanation import Evidence
from whyperf.explain.rules.finding import UNDECIDED, Finding, clipped, figure, is_on_cpu
from whyperf.explain.rules.gain import FULL_LINE_USE, NEIGHBOR_RTT_NS
from whyperf.explain.setup import Setup
from whyperf.explain.trial_facts import Facts, TransportFacts

ALPHAS = ((120_000_000, 200), (12_000_000, 20), (0, 8))
"""Segments that a connection of FAST keeps in the queue, by its rate in bit/s (Jin, Wei, Low, INFOCOM 2004, section
IV-C; `crates/congestion/src/bpf/fast.h`)."""


def starved_alpha(setup: Setup) -> int | None:
    """FAST's alpha in segments where the queue of the path holds fewer of them; None elsewhere.

    It then never sees the delay that it steers by, so it grows until the queue runs over, and reacts to the loss as
    Reno does (RFC 5681).
    """
    bottleneck, connections = setup.bottleneck(), setup.level("connections")
    if setup.level("congestion_control") != "fast" or bottleneck is None or not isinstance(connections, int):
        return None
    rate_bps, held_packets = bottleneck
    alpha = next(alpha for above_bps, alpha in ALPHAS if rate_bps / connections > above_bps)
    return alpha if held_packets < alpha * connections else None


def fast_queue(alpha: int, setup: Setup) -> int:
    """Packets of a queue that holds the segments which all connections keep there, and as many again."""
    connections = setup.level("connections")
    return 2 * alpha * (connections if isinstance(connections, int) else 1)


TABLE = "transport_info"
FULL_WINDOW = 0.8
"""Part of a window in flight from which on it is full: a sample falls between two of its refills."""
MIN_LOST_RATIO = 0.001
QUEUED = 1.15
"""Median round trip over the smallest from which on a queue stands on the path."""
ACK_INTERVAL_NS = 10_000_000
"""UDT and SRT acknowledge by a timer, which makes a round trip up to so much longer (SYN, CUDT::m_iSYNInterval)."""
EMPTY_WINDOW = 0.6
"""Part of a congestion window in flight up to which something else holds the sender."""


def own_bottleneck(facts: Facts) -> Finding | None:
    """Packets go at one rate while a queue stands on the path."""
    own = _of_path(facts)
    if own is None or own.bottleneck.bps is None or (own.bottleneck.use_ratio or 0.0) < FULL_LINE_USE:
        return None
    if not _is_queued(facts):
        # A window that is always full goes at one rate as well.
        return None
    return Finding(
        Cause.BOTTLENECK,
        0.95,
        0.95,
        (_rate(facts, own), _trips(facts, own)),
        None,
        {"line_bps": own.bottleneck.bps},
        is_counted=True,
        values={
            "link_bps": own.bottleneck.bps,
            "use_ratio": own.bottleneck.use_ratio,
            "rtt_ns_median": own.rtt_ns_median,
            "rtt_ns_min": own.rtt_ns_min,
        },
    )


def own_window(facts: Facts) -> Finding | None:
    """All that the receiver has room for is in flight."""
    own = _of_path(facts)
    if own is None or not own.peer_window_bytes or own.in_flight_bytes is None or own_bottleneck(facts) is not None:
        return None
    full = own.in_flight_bytes / own.peer_window_bytes
    if full < FULL_WINDOW or (own.cwnd_bytes or own.peer_window_bytes) < own.peer_window_bytes or is_on_cpu(facts):
        return None
    lost = clipped(full, 0.0, 0.95)
    return Finding(
        Cause.RECEIVE_BUFFER,
        lost,
        0.9,
        (
            figure("own_window", TABLE, facts.sender, window_bytes=own.peer_window_bytes),
            figure("own_flight", TABLE, facts.sender, flight_bytes=own.in_flight_bytes),
            _trips(facts, own),
        ),
        None,
        {"window_bytes": 4 * own.peer_window_bytes},
        is_counted=True,
        variant="transport",
        values={"window_bytes": own.peer_window_bytes, "flight_bytes": own.in_flight_bytes},
    )


def own_flow_control(facts: Facts) -> Finding | None:
    """QUIC's receiver lets no more be in flight (RFC 9000 section 4), which its sender's statistics do not have.

    A sender that always has data, an open congestion window, no loss, no queue and CPUs that have time leave nothing
    else to wait for.
    """
    own = _of_path(facts)
    if own is None or facts.transport != "quic" or not facts.asked.is_greedy or own.lost_ratio >= MIN_LOST_RATIO:
        return None
    flight = own.in_flight_bytes
    if not flight or not own.cwnd_bytes or flight > EMPTY_WINDOW * own.cwnd_bytes:
        return None
    if is_on_cpu(facts) or _is_queued(facts) or own_bottleneck(facts) is not None:
        return None
    return Finding(
        Cause.RECEIVE_BUFFER,
        0.9,
        0.85,
        (
            figure("own_flight", TABLE, facts.sender, flight_bytes=flight),
            figure("own_cwnd", TABLE, facts.sender, cwnd_bytes=own.cwnd_bytes),
            _trips(facts, own),
        ),
        None,
        {"window_bytes": 4 * flight},
        is_counted=True,
        variant="flow_control",
        values={"flight_bytes": flight, "cwnd_bytes": own.cwnd_bytes},
    )


def own_random_loss(facts: Facts) -> Finding | None:
    """Losses while no queue stands on the path."""
    return _losses(facts, Cause.RANDOM_LOSS, less=_is_queued(facts))


def own_small_queue(facts: Facts) -> Finding | None:
    """Losses of a queue, which may be too small to show."""
    return _losses(facts, Cause.SMALL_QUEUE, less=True)


def own_full_path(facts: Facts) -> Finding | None:
    """Losses while a queue stands on the path, though no constant rate shows."""
    return _losses(facts, Cause.BOTTLENECK, less=not _is_queued(facts))


def _is_queued(facts: Facts) -> bool:
    own = facts.own
    if own is None or not own.rtt_ns_min:
        return False
    timer = 0 if facts.transport == "quic" else ACK_INTERVAL_NS
    return (own.rtt_ns_median or 0.0) >= QUEUED * own.rtt_ns_min + timer


def _losses(facts: Facts, cause: Cause, *, less: bool) -> Finding | None:
    """One of those who may lose packets; `less` is one that is less likely."""
    own = _of_path(facts)
    if own is None or own.lost_ratio < MIN_LOST_RATIO or is_on_cpu(facts) or own_bottleneck(facts) is not None:
        return None
    counted = {"lost_count": own.lost_packets, "sent_count": own.sent_packets}
    return Finding(
        cause,
        0.8,
        UNDECIDED - (0.02 if less else 0.0),
        (figure("own_losses", TABLE, facts.sender, lost_packets_ratio=own.lost_ratio, **counted), _trips(facts, own)),
        is_counted=True,
        variant="transport",
        values=counted,
        open="transport_losses",
    )


def _of_path(facts: Facts) -> TransportFacts | None:
    """Counts of the library, where a path lies between the hosts."""
    own = facts.own
    return None if own is None or (own.rtt_ns_min or 0.0) < NEIGHBOR_RTT_NS else own


def _rate(facts: Facts, own: TransportFacts) -> Evidence:
    rate = own.bottleneck
    return figure("own_rate", TABLE, facts.sender, link_bps=rate.bps, steady_ratio=rate.steadiness)


def _trips(facts: Facts, own: TransportFacts) -> Evidence:
    return figure("own_trips", TABLE, facts.sender, rtt_ns_median=own.rtt_ns_median, rtt_ns_min=own.rtt_ns_min)
