"""Buffers and windows: what may be unacknowledged at once."""

from whyperf.explain.causes import Cause
from whyperf.explain.explanation import Evidence
from whyperf.explain.rules import gain
from whyperf.explain.rules.finding import (
    APPLICATION_LIMITED_RATIO,
    FULL_RATIO,
    WINDOWS,
    Finding,
    figure,
    is_on_cpu,
    state_evidence,
)
from whyperf.explain.rules.host_limits import is_unscaled
from whyperf.explain.rules.packets import costly_packets
from whyperf.explain.states import ReceiverState as R
from whyperf.explain.states import SenderState as S
from whyperf.explain.trial_facts import ExchangeFacts, Facts

MIN_WRITES = 4
"""Writes that a window of few segments must hold, or a part of it stays empty: stop-and-go."""
LARGE_BUFFER_BYTES = 1 << 20
"""A buffer from here on fills because the other side is slow, if its CPU is the limit."""


def receive_buffer(facts: Facts) -> Finding | None:
    """The advertised window is full although the receiver has read everything."""
    lost = facts.sender.ratio(S.RECEIVE_WINDOW_BUFFER)
    window = facts.windows.announced_bytes_max
    if lost < 0.05 or is_unscaled(facts) or (is_on_cpu(facts) and (window or 0) >= LARGE_BUFFER_BYTES):
        return None
    if costly_packets(facts) is not None or is_closed(facts) or waits_for_full_receiver(facts):
        # The window is full because packets are processed late, or closed because nothing is read.
        return None
    # The largest may be one of the first, before the kernel held the window to what was asked for.
    usual = facts.windows.announced_bytes_median or window
    trip, buffer = facts.windows.rtt_ns_median, facts.receiver.sockets.buffer_bytes
    evidence = [state_evidence(facts.sender, "sender", S.RECEIVE_WINDOW_BUFFER)]
    if window is not None:
        median = None if usual == window else usual
        evidence.append(figure("max_window", WINDOWS, facts.sender, window_bytes=window, median_bytes=median))
    if buffer is not None:
        evidence.append(figure("receive_buffer", "flows", facts.receiver, buffer_bytes=buffer))
    if trip is not None:
        evidence.append(figure("rtt", WINDOWS, facts.sender, rtt_ns=trip))
    return Finding(
        Cause.RECEIVE_BUFFER,
        lost,
        0.9 if facts.level == "segments" else 0.7,
        tuple(evidence),
        gain.of_window(facts, lost, window),
        {} if window is None else {"window_bytes": window / max(0.05, 1 - lost)},
        values={"window_bytes": usual},
    )


def waits_for_full_receiver(facts: Facts) -> bool:
    """True where windows and buffers are full because the receiver's CPU is busy all the time.

    A larger window then saves nothing, except where it makes packets larger. It does not where segments are nearly full
    and no host puts several of them together.
    """
    segments, mss = facts.segments, facts.sender.sockets.mss_bytes
    if (facts.receiver.wanted_ratio or 0.0) < FULL_RATIO or not mss or not segments.segment_bytes_mean:
        return False
    if facts.receiver.devices.receive_offload or segments.segment_bytes_mean < MIN_FULL_SEGMENT * mss:
        return False
    packets = (segments.sent_segments_per_packet, segments.taken_segments_per_packet)
    return all(size is not None and size < MAX_SINGLE_SEGMENTS for size in packets)


MIN_FULL_SEGMENT, MAX_SINGLE_SEGMENTS = 0.8, 1.05
"""Mean payload of a segment over the largest, from which on larger segments save little; segments of a packet up to
which no host puts any together."""
MAX_CLOSED_SEGMENTS, MIN_OPEN_SEGMENTS = 2, 20
"""Segments that the median announced window holds at most, and the largest at least, where unread payload has closed
it: an application that reads at once leaves it as large as it was."""


def is_closed(facts: Facts) -> bool:
    """True if samples show that the window is closed most of the time, though it was large: the buffer has room for it,
    and unread payload fills it.
    """
    usual, largest = facts.windows.announced_bytes_median, facts.windows.announced_bytes_max
    mss = facts.sender.sockets.mss_bytes
    if facts.level == "segments" or usual is None or not largest or not mss:
        return False
    if usual <= MAX_CLOSED_SEGMENTS * mss and largest >= MIN_OPEN_SEGMENTS * mss:
        return True
    # A reader that has a CPU to itself and is no faster closes windows, too.
    if zero_windows(facts) >= MIN_ZERO_WINDOWS and largest >= MIN_OPEN_SEGMENTS * mss and not is_on_cpu(facts):
        return True
    # Linux never takes back what it has announced: a window that shrinks is one that unread payload fills.
    clamp = facts.receiver.sockets.clamp_bytes or 0
    return usual < MAX_SHRUNK_RATIO * largest and usual < MAX_SHRUNK_RATIO * clamp


def zero_windows(facts: Facts) -> int:
    """Number of times the receiving host announced that it has no room at all, after a window."""
    return facts.receiver.limits.counts.get("TcpExtTCPToZeroWindowAdv", 0)


MIN_ZERO_WINDOWS = 10
"""Closed windows from which on a reader has let a buffer fill again and again: one that reads at once never does
(tuning set: 0 with small buffers, up to 2 with losses, 33 and more with a reader that pauses)."""
MAX_SHRUNK_RATIO = 0.25
"""Part of the largest announced window, and of what the buffer allows, below which the usual window has shrunk."""


def send_buffer(facts: Facts) -> Finding | None:
    """All that the send buffer holds is in flight, and the application waits for room."""
    lost, certainty = facts.sender.ratio(S.SEND_BUFFER), 0.9
    buffer, flight = facts.sender.sockets.buffer_bytes, facts.windows.flight_bytes_max
    if _is_filled(facts):
        lost, certainty = max(lost, facts.windows.application_limited_ratio or 0.0), 0.85
    if lost < 0.05 or (is_on_cpu(facts) and (buffer or 0) >= LARGE_BUFFER_BYTES) or waits_for_full_receiver(facts):
        return None
    evidence = [state_evidence(facts.sender, "sender", S.SEND_BUFFER)]
    if buffer is not None:
        evidence.append(figure("send_buffer", "flows", facts.sender, buffer_bytes=buffer))
    evidence += flight_of(facts, buffer, flight)
    return Finding(
        Cause.SEND_BUFFER,
        lost,
        certainty,
        tuple(evidence),
        gain.of_window(facts, lost, flight or buffer),
        {} if buffer is None else {"buffer_bytes": buffer / max(0.05, 1 - lost)},
    )


def flight_of(facts: Facts, buffer: int | None, flight: int | None) -> tuple[Evidence, ...]:
    """Bytes in flight, next to a send buffer of this size; nothing where that buffer cannot have held them.

    The size is that of one instant, and the kernel may have made the buffer larger before. A super-segment is begun
    while there is any room.
    """
    if not flight or (buffer is not None and flight > buffer + gain.SUPER_SEGMENT_BYTES):
        return ()
    return (figure("max_in_flight", WINDOWS, facts.sender, flight_bytes=flight),)


MIN_FILLED_RATIO, MIN_ROOM_TIMES = 0.8, 1.5
"""Payload under way over a send buffer that is full (tuning set: 0.9 to 4, for a packet of 64 KB always fits; other
limits up to 0.1), and how much larger the windows are then."""


def _is_filled(facts: Facts) -> bool:
    """Without a log: whether all that the send buffer holds is under way, with room in the windows, though the
    application always writes. Of buffers of up to two packets of 64 KB the kernel's own count (tcpi_sndbuf_limited)
    does not show it.
    """
    seen, own = facts.windows, facts.sender.sockets
    flight, buffer = seen.flight_bytes_median or 0, own.buffer_bytes or 0
    if facts.level == "segments" or not facts.asked.is_greedy or facts.is_turned or is_on_cpu(facts):
        return False
    room = min((seen.cwnd_segments_median or 0) * (own.mss_bytes or 0), seen.announced_bytes_median or 0)
    is_full = buffer > 0 and flight >= MIN_FILLED_RATIO * buffer and room >= MIN_ROOM_TIMES * flight
    return is_full and (seen.application_limited_ratio or 0.0) >= APPLICATION_LIMITED_RATIO


def write_window_mismatch(facts: Facts) -> Finding | None:
    """A window that holds few writes and few segments: each waits for the acknowledgment of the one before."""
    lost = facts.sender.ratio(S.RECEIVE_WINDOW_BUFFER, S.SEND_BUFFER, S.NAGLE, S.ZERO_WINDOW, S.RECEIVE_WINDOW_READER)
    window, write, mss = (
        facts.windows.announced_bytes_max,
        facts.sender.calls.bytes_mean,
        facts.sender.sockets.mss_bytes,
    )
    if lost < 0.1 or window is None or write is None or not mss or waits_for_full_receiver(facts):
        return None
    # Writes much larger than the window are cut to fit it: that is a small buffer, not a mismatch.
    fits = window / write
    if not 0.9 <= fits < MIN_WRITES or window >= 4 * mss:
        return None
    late = facts.segments.ack_reasons.get("delayed_timer", 0.0)
    phase = facts.longest_phase
    evidence = [
        state_evidence(facts.sender, "sender", S.RECEIVE_WINDOW_BUFFER, S.NAGLE, S.SEND_BUFFER),
        figure("writes_per_window", WINDOWS, facts.sender, writes_per_window=fits),
        figure("timer_acks", "segments", facts.receiver, timer_ratio=late),
    ]
    if phase is not None:
        evidence.insert(0, figure("cycle", "segments", facts.sender, cycle=phase.words, waits=phase.waits))
    return Finding(
        Cause.WRITE_WINDOW_MISMATCH,
        lost,
        0.95,
        tuple(evidence),
        gain.of_window(facts, lost, window),
        {"write_size_bytes": write, "window_bytes": 4 * max(write, mss)},
        variant="one_write" if fits < MAX_ONE_WRITE else "",
        values={"write_bytes": write, "window_bytes": window},
    )


MAX_ONE_WRITE = 1.1
"""Writes that a window holds, up to which it holds one."""


def delayed_ack(facts: Facts) -> Finding | None:
    """The sender may not go on until the receiver's timer lets its acknowledgment go (RFC 1122 section 4.2.3.2).

    An acknowledgment that an answer carries, and one of a timer that expires during a system call, has another reason
    in the log. Where these are all, the cause is missed.
    """
    lost, reasons = _held(facts), facts.segments.ack_reasons
    if lost < 0.1 or _is_nagle(facts):
        return None
    if facts.level == "segments" and reasons and not reasons.get("delayed_timer"):
        return None
    return Finding(Cause.DELAYED_ACK, lost, 0.95, _timer_evidence(facts), gain.of_share(facts, lost))


def nagle_delayed_ack(facts: Facts) -> Finding | None:
    """Nagle's rule waits for an acknowledgment that the receiver delays (RFC 896, RFC 9293 section 3.7.4)."""
    if facts.level != "segments" and facts.exchanges is not None:
        return _counted_nagle(facts, facts.exchanges)
    held = _held(facts) if _is_nagle(facts) else 0.0
    # What an application that sleeps has left over, its next write pushes.
    lost = max(min(facts.sender.ratio(S.NAGLE), 1 - (facts.sender.calls.asleep_ratio or 0.0)), held)
    if lost < 0.1:
        return None
    return Finding(
        Cause.NAGLE_DELAYED_ACK,
        lost,
        0.97 if held >= 0.1 else 0.75,
        (state_evidence(facts.sender, "sender", S.NAGLE), *_timer_evidence(facts)),
        gain.of_held_cycles(facts, _kept(facts)),
    )


DELAYED_ACK_NS = 40_000_000
"""Time by which Linux delays an acknowledgment at first, and at least (TCP_ATO_MIN, TCP_DELACK_MIN: HZ / 25)."""
TIMER_ERROR_RATIO = 0.25
"""By how much a wait may differ from that: ticks, and what else an exchange takes."""
MIN_CALLS = 2.5
"""System calls of an exchange from which on it is written in several pieces: one writes, and one reads."""


def _counted_nagle(facts: Facts, exchanges: ExchangeFacts) -> Finding | None:
    """The same without a log: exchanges that are written in pieces take as long as the timer, and neither CPU works."""
    latency, trip = exchanges.latency_ns, facts.windows.rtt_ns_min or 0
    if latency is None or facts.sender.sockets.no_delay is not False or exchanges.calls_each < MIN_CALLS:
        return None
    waited = latency - trip
    late = facts.segments.ack_reasons.get("delayed_timer")
    is_timer = abs(waited - DELAYED_ACK_NS) <= TIMER_ERROR_RATIO * DELAYED_ACK_NS
    if not is_timer or trip > DELAYED_ACK_NS / 2 or is_on_cpu(facts) or (late is not None and late < MIN_LATE):
        return None
    lost = DELAYED_ACK_NS / max(DELAYED_ACK_NS, latency)
    evidence = [figure("latency", "latencies", facts.asker, latency_ns=latency)]
    if late is not None:
        evidence.append(figure("timer_acks", "counters", facts.receiver, timer_ratio=late))
    return Finding(
        Cause.NAGLE_DELAYED_ACK,
        lost * exchanges.payload_ratio,
        0.9,
        tuple(evidence),
        gain.of_cycles(facts, 1 - lost),
        is_counted=True,
        variant="counted",
        values={"latency_ns": latency, "calls_per_exchange": exchanges.calls_each, "timer_ns": DELAYED_ACK_NS},
    )


MIN_LATE = 0.2
"""Part of the ACKs from the delayed-ACK timer from which on it is what exchanges wait for."""


def _kept(facts: Facts) -> float:
    """Part of an exchange that is left without the wait: from what left last to the answer, and on to the next."""
    return facts.segments.cycle.waiting_ratio or max(1e-3, 1 - _held(facts))


def _held(facts: Facts) -> float:
    """Time that the receiver's timer held the sender up."""
    seen = facts.segments.held_ratio or 0.0
    waits = facts.sender.ratio(
        S.RECEIVE_WINDOW_BUFFER, S.CONGESTION_WINDOW, S.SLOW_START, S.SEND_BUFFER, S.ZERO_WINDOW, S.NAGLE
    )
    return max(seen, min(facts.receiver.ratio(R.DELAYED_ACK), waits))


def _is_nagle(facts: Facts) -> bool:
    """True where what waits for the timer is a short segment of a connection that has Nagle's rule on."""
    if facts.sender.sockets.no_delay:
        return False
    held, others = (
        facts.sender.ratio(S.NAGLE),
        facts.sender.ratio(S.RECEIVE_WINDOW_BUFFER, S.CONGESTION_WINDOW, S.SLOW_START, S.SEND_BUFFER, S.ZERO_WINDOW),
    )
    if held or others:
        return held > others
    size, mss = facts.segments.released_bytes, facts.sender.sockets.mss_bytes
    return size is not None and mss is not None and size < mss


def _timer_evidence(facts: Facts) -> tuple[Evidence, ...]:
    late, held = facts.segments.ack_reasons.get("delayed_timer", 0.0), facts.segments.held_ratio
    evidence = [figure("timer_acks", "segments", facts.receiver, timer_ratio=late)]
    if held:
        evidence.append(figure("timer_held", "segments", facts.receiver, held_ratio=held))
    return (*evidence, state_evidence(facts.receiver, "receiver", R.DELAYED_ACK))
