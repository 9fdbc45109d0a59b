"""Full windows and buffers of other programs: who keeps them full.

Linux never takes back what it has announced. A receiver whose program reads all that arrives announces the same window
again and again; unread payload makes it smaller. So the shape of the peer's window over time shows the sender whether a
buffer is small or a reader is late, as long as there are samples of large and of small ones.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from whyperf.explain.causes import Cause
from whyperf.explain.explanation import Evidence, Value
from whyperf.explain.host_facts import HostFacts
from whyperf.explain.rules import gain
from whyperf.explain.rules.buffers import LARGE_BUFFER_BYTES, flight_of
from whyperf.explain.rules.finding import WINDOWS, Finding, clipped, figure, is_on_cpu, state_evidence
from whyperf.explain.rules.gain import NEIGHBOR_RTT_NS
from whyperf.explain.rules.host_limits import FULLY_OPEN, MAX_UNSCALED_BYTES, is_unscaled
from whyperf.explain.rules.path import path_wait
from whyperf.explain.rules.watched.arrivals import arrivals
from whyperf.explain.rules.watched.exchanges import is_alternating
from whyperf.explain.rules.watched.open import AT_READER, left_open
from whyperf.explain.rules.watched.threads import MIN_COMPUTING, MIN_WITHHELD, doing, is_costly
from whyperf.explain.states import ReceiverState as R
from whyperf.explain.states import SenderState as S
from whyperf.explain.trial_facts import Facts
from whyperf.explain.watched_facts import WatchedSockets, WindowShape

READER = "watched.reader"
MIN_LOST = 0.1
CLOSED_RATIO = 0.5
"""Part of the largest window below which unread payload has taken the rest."""
MIN_SEGMENTS = 2
"""Segments that a steady window holds at least: what is smaller may be closed all the time."""
MIN_SAMPLES = 5
ONE_READ_BYTES = 65_536
"""The most that a packet has (GSO_LEGACY_MAX_SIZE, include/linux/netdevice.h): a read call of a usual size takes it."""
READ_ALL, MIN_UNREAD = 0.1, 0.3
"""Part of the samples in which unread payload takes up the window up to which a program reads in time; and part of
those with any, from which on it is behind."""


def small_window(facts: Facts) -> Finding | None:
    """The receiver's window is full, and always the same."""
    seen, lost = _sockets(facts.sender), _window_share(facts)
    shape = seen.peer_window
    if lost < MIN_LOST or is_unscaled(facts) or not _is_steady(facts, shape, seen) or _is_reader_behind(facts):
        return None
    if may_be_other_cpu(facts, shape.high_bytes):
        return None
    evidence = [
        state_evidence(facts.sender, "sender", *_full_states(facts)),
        _peer_window(facts, shape),
    ]
    is_far = (facts.windows.rtt_ns_min or 0) >= NEIGHBOR_RTT_NS
    if facts.watched_sides == "sender" and is_far and (facts.windows.rtt_growth or 1.0) >= MIN_QUEUE_GROWTH:
        # A window that is full before a queue: without it the path may carry no more.
        causes = (Cause.RECEIVE_BUFFER, Cause.SHARED_BOTTLENECK, Cause.BOTTLENECK)
        values = {"window_bytes": shape.median_bytes, "rtt_ns_min": facts.windows.rtt_ns_min}
        return left_open("window_in_queue", lost, causes, evidence, facts, **values)
    if facts.windows.rtt_ns_median is not None:
        evidence.append(figure("rtt", WINDOWS, facts.sender, rtt_ns=facts.windows.rtt_ns_median))
    return Finding(
        Cause.RECEIVE_BUFFER,
        lost,
        0.8 if facts.watched_sides == "sender" else 0.9,
        tuple(evidence),
        gain.of_window(facts, lost, shape.high_bytes),
        {"window_bytes": (shape.high_bytes or 0) / max(0.05, 1 - lost)},
        variant="steady",
        values={"window_bytes": shape.median_bytes},
    )


def unread_window(facts: Facts) -> Finding | None:
    """The receiver's window is full, and it is not always the same, or too small to show that."""
    seen, lost = _sockets(facts.sender), _window_share(facts)
    shape = seen.peer_window
    if lost < MIN_LOST or is_unscaled(facts) or reader_behind(facts) is not None:
        return None
    is_small = _is_steady(facts, shape, seen) and not may_be_other_cpu(facts, shape.high_bytes)
    if is_small and not _is_reader_behind(facts):
        return None
    evidence = (state_evidence(facts.sender, "sender", *_full_states(facts)), _peer_window(facts, shape))
    values = {"waiting_ratio": lost, "window_bytes": shape.median_bytes, "largest_bytes": shape.high_bytes}
    if _is_closed(facts, shape) or _is_reader_behind(facts):
        return left_open("reader", lost, AT_READER, evidence, facts, **values)
    return left_open("window", lost, (Cause.RECEIVE_BUFFER, *AT_READER), evidence, facts, **values)


def may_be_other_cpu(facts: Facts, held_bytes: int | None) -> bool:
    """True if so much is held between neighbors that it may be the other host's CPU which is late, and nobody saw
    that."""
    is_near = (facts.windows.rtt_ns_min or 0) < NEIGHBOR_RTT_NS
    return facts.watched_sides == "sender" and is_near and (held_bytes or 0) >= LARGE_BUFFER_BYTES


def _sockets(end: HostFacts) -> WatchedSockets:
    return end.watched or WatchedSockets()


def _full_states(facts: Facts) -> tuple[S, ...]:
    """The states of a full window that are there."""
    found = tuple(state for state in (S.RECEIVE_WINDOW, S.ZERO_WINDOW) if facts.sender.ratio(state))
    return found or (S.RECEIVE_WINDOW,)


def _window_share(facts: Facts) -> float:
    return clipped(facts.sender.ratio(S.RECEIVE_WINDOW, S.ZERO_WINDOW)) if facts.sender.ratio(S.RECEIVE_WINDOW) else (
        facts.sender.ratio(S.ZERO_WINDOW) if facts.watched_sides == "sender" else 0.0
    )  # fmt: skip


def _is_steady(facts: Facts, shape: WindowShape, seen: WatchedSockets) -> bool:
    """True where the window was always the same while data waited for it."""
    mss = facts.sender.sockets.mss_bytes or 0
    is_wide = (shape.low_bytes or 0) >= MIN_SEGMENTS * mss
    return seen.samples >= MIN_SAMPLES and is_wide and shape.is_steady(mss)


def _is_closed(facts: Facts, shape: WindowShape) -> bool:
    """True where the usual window is much smaller than one that was announced as well, or than a segment."""
    if shape.median_bytes is None or not shape.high_bytes:
        return False
    mss = facts.sender.sockets.mss_bytes or 0
    is_shrunk = shape.high_bytes >= 2 * MIN_SEGMENTS * mss and shape.median_bytes < CLOSED_RATIO * shape.high_bytes
    return is_shrunk or shape.median_bytes < mss


def _is_reader_behind(facts: Facts) -> bool:
    """True where samples of the receiver's queue show that payload waits to be read; not known without them."""
    is_unread = (_sockets(facts.receiver).unread_ratio or 0.0) >= MIN_UNREAD
    return is_unread and sender_waits(facts) >= MIN_LOST and not is_emptied_at_once(facts)


def sender_waits(facts: Facts) -> float:
    """The part of the time in which the sender's busiest thread neither runs nor waits for a CPU, all of it where
    nobody sees it: no reader, however late, holds a sender for longer.
    """
    cpu = facts.sender.processors
    if cpu.thread_ratio is None:
        return 1.0
    return clipped(1 - cpu.thread_ratio - max(cpu.withheld_ratio or 0.0, cpu.run_queue_ratio or 0.0))


def is_emptied_at_once(facts: Facts) -> bool:
    """True where the program set a receive buffer that one read empties, and does nothing but read: what waits there
    has just come. The buffer is as small as a packet, or the same window is announced again and again.
    """
    seen = _sockets(facts.receiver)
    is_reading = doing(facts.receiver) != "sleeps" and (facts.receiver.processors.own_user_ratio or 0.0) < MIN_COMPUTING
    is_small = 0 < (seen.own_window.high_bytes or 0) <= ONE_READ_BYTES
    is_steady = seen.own_window.is_steady(0) and seen.samples >= MIN_SAMPLES
    return bool(seen.receive_buffer_fixed) and (is_small or is_steady) and is_reading


def _peer_window(facts: Facts, shape: WindowShape) -> Evidence:
    return figure(
        "peer_window",
        WINDOWS,
        facts.sender,
        window_bytes=shape.median_bytes or 0,
        low_bytes=shape.low_bytes,
        largest_bytes=shape.high_bytes,
    )


def reader_behind(facts: Facts) -> Finding | None:
    """Payload waits to be read, and takes up the window: by samples of the receiver's queue."""
    seen = _sockets(facts.receiver)
    lost = min(seen.pressed_ratio or 0.0, seen.unread_ratio or 0.0, sender_waits(facts))
    if lost < MIN_LOST or is_emptied_at_once(facts):
        return None
    evidence = (*_unread(facts, seen), *_thread(facts.receiver))
    if lost < MIN_PRESSED and (seen.own_window.high_bytes or 0) < LARGE_WINDOW_BYTES:
        # What comes within a round trip fills a small buffer until it is read, however soon that is.
        return left_open("own_small", lost, (Cause.RECEIVE_BUFFER, *AT_READER), evidence, facts, waiting_ratio=lost)
    return _late_reader(facts, seen, lost, evidence)


def _late_reader(facts: Facts, seen: WatchedSockets, lost: float, evidence: tuple[Evidence, ...]) -> Finding | None:
    """Why a program does not read what waits, by what its threads do."""
    did = doing(facts.receiver)
    if did is None:
        # Of a program of another user nobody sees whether it computes, sleeps or lacks a CPU.
        return left_open("own_reader", lost, AT_READER, evidence, facts, waiting_ratio=lost)
    cpu = facts.receiver.processors
    if did == "runs":
        is_computing = (cpu.own_user_ratio or 0.0) >= MIN_COMPUTING
        if not is_computing and not is_costly(facts, facts.receiver):
            # It does nothing but read, in large calls: that is what its CPU can do.
            return None
        return Finding(Cause.RECEIVER_CPU, lost, 0.85, evidence, gain.of_share(facts, lost),
                       variant="behind" if is_computing else "busy",
                       values={"waiting_ratio": lost, "thread_ratio": cpu.thread_ratio})  # fmt: skip
    if did == "waits":
        others = cpu.other_ratio or 0.0
        values: dict[str, Value | None] = {
            "role": "receiver",
            "waited_ratio": cpu.withheld_ratio,
            "other_ratio": others,
            "steal_ratio": cpu.steal_ratio,
        }
        why = "programs" if others >= MIN_WITHHELD / 2 else "quota"
        return Finding(Cause.OTHER_LOAD, lost, 0.85, evidence, gain.of_share(facts, lost), is_counted=True,
                       variant=f"withheld.{why}", values=values)  # fmt: skip
    return Finding(
        Cause.SLOW_READER,
        lost,
        0.9,
        evidence,
        gain.of_ends(facts, behind=True),
        is_counted=True,
        variant="behind",
        values={"waiting_ratio": lost, "unread_bytes": seen.unread_bytes},
    )


def late_reads(facts: Facts) -> Finding | None:
    """A program sleeps while payload waits, and most ACKs wait for its reads; the window stays open.

    An ACK leaves for every second segment only if the window need not shrink for what is unread (__tcp_ack_snd_check,
    net/ipv4/tcp_input.c). So a small congestion window waits for the reader as a small receive window would.
    """
    seen, by_reads = _sockets(facts.receiver), facts.segments.ack_reasons.get("read_call", 0.0)
    # Of a sender that waits for nothing, and of payload that came just before a sample, nobody is late.
    held = path_wait(facts) if facts.watched_sides == "both" else facts.receiver.ratio(*HELD_BACK)
    lost = min(seen.unread_ratio or 0.0, held, sender_waits(facts))
    if lost < MIN_UNREAD or by_reads < MIN_BY_READS or doing(facts.receiver) != "sleeps" or is_alternating(facts):
        return None
    if reader_behind(facts) is not None:
        return None
    return Finding(
        Cause.SLOW_READER,
        lost,
        0.85,
        (
            *_unread(facts, seen),
            *_thread(facts.receiver),
            figure("read_acks", "segments", facts.receiver, read_ratio=by_reads),
        ),
        gain.of_ends(facts, behind=True),
        is_counted=True,
        variant="acks",
        values={"unread_bytes": seen.unread_bytes, "read_ratio": by_reads},
    )


HELD_BACK = (R.DELAYED_ACK, R.NOT_READING, R.UNREAD)
MIN_BY_READS = 0.5
"""Part of the ACKs that read calls send, from which on the sender waits for these."""


MIN_PRESSED, LARGE_WINDOW_BYTES = 0.5, 131_072
"""Part of the samples in which unread payload takes up a window, from which on it does so in one that is small, too.
The kernel's own first size of a receive buffer (net.ipv4.tcp_rmem) is no small one."""


def _unread(facts: Facts, seen: WatchedSockets) -> Iterator[Evidence]:
    yield figure(
        "unread",
        "sockets",
        facts.receiver,
        unread_ratio=seen.unread_ratio,
        unread_bytes=seen.unread_bytes,
        pressed_ratio=seen.pressed_ratio,
    )
    if facts.receiver.shares:
        yield state_evidence(facts.receiver, "receiver", *_reading_states(facts))


def _reading_states(facts: Facts) -> tuple[R, ...]:
    return (R.UNREAD,) if facts.receiver.ratio(R.UNREAD) else (R.NOT_READING,)


def _thread(end: HostFacts) -> Iterator[Evidence]:
    if end.processors.thread_ratio is not None:
        yield figure("reader_thread", "threads", end, thread_ratio=end.processors.thread_ratio)


MIN_FLIGHT_RATIO, MIN_FULL_RATIO = 0.7, 0.85
"""Payload that comes in a round trip over the window, from which on the window may be full, and from which on it is."""
MIN_QUEUE_GROWTH = 1.3
"""The round trip that receive autotuning sees over the smallest, from which on a queue stands on the path: then the
path may be full, whatever the window is."""


@dataclass(frozen=True)
class OwnWindow:
    """A window that this side announces, always the same: `window_bytes`, and the part of it that comes in a round
    trip. `least_ratio` is by the smallest round trip, so that it is never too large.
    """

    window_bytes: int
    full_ratio: float
    least_ratio: float


def own_window(facts: Facts) -> OwnWindow | None:
    """The receiver alone: the window that its program, which reads all that comes, never closes; None where it varies,
    or between neighbors."""
    seen, shape = _sockets(facts.receiver), _sockets(facts.receiver).own_window
    least = facts.windows.rtt_ns_min
    trip = facts.windows.rtt_ns_median or least
    if facts.watched_sides != "receiver" or not trip or not facts.rate_bps or not shape.median_bytes:
        return None
    # Unread payload would make the announced window smaller.
    if (seen.pressed_ratio or 0.0) > READ_ALL or trip < NEIGHBOR_RTT_NS or seen.samples < MIN_SAMPLES:
        return None
    if not shape.is_steady(facts.receiver.sockets.mss_bytes or 0) or is_on_cpu(facts) or is_alternating(facts):
        return None
    # The kernel keeps the window that it would announce; without scaling no larger one can be.
    most = MAX_UNSCALED_BYTES if facts.windows.window_scaling is False else shape.median_bytes
    window = min(shape.median_bytes, most)
    each = facts.rate_bps / 8e9 / window
    return OwnWindow(window, each * trip, each * (least or 0))


def own_buffer(facts: Facts) -> Finding | None:
    """The receiver alone: its program reads all that comes, and a full window comes in each round trip."""
    seen, found = _sockets(facts.receiver), own_window(facts)
    if found is None or found.full_ratio < MIN_FLIGHT_RATIO or own_scaling(facts) is not None:
        return None
    evidence = _of_own_window(facts, found)
    if seen.receive_buffer_fixed:
        evidence.append(figure("fixed_buffer", "watched", facts.receiver, option="SO_RCVBUF"))
    lost = clipped(found.full_ratio, 0.0, 0.95)
    is_queued = (facts.windows.rtt_growth or 1.0) >= MIN_QUEUE_GROWTH
    is_sure = found.least_ratio >= MIN_FLIGHT_RATIO or (found.full_ratio >= MIN_FULL_RATIO and not is_queued)
    if arrivals(facts).is_grown or not is_sure:
        causes = (Cause.RECEIVE_BUFFER, Cause.BOTTLENECK, Cause.SEND_BUFFER)
        return left_open("own_window", lost, causes, evidence, facts, window_bytes=found.window_bytes)
    return Finding(
        Cause.RECEIVE_BUFFER,
        lost,
        0.85,
        tuple(evidence),
        None,
        {"window_bytes": 4 * found.window_bytes},
        variant="own",
        values={"window_bytes": found.window_bytes},
    )


def own_scaling(facts: Facts) -> Finding | None:
    """The same where the options of the connection allow no larger window."""
    found, seen = own_window(facts), _sockets(facts.receiver)
    if found is None or facts.windows.window_scaling is not False or found.full_ratio < MIN_FLIGHT_RATIO:
        return None
    if found.window_bytes < FULLY_OPEN * MAX_UNSCALED_BYTES:
        return None
    return Finding(
        Cause.WINDOW_SCALING,
        clipped(found.full_ratio, 0.0, 0.95),
        0.85,
        (
            figure("unscaled", "tcp_options", facts.receiver, window_bytes=found.window_bytes,
                   buffer_bytes=seen.receive_buffer_bytes),
            *_of_own_window(facts, found),
        ),
        is_counted=True,
        variant="own",
        values={"window_bytes": found.window_bytes},
    )  # fmt: skip


def _of_own_window(facts: Facts, found: OwnWindow) -> list[Evidence]:
    window, shape = found.window_bytes, _sockets(facts.receiver).own_window
    return [
        figure("own_window_full", WINDOWS, facts.receiver, window_bytes=window, full_ratio=min(1.0, found.full_ratio)),
        figure("own_window_steady", WINDOWS, facts.receiver, window_bytes=window, low_bytes=shape.low_bytes),
    ]


MIN_FILLED, MIN_ROOM_TIMES = 0.5, 1.5
"""Part of the samples in which the send buffer is full, and how much larger the windows are than what is in flight."""


def filled_buffer(facts: Facts) -> Finding | None:
    """All that the send buffer holds is in flight, and the windows have room for more: by samples of the sender's
    socket.

    The kernel's own count does not show it where a buffer holds no more than two packets of 64 KB.
    """
    seen, windows = _sockets(facts.sender), facts.windows
    if is_alternating(facts):
        return None
    flight, mss = windows.flight_bytes_median or 0, facts.sender.sockets.mss_bytes or 0
    lost = seen.filled_ratio or 0.0
    if lost < MIN_FILLED or not flight or (seen.waiting_ratio or 0.0) > 1 - MIN_FILLED or is_on_cpu(facts):
        return None
    room = min((windows.cwnd_segments_median or 0) * mss, seen.peer_window.median_bytes or 0)
    if room < MIN_ROOM_TIMES * flight:
        return None
    lost = max(clipped(lost), facts.sender.ratio(S.SEND_BUFFER))
    return Finding(
        Cause.SEND_BUFFER,
        lost,
        0.85,
        (
            figure("filled_buffer", "sockets", facts.sender, filled_ratio=lost, buffer_bytes=seen.send_buffer_bytes),
            *flight_of(facts, seen.send_buffer_bytes, windows.flight_bytes_max or flight),
            *((figure("fixed_buffer", "watched", facts.sender, option="SO_SNDBUF"),) if seen.send_buffer_fixed else ()),
        ),
        gain.of_window(facts, lost, flight),
        {"buffer_bytes": (seen.send_buffer_bytes or flight) / max(0.05, 1 - lost)},
    )
