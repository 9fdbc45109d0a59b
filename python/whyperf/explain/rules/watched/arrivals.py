"""Arrivals show a receiver of the path, though the sender was not watched: its queue, and its losses.

Two figures are the path's, whatever the sender's program does. The round trip that receive autotuning measures (RFC
7323 section 4, tcpi_rcv_rtt) has the queue in it, if the sender always has more to send. And segments that come behind
a gap are lost ones, or late ones (tcpi_rcv_ooopack).
"""

from collections.abc import Iterator
from dataclasses import dataclass

from whyperf.explain.causes import Cause
from whyperf.explain.explanation import Evidence, Value
from whyperf.explain.rules.finding import BUSY, WINDOWS, Finding, figure, is_on_cpu
from whyperf.explain.rules.gain import NEIGHBOR_RTT_NS, SUPER_SEGMENT_BYTES
from whyperf.explain.rules.watched.exchanges import is_alternating
from whyperf.explain.rules.watched.open import left_open
from whyperf.explain.rules.watched.threads import doing
from whyperf.explain.trial_facts import Facts
from whyperf.explain.watched_facts import WatchedSockets, WindowShape

TIMESTAMP_NS = 2_000_000
"""Timestamps count ms, and the first and the last of a measured time are rounded."""
MIN_GROWTH = 1.3
"""The usual round trip over the smallest, from which on a queue stands."""
MAX_QUEUE_NS = 250_000_000
"""Queues are rarely longer (Villamizar and Song, SIGCOMM CCR 1994): beyond that, ACKs may be what waits."""
MIN_FLIGHT_SEGMENTS = 10
"""Segments that come in a round trip, below which the round trip may be the time between two writes, or bursts."""
EVEN_SPREAD, VARYING_SPREAD = 0.1, 0.3
"""Spread of the rate from sample to sample where a full link sets it, and from which on something else does."""
MIN_LATE_RATIO = 0.002
"""Segments behind a gap, over all, from which on losses or reordering may be what keeps windows small."""
MIN_LATE_PER_TRIP, MAX_LATE_PER_TRIP = 0.3, 8.0
"""Segments behind a gap in a round trip. A window of W segments that is halved at each loss has one in W / 2 round
trips, and up to W segments come behind it (RFC 5681 section 3.1): about 2. With fewer, losses are too rare to hold the
window; with more, the sender does not take them for losses."""


@dataclass(frozen=True)
class Arrivals:
    """The way that payload comes.

    Attributes:
        base_ns: the smallest round trip, and `usual_ns` the usual one.
        is_grown: whether a queue makes it longer; None where it is not known.
        per_trip: full segments that come in the smallest round trip.
        late_ratio: segments behind a gap, over all.
    """

    base_ns: int | None
    usual_ns: int | None
    is_grown: bool | None
    per_trip: float | None
    late_ratio: float

    @property
    def late_per_trip(self) -> float | None:
        """Segments behind a gap in a round trip."""
        return None if self.per_trip is None else self.late_ratio * self.per_trip


def arrivals(facts: Facts) -> Arrivals:
    """The way that payload comes at a receiver that was watched alone."""
    seen = facts.receiver.watched or WatchedSockets()
    handshake, low, usual = facts.windows.rtt_ns_min, seen.receive_rtt_ns_low, seen.receive_rtt_ns
    # A first sample may be that of a later time than the handshake, when a queue stood already.
    base = min((value for value in (handshake, low) if value), default=None)
    is_grown = None
    if handshake and low:
        is_grown = low >= MIN_GROWTH * handshake and low >= handshake + TIMESTAMP_NS
    full = seen.full_bytes or facts.receiver.sockets.mss_bytes
    per_trip = facts.rate_bps * base / 8e9 / full if facts.rate_bps and base and full else None
    late = seen.late_ratio if seen.late_ratio is not None else facts.segments.out_of_order_ratio
    return Arrivals(base, usual, is_grown, per_trip, late or 0.0)


def is_read(facts: Facts) -> bool:
    """True where the receiver alone was watched, its program reads in time, no CPU of its own is the limit, and payload
    comes without pauses."""
    seen = facts.receiver.watched or WatchedSockets()
    if facts.watched_sides != "receiver" or is_alternating(facts) or is_on_cpu(facts):
        return False
    if (seen.quiet_ratio or 0.0) >= MAX_QUIET:
        # The sender pauses: its program does, or its timer.
        return False
    return (seen.pressed_ratio or 0.0) <= MAX_PRESSED and not is_left_unread(facts)


MAX_QUIET = 0.1
"""Part of the samples that find no payload for three round trips, from which on the sender pauses."""
MAX_PRESSED = 0.1
"""Part of the samples in which unread payload takes up the window up to which a program reads in time."""


def is_left_unread(facts: Facts) -> bool:
    """True where the program sleeps while payload waits: then ACKs wait for it, and the sender for ACKs."""
    seen = facts.receiver.watched or WatchedSockets()
    return (seen.unread_ratio or 0.0) >= MIN_UNREAD and doing(facts.receiver) == "sleeps"


MIN_UNREAD = 0.3
"""Part of the samples in which payload waits to be read."""


def _standing_queue(facts: Facts) -> Arrivals | None:
    """Arrivals where a queue always stands on the path, and keeps the rate about even; None otherwise."""
    seen, came = facts.receiver.watched or WatchedSockets(), arrivals(facts)
    usual, full = came.usual_ns or 0, seen.full_bytes or 0
    if not came.base_ns or came.base_ns < NEIGHBOR_RTT_NS or not came.is_grown:
        # Between neighbors a burst, or a host that is late, makes round trips as long.
        return None
    if not is_read(facts) or seen.are_full is False or not facts.rate_bps or seen.silent_ratio:
        return None
    if seen.rate_spread is None or seen.rate_spread > VARYING_SPREAD:
        return None
    least = max(2 * _burst_bytes(facts.rate_bps, came.base_ns), MIN_FLIGHT_SEGMENTS * full)
    return came if facts.rate_bps * usual / 8e9 >= least else None


def path_full(facts: Facts) -> Finding | None:
    """A queue always stands, and what comes through it comes at an even rate: that of a full link."""
    came, spread = _standing_queue(facts), (facts.receiver.watched or WatchedSockets()).rate_spread or 0.0
    if came is None:
        return None
    usual, base, rate = came.usual_ns or 0, came.base_ns or 0, facts.rate_bps or 0.0
    evidence = tuple(_of_queue(facts, came))
    values: dict[str, Value | None] = {
        "rate_bps": rate, "rtt_ns_median": usual, "rtt_ns_min": base, "spread_ratio": spread
    }  # fmt: skip
    if usual > MAX_QUEUE_NS and usual > 2 * base:
        return left_open("long_queue", 0.9, (Cause.ACK_PATH, Cause.BOTTLENECK, Cause.SHARED_BOTTLENECK), evidence,
                         facts, **values)  # fmt: skip
    if spread > EVEN_SPREAD:
        causes = (Cause.SHARED_BOTTLENECK, Cause.BOTTLENECK, Cause.ACK_PATH)
        return left_open("uneven_queue", 0.9, causes, evidence, facts, **values)
    return Finding(
        Cause.BOTTLENECK,
        0.9,
        0.8,
        evidence,
        None,
        {"line_bps": rate},
        is_counted=True,
        variant="arrivals",
        values=values,
    )


def _burst_bytes(rate_bps: float, trip_ns: int) -> float:
    """Bytes that a sender may send at once: a ms of its rate, and more where the path is short (tcp_tso_autosize,
    net/ipv4/tcp_output.c). The time from one burst to the next is no queue's."""
    shift = min(30, trip_ns // TSO_TRIP_NS)
    return rate_bps / 8e3 + (SUPER_SEGMENT_BYTES >> shift)


TSO_TRIP_NS = 512_000
"""Each such part of the smallest round trip halves what is added (net.ipv4.tcp_tso_rtt_log)."""


def _of_queue(facts: Facts, came: Arrivals) -> Iterator[Evidence]:
    seen = facts.receiver.watched or WatchedSockets()
    yield figure("queued_arrivals", WINDOWS, facts.receiver, rtt_ns_median=came.usual_ns, rtt_ns_min=came.base_ns)
    yield figure("even_rate", "tcp_info", facts.receiver, spread_ratio=seen.rate_spread)
    yield from of_sizes(facts)


def of_sizes(facts: Facts) -> Iterator[Evidence]:
    """Evidence of how large the segments are that come."""
    seen = facts.receiver.watched or WatchedSockets()
    if seen.segment_bytes is not None and seen.full_bytes:
        yield figure("arrived_sizes", WINDOWS, facts.receiver, segment_bytes=seen.segment_bytes,
                     full_bytes=seen.full_bytes)  # fmt: skip


def path_loss(facts: Facts) -> Finding | None:
    """Segments are lost so often that the sender's window stays small, and no queue stands."""
    seen, came = facts.receiver.watched or WatchedSockets(), arrivals(facts)
    per_trip, window = came.late_per_trip, seen.own_window.median_bytes
    if not is_read(facts) or came.late_ratio < MIN_LATE_RATIO or per_trip is None or not came.per_trip:
        return None
    if (came.base_ns or 0) < NEIGHBOR_RTT_NS or seen.silent_ratio is None:
        return None
    flight = came.per_trip * (seen.full_bytes or 0)
    if window and flight > MAX_WINDOW_USE * window:
        return None
    kinds = (Cause.RANDOM_LOSS, Cause.BURST_LOSS, Cause.SMALL_QUEUE, Cause.POLICER, Cause.RECEIVER_LOSS)
    evidence = (
        figure("late", "tcp_info", facts.receiver, late_ratio=came.late_ratio),
        figure("late_per_trip", "tcp_info", facts.receiver, late_segments=per_trip, trip_segments=came.per_trip),
        *_of_trip(facts, came),
    )
    values: dict[str, Value | None] = {"late_ratio": came.late_ratio, "trip_segments": came.per_trip}
    if not MIN_LATE_PER_TRIP <= per_trip <= MAX_LATE_PER_TRIP:
        return None
    if came.is_grown:
        causes = (Cause.BOTTLENECK, Cause.SHARED_BOTTLENECK, *kinds, Cause.REORDERING)
        return left_open("late", 0.9, causes, evidence, facts, **values)
    return Finding(
        Cause.PATH_LOSS,
        0.9,
        0.8,
        evidence,
        is_counted=True,
        variant="arrivals",
        values={**values, "causes": [str(cause) for cause in kinds]},
    )


MAX_WINDOW_USE = 0.7
"""Part of the announced window that comes in a round trip, from which on the window itself may be the limit."""


def _of_trip(facts: Facts, came: Arrivals) -> Iterator[Evidence]:
    if came.usual_ns and came.base_ns:
        yield figure("queued_arrivals", WINDOWS, facts.receiver, rtt_ns_median=came.usual_ns, rtt_ns_min=came.base_ns)


def held_acks(facts: Facts) -> Finding | None:
    """By the receiver's log: payload comes as soon as the timer lets an ACK go. A segment that is not full waits for an
    ACK by Nagle's rule only (RFC 896)."""
    lost, size, mss = facts.segments.held_ratio or 0.0, facts.segments.released_bytes, facts.receiver.sockets.mss_bytes
    if facts.watched_sides != "receiver" or lost < MIN_HELD or size is None or not mss or is_left_unread(facts):
        # With unread payload an ACK waits for the program, and the timer is the last resort.
        return None
    late = facts.segments.ack_reasons.get("delayed_timer", 0.0)
    is_short = size < mss
    return Finding(
        Cause.NAGLE_DELAYED_ACK if is_short else Cause.DELAYED_ACK,
        lost,
        0.9,
        (
            figure("timer_acks", "segments", facts.receiver, timer_ratio=late),
            figure("timer_held", "segments", facts.receiver, held_ratio=lost),
            figure("released", "segments", facts.receiver, released_bytes=size, mss_bytes=mss),
        ),
    )


MIN_HELD = 0.1
"""Share of the time that the timer held back an ACK, and the sender."""


def is_held_small(seen: WatchedSockets, window: WindowShape) -> bool:
    """True where segments are held to much less than the path's MTU allows, by something else than their `window`.

    A segment is no larger than half of the largest window (tcp_bound_to_half_wnd, include/net/tcp.h).
    """
    if not seen.mss_bytes or not seen.pmtu_bytes:
        return False
    if window.high_bytes and 2 * seen.mss_bytes >= HALF_OF_WINDOW * window.high_bytes:
        return False
    return seen.mss_bytes <= MAX_MSS_RATIO * (seen.pmtu_bytes - HEADERS_BYTES)


def small_segments(facts: Facts) -> Finding | None:
    """Such segments between neighbors, and a host that has to process many of them."""
    end = facts.receiver if facts.watched_sides == "receiver" else facts.sender
    seen, trip = end.watched or WatchedSockets(), facts.windows.rtt_ns_min
    mss, pmtu = seen.mss_bytes, seen.pmtu_bytes
    window = seen.own_window if end is facts.receiver else seen.peer_window
    if not is_held_small(seen, window) or not mss or not pmtu or not facts.rate_bps:
        return None
    if not trip or trip >= NEIGHBOR_RTT_NS:
        return None
    if is_alternating(facts) or (facts.watched_sides == "receiver" and seen.are_full is False):
        return None
    packets = facts.rate_bps / 8 / mss
    is_busy = end is facts.sender and (end.wanted_ratio or 0.0) >= BUSY
    if packets * PACKET_NS / 1e9 < MIN_BUSY and not is_busy:
        return None
    values = {"mss_bytes": mss, "pmtu_bytes": pmtu, "packets_per_s": packets}
    return Finding(
        Cause.SMALL_MTU,
        min(0.9, 1 - mss / (pmtu - HEADERS_BYTES)),
        0.8,
        (figure("mss_of_path", WINDOWS, end, **values),),
        variant="held",
        values=values,
    )


MAX_MSS_RATIO = 0.7
"""Segment over what the path's MTU allows, below which something holds segments small: options take 40 bytes of a
header at most (RFC 9293 section 3.1)."""
HALF_OF_WINDOW = 0.9
"""Two segments over the window, from which on they are its halves: options of a header take up to 40 bytes of each."""
HEADERS_BYTES = 40
PACKET_NS, MIN_BUSY = 3_000.0, 0.3
"""Cost of a packet to a host, about (1 to 5 µs are usual), and the part of a CPU that all of them take, from which on
their number matters."""
