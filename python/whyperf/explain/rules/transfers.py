"""Short exchanges and short connections: round trips of set-up and of slow start, whatever the path carries."""

from math import ceil, log2

from whyperf.explain.causes import Cause
from whyperf.explain.rules import gain
from whyperf.explain.rules.finding import WINDOWS, Finding, clipped, figure, is_on_cpu, state_evidence
from whyperf.explain.rules.gain import NEIGHBOR_RTT_NS
from whyperf.explain.rules.path import has_losses
from whyperf.explain.states import SenderState as S
from whyperf.explain.trial_facts import Facts


def connection_setup(facts: Facts) -> Finding | None:
    """Every exchange opens a connection of its own (RFC 9293 section 3.5) and starts in slow start (RFC 5681)."""
    exchanges = facts.exchanges
    if exchanges is None or not exchanges.connect_ns or not exchanges.latency_ns or is_on_cpu(facts):
        return None
    # The handshake is a round trip, of a connection that may be too short for any sample of TCP_INFO.
    trip = min(exchanges.connect_ns, facts.windows.rtt_ns_min or exchanges.connect_ns)
    lost = clipped(1 - trip / exchanges.latency_ns)
    if trip < NEIGHBOR_RTT_NS:
        return None
    return Finding(
        Cause.CONNECTION_SETUP,
        lost,
        0.97,
        (
            figure(
                "exchange_trips",
                "latencies",
                facts.asker,
                latency_ns=exchanges.latency_ns,
                rtts_per_exchange=exchanges.latency_ns / trip,
            ),
            figure("connect", "latencies", facts.asker, connect_ns=exchanges.connect_ns),
        ),
        gain.of_kept_connection(facts, exchanges.latency_ns, exchanges.connect_ns, trip),
        is_counted=True,
        values={
            "latency_ns": exchanges.latency_ns,
            "rtts_per_exchange": exchanges.latency_ns / trip,
            "rtt_ns": trip,
            "connect_ns": exchanges.connect_ns,
        },
    )


INITIAL_WINDOW_SEGMENTS = 10
"""Segments that a new connection sends before its first acknowledgment (RFC 6928; TCP_INIT_CWND of Linux)."""
MAX_ROUND_TRIPS = 40
"""A transfer of more round trips has left slow start behind for most of its time."""


def slow_start_trips(facts: Facts) -> float | None:
    """Round trips that slow start takes for a connection's payload: its window doubles in each (RFC 5681 section 3.1).

    None where connections are not set an amount of payload. The window that was reached bounds them.
    """
    size, mss = facts.asked.transfer_bytes, facts.sender.sockets.mss_bytes
    if not size or not mss:
        return None
    trips = ceil(log2(size / (INITIAL_WINDOW_SEGMENTS * mss) + 1))
    reached = facts.windows.cwnd_segments_median
    if reached is not None and reached > INITIAL_WINDOW_SEGMENTS:
        trips = min(trips, ceil(log2(reached / INITIAL_WINDOW_SEGMENTS)) + 1)
    return float(max(1, trips))


def trips_of_transfer(facts: Facts) -> float | None:
    """Number of round trips that a connection's payload took, from the first byte written to the last one read."""
    life, trip = facts.receiver.sockets.each_ns, facts.windows.rtt_ns_min
    if life is None or not trip or trip < NEIGHBOR_RTT_NS:
        return None
    return life / trip + 0.5


def short_transfer(facts: Facts) -> Finding | None:
    """A transfer so short that its round trips are those of slow start, or that it ends within the first one."""
    needed, took, trip = slow_start_trips(facts), trips_of_transfer(facts), facts.windows.rtt_ns_min
    if needed is None or took is None or not trip or took > MAX_ROUND_TRIPS or is_on_cpu(facts):
        return None
    if facts.windows.leaves_slow_start or (facts.segments.retransmitted_ratio or 0.0) > 0:
        return None
    if facts.sender.ratio(S.RECEIVE_WINDOW_BUFFER, S.RECEIVE_WINDOW_READER, S.SEND_BUFFER) >= MAX_HELD:
        return None
    is_single = needed <= 1
    if facts.level == "segments" and not is_single:
        # The log shows what slow start took.
        return None
    lost = clipped((needed - 0.5) / took)
    if took > 3 and is_single:
        return None
    return Finding(
        Cause.SLOW_START,
        lost,
        0.9,
        (
            figure("transfer", WINDOWS, facts.sender, rtts_per_transfer=took, rtt_ns=trip),
            figure("transfer_bytes", "flows", facts.sender, transfer_bytes=facts.asked.transfer_bytes),
        ),
        None,
        is_counted=True,
        variant="one_window" if is_single else "counted",
        values={
            "transfer_bytes": facts.asked.transfer_bytes,
            "rtts_per_transfer": took,
            "slow_start_count": needed,
            "rtt_ns": trip,
        },
    )


MAX_HELD = 0.3
"""Share of the time from which on a window or a buffer holds a transfer, and not slow start alone."""


def slow_start(facts: Facts) -> Finding | None:
    """The connection ends before its congestion window has grown (RFC 5681 section 3.1)."""
    lost = facts.sender.ratio(S.SLOW_START)
    trip = facts.windows.rtt_ns_min
    if lost < 0.2 or not trip or has_losses(facts):
        return None
    trips = facts.life_ns / trip
    if trips > 40:
        return None
    return Finding(
        Cause.SLOW_START,
        lost,
        0.9,
        (
            state_evidence(facts.sender, "sender", S.SLOW_START),
            figure("transfer", WINDOWS, facts.sender, rtts_per_transfer=trips, rtt_ns=trip),
        ),
        gain.of_share(facts, lost, by_line=True),
        values={"rtts_per_transfer": trips},
    )
