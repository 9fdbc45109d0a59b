"""The limits of a rate that stay when a cause is removed: what bounds the gain of one cause is what the others leave.

Time is 1 for what moves the present payload now. A limit holds the sender in one of three ways:

- *pauses* alternate with everything else: their time adds up, and it stays until they are removed;
- *flow limits* (windows, losses, queues, pacing) hold data that waits to be sent. Without the one that holds, the next
  one does: the same payload takes as long as the slowest of the others needs;
- *work* on a CPU, which the limits predict from the cost of calls and packets.

So the time that is left without some of the causes is what the payload takes at the next limit, plus the pauses that
stay, but no less than the flow limits that stay have of the time now. The gain is 1 over that time. Limits of a known
rate (`ceilings`) bound it in addition.
"""

import math
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace

from whyperf.explain.causes import Cause
from whyperf.explain.changes.commands import setter_of_buffer
from whyperf.explain.limits.gain import MAX_GAIN, NEIGHBOR_RTT_NS, WAITED, Gain, is_line_seen, is_own_rhythm
from whyperf.explain.limits.limit import PROBABLE, Limit
from whyperf.explain.limits.losses import RENO_CONSTANT
from whyperf.explain.setup import Setup
from whyperf.explain.trial_facts import Facts
from whyperf.explain.wording.catalog import statement

PAUSES = frozenset(
    {
        Cause.SLOW_WRITER,
        Cause.THINK_TIME,
        Cause.SLOW_READER,
        Cause.SENDER_CPU,
        Cause.RECEIVER_CPU,
        Cause.ROUND_TRIP,
        Cause.NAGLE_DELAYED_ACK,
        Cause.DELAYED_ACK,
        Cause.CONNECTION_SETUP,
        Cause.CPU_QUOTA,
        Cause.PAUSE,
    }
)
"""Causes whose time alternates with that of all others."""
LOSSES = frozenset({Cause.RANDOM_LOSS, Cause.BURST_LOSS})
"""Causes whose losses stay as frequent at another rate; those of a queue do not."""
FLOW = frozenset(
    {
        Cause.RECEIVE_BUFFER,
        Cause.SEND_BUFFER,
        Cause.WRITE_WINDOW_MISMATCH,
        Cause.SMALL_QUEUE,
        Cause.PATH_LOSS,
        Cause.REORDERING,
        Cause.SHARED_BOTTLENECK,
        Cause.POLICER,
        Cause.ACK_THINNING,
        Cause.ACK_PATH,
        Cause.SLOW_START,
        Cause.PACING_RATE,
        Cause.RECEIVER_LOSS,
        Cause.MEMORY_LIMIT,
        Cause.LOCAL_QUEUE,
        Cause.WINDOW_SCALING,
        *LOSSES,
    }
)
"""Causes that hold data which waits to be sent."""
WINDOWS = frozenset(
    {
        Cause.RECEIVE_BUFFER,
        Cause.SEND_BUFFER,
        Cause.WRITE_WINDOW_MISMATCH,
        Cause.MEMORY_LIMIT,
        Cause.WINDOW_SCALING,
    }
)
ON_PATH = FLOW - WINDOWS - {Cause.PACING_RATE}
"""Causes on the path: one of them may look like another, so that none of them bounds another's gain."""
ON_CPU = frozenset(
    {
        Cause.TINY_WRITES,
        Cause.READ_SIZE,
        Cause.SMALL_MTU,
        Cause.OFFLOADS_OFF,
        Cause.SHARED_CPU,
        Cause.OTHER_LOAD,
        Cause.CPU_QUOTA,
        Cause.MANY_CONNECTIONS,
        Cause.QUICK_ACK,
        Cause.SENDER_CPU,
        Cause.RECEIVER_CPU,
        Cause.PACKET_FILTERS,
        Cause.OTHER_BPF,
        Cause.CALL_CHECKS,
        Cause.SOFTWARE_CHECKSUMS,
        Cause.MEMORY_PRESSURE,
        Cause.LOCK_CONTENTION,
        Cause.MITIGATIONS,
    }
)
"""Causes that take CPU time, which is the same time for all of them."""
ALIKE = (ON_PATH, ON_CPU, WINDOWS)
REMAINING_TIME = frozenset({"remaining_time", WAITED})
"""Bases of gains that take all other time to stay."""
MIN_LEFT = 1e-3


@dataclass(frozen=True)
class Ceiling:
    """A rate over the present one that no change exceeds but that of `causes`."""

    ratio: float
    causes: frozenset[Cause]
    code: str


def time_left(removed: Sequence[Limit], found: Sequence[Limit]) -> float | None:
    """The time that the present payload takes without the `removed` causes, of all `found`; None where one of them
    predicts nothing.
    """
    if any(limit.gain is None for limit in removed):
        return None
    others = [limit for limit in found if _is_certain(limit) and not _is_alike(limit, removed)]
    free = max(0.0, 1 - sum(min(1.0, limit.share) for limit in removed))
    pauses = min(free, sum(_own_time(limit) for limit in others if limit.cause in PAUSES))
    flows = min(free - pauses, max((limit.share for limit in others if limit.cause in FLOW), default=0.0))
    left = pauses + flows
    moving = [limit for limit in removed if limit.cause not in PAUSES]
    for limit in moving or (removed if len(removed) == 1 else ()):
        assert limit.gain is not None
        adds = bool(moving) and limit.gain.basis.code not in REMAINING_TIME
        left = max(left, 1 / limit.gain.ratio + (pauses if adds else 0.0))
    if not moving and len(removed) > 1:
        left = max(left, free)
    return min(1.0, max(MIN_LEFT, left))


def _is_alike(limit: Limit, removed: Sequence[Limit]) -> bool:
    """True where it is one of those that are removed, or has the same time as one of them."""
    causes = {other.cause for other in removed}
    return limit.cause in causes or any(limit.cause in alike and causes & alike for alike in ALIKE)


def _own_time(limit: Limit) -> float:
    """The time of a pause; of a reader that comes late only what the sender waits for it."""
    waited = limit.values.get("waiting_ratio")
    if limit.cause is Cause.SLOW_READER and isinstance(waited, float):
        return min(limit.share, waited)
    return limit.share


def _is_certain(limit: Limit) -> bool:
    """True where it surely has time of its own: of candidates for the same time nobody knows which has it."""
    return limit.probability >= PROBABLE


def ceilings(facts: Facts, setup: Setup, found: Collection[Limit]) -> list[Ceiling]:
    """The limits of a known rate: windows that a program set, losses, a pacing rate, and the requested rate."""
    now = facts.goodput_bps or facts.rate_bps
    if not now:
        return []
    bounds = (
        *_windows(facts, setup, found),
        *_losses(facts, setup, found),
        *_exchanges(facts, now),
        *_paced(facts, found),
        *_asked(facts, setup),
    )
    return [replace(bound, ratio=max(1.0, bound.ratio / now)) for bound in bounds]


def _windows(facts: Facts, setup: Setup, found: Collection[Limit]) -> Iterator[Ceiling]:
    """Window over round trip: what was in flight at most where a window held the sender, else what a program set.

    A window that the kernel sizes grows with the rate. A send buffer takes one packet more than it holds
    (sk_stream_memory_free, include/net/sock.h), which is another 64 KiB at most.
    """
    trip, flight = facts.windows.rtt_ns_min, facts.windows.flight_bytes_max or 0
    if not trip or trip < NEIGHBOR_RTT_NS:
        return
    if flight and any(limit.cause in WINDOWS and _is_certain(limit) for limit in found):
        yield Ceiling(8e9 * flight * facts.connections / trip, WINDOWS, "set_window")
        return
    buffer = facts.sender.sockets.buffer_bytes
    sides = (
        ("receive_buffer_bytes", facts.windows.announced_bytes_max, 0),
        ("send_buffer_bytes", max(flight, buffer) if buffer else None, MAX_PACKET_BYTES),
    )
    for name, held_bytes, more_bytes in sides:
        if setter_of_buffer(name, setup) and held_bytes and not facts.is_turned:
            yield Ceiling(8e9 * (held_bytes + more_bytes) * facts.connections / trip, WINDOWS, "set_window")


MAX_PACKET_BYTES = 65_536
CUBIC_CONSTANT = 1.054
"""Of CUBIC's mean window, 1.054 * RTT^0.75 / p^0.75 with C = 0.4 and beta = 0.7 (RFC 9438 section 5.1)."""
MIN_LOSSES = 3
"""Fewer say nothing about how often losses come."""


def loss_window(loss_ratio: float, rtt_s: float, control: str) -> float | None:
    """The mean congestion window in segments at such a loss ratio; None for a control that losses do not bound."""
    if loss_ratio <= 0 or control.startswith("bbr"):
        return None
    reno = RENO_CONSTANT / math.sqrt(loss_ratio)
    if control == "reno":
        return reno
    return max(reno, CUBIC_CONSTANT * math.pow(rtt_s / loss_ratio, 0.75))


def _losses(facts: Facts, setup: Setup, found: Collection[Limit]) -> Iterator[Ceiling]:
    segments, trip = facts.segments, facts.windows.rtt_ns_median or facts.windows.rtt_ns_min
    if not any(limit.cause in LOSSES and _is_certain(limit) for limit in found) or not trip:
        return
    events, sent = segments.losses.events or 0, segments.data_segments or 0
    mss = facts.sender.sockets.mss_bytes or segments.segment_bytes_mean
    if events < MIN_LOSSES or not sent or not mss:
        return
    window = loss_window(events / sent, trip / 1e9, str(setup.level("congestion_control")))
    if window is not None:
        stays = LOSSES | {Cause.SMALL_QUEUE, Cause.REORDERING, Cause.RECEIVER_LOSS}
        yield Ceiling(8e9 * window * mss * facts.connections / trip, stays, "loss_rate")


def _exchanges(facts: Facts, now: float) -> Iterator[Ceiling]:
    """Where a request waits for the answer to the one before: each takes a round trip, and its time on the line."""
    trip, segments, exchanges = facts.windows.rtt_ns_min or 0, facts.segments, facts.exchanges
    cycle_ns = None
    if facts.level == "segments" and (segments.data_back_packets or 0) >= MIN_ANSWERS:
        cycle_ns = segments.cycle.cycle_ns if segments.cycle.waiting_ratio >= MIN_WAITING else None
    elif facts.level != "segments" and exchanges is not None and exchanges.per_s > 0:
        cycle_ns = 1e9 * facts.connections / exchanges.per_s
    if trip < NEIGHBOR_RTT_NS or not cycle_ns or cycle_ns < trip:
        return
    line = segments.bottleneck.bps if is_line_seen(facts) and not is_own_rhythm(facts) else None
    moving_ns = now * cycle_ns / line if line else 0.0
    yield Ceiling(now * cycle_ns / (trip + moving_ns), frozenset({Cause.ROUND_TRIP}), "one_exchange")


MIN_ANSWERS = 5
MIN_WAITING = 0.1
"""Share of the time that a sender waits for answers, from which on it sends one request after the other."""


def _paced(facts: Facts, found: Collection[Limit]) -> Iterator[Ceiling]:
    pacing = facts.segments.pacing.bps
    if pacing and any(limit.cause is Cause.PACING_RATE for limit in found):
        yield Ceiling(pacing * facts.connections, frozenset({Cause.PACING_RATE}), "pacing")


def _asked(facts: Facts, setup: Setup) -> Iterator[Ceiling]:
    """Rate that the user asked the sender to write: whoever sets a rate knows it."""
    rate = setup.level("write_rate_bps")
    if isinstance(rate, int) and rate > 0:
        yield Ceiling(
            float(rate * facts.connections),
            frozenset({Cause.SLOW_WRITER, Cause.THINK_TIME, Cause.ASKED_RATE}),
            "asked_rate",
        )


def without(removed: Sequence[Limit], found: Sequence[Limit], known: Sequence[Ceiling], facts: Facts) -> Gain | None:
    """Gain of removing causes together, as far as the other causes and the known limits let it come."""
    left = time_left(removed, found)
    if left is None:
        return None
    if (computing := _computing(removed, found)) > 0:
        # Whether the thread computes for each call or for each byte, nothing shows.
        least, most = 1 / min(1.0, left + computing), 1 / left
        return Gain(math.sqrt(least * most), least, most, statement("calls_or_computing"))
    if not CALLS.isdisjoint(limit.cause for limit in removed) and _has_full_single_packets(facts):
        # Larger calls leave the packets as they are, unless offloads put them together.
        return Gain(math.sqrt(1 / left), 1.0, 1 / left, statement("packets_stay"))
    moving = [limit for limit in removed if limit.cause not in PAUSES] or removed
    first = min((limit.gain for limit in moving if limit.gain is not None), key=lambda gain: gain.ratio)
    ratio, basis, causes = 1 / left, first.basis, {limit.cause for limit in removed}
    if len(removed) == 1 and ratio < SAME * first.ratio:
        basis = statement("other_causes")
    tops = [ceiling for ceiling in known if not causes & ceiling.causes]
    top = min(tops, key=lambda ceiling: ceiling.ratio, default=None)
    if top is not None and top.ratio < ratio:
        ratio, basis = top.ratio, statement(top.code)
    if not causes.isdisjoint(FLOW) and _has_unseen_link(facts) and first.basis.code not in LINKS:
        return Gain(ratio, min(first.low, ratio), ratio * HOST_SPREAD, statement("unseen_link"))
    if basis is first.basis and len(removed) == 1:
        return first
    scale = ratio / first.ratio
    most = max(ratio, first.most) if len(removed) == 1 else MAX_GAIN
    return Gain(ratio, max(1.0, first.low * scale), max(1.0, first.high * scale), basis, most)


def _has_unseen_link(facts: Facts) -> bool:
    """True where a path's bottleneck comes before the hosts, and nothing shows its rate."""
    return (facts.windows.rtt_ns_min or 0) >= NEIGHBOR_RTT_NS


LINKS = frozenset({"full_link", "seen_link"})
HOST_SPREAD = 1.5
"""Factor by which hosts may carry more than their CPU time shows."""


def _has_full_single_packets(facts: Facts) -> bool:
    """True where small calls fill segments already, and each segment leaves TCP by itself."""
    segments, mss = facts.segments, facts.sender.sockets.mss_bytes
    if not mss or not segments.segment_bytes_mean or segments.sent_segments_per_packet is None:
        return False
    is_full = segments.segment_bytes_mean >= FULL_SEGMENT_RATIO * mss
    return is_full and segments.sent_segments_per_packet < MAX_SINGLE_SEGMENTS


FULL_SEGMENT_RATIO = 0.9
MAX_SINGLE_SEGMENTS = 1.05


def _computing(removed: Sequence[Limit], found: Sequence[Limit]) -> float:
    """The time that the application computes between small calls, where these go and it stays."""
    causes = {limit.cause for limit in removed}
    if not causes & CALLS or causes & COMPUTING:
        return 0.0
    return max((limit.share for limit in found if limit.cause in COMPUTING and _is_certain(limit)), default=0.0)


CALLS = frozenset({Cause.TINY_WRITES, Cause.READ_SIZE})
COMPUTING = frozenset({Cause.SENDER_CPU, Cause.RECEIVER_CPU})
SAME = 0.95
"""A gain of which other causes take no more than the rest is as it was."""
