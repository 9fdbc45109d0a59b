"""Buffers and windows: what may be unacknowledged at once."""

from whyperf.analyze.text import octets, percent, seconds
from whyperf.explain.causes import Cause
from whyperf.explain.model import Evidence
from whyperf.explain.rules import gain
from whyperf.explain.rules.finding import WINDOWS, Finding, figure, is_on_cpu, state_evidence
from whyperf.explain.states import ReceiverState as R
from whyperf.explain.states import SenderState as S
from whyperf.explain.trial_facts import Facts
from whyperf.explain.wording.patterns import sends

LEAST_WRITES = 4
"""Writes that a window of few segments must hold, or a part of it stays empty: stop-and-go."""
LARGE_BUFFER_BYTES = 1 << 20
"""A buffer from here on fills because the other end is slow, if its CPU is the limit."""


def receive_buffer(facts: Facts) -> Finding | None:
    """The window that the receiver grants is full though it has read everything."""
    lost = facts.sender.ratio(S.RECEIVE_WINDOW_BUFFER)
    window = facts.windows.announced_bytes_max
    if lost < 0.05 or (is_on_cpu(facts) and (window or 0) >= LARGE_BUFFER_BYTES):
        return None
    # The largest may be one of the first, before the kernel held the window to what was asked for.
    usual = facts.windows.announced_bytes_median or window
    size = "" if usual is None else f" of {octets(usual)}"
    trip = facts.windows.rtt_ns_median
    evidence = [state_evidence(facts.sender, "sender", S.RECEIVE_WINDOW_BUFFER)]
    if window is not None:
        most = f"never announced more than {octets(window)}"
        words = f"The receiver {most}." if usual in {None, window} else f"The receiver {most}, usually {octets(usual)}."
        evidence.append(figure(words, WINDOWS, facts.sender, window, "bytes"))
    if facts.receiver.sockets.buffer_bytes is not None:
        words = f"Its receive buffer is {octets(facts.receiver.sockets.buffer_bytes)}, as the kernel reports it."
        evidence.append(figure(words, "flows", facts.receiver, facts.receiver.sockets.buffer_bytes, "bytes"))
    if trip is not None:
        words = f"A round trip takes {seconds(trip)}."
        evidence.append(figure(words, WINDOWS, facts.sender, trip, "ns"))
    return Finding(
        Cause.RECEIVE_BUFFER,
        f"The receive buffer is too small: the sender waited {percent(lost)} of the time with the window{size} full, "
        "while the receiver had read everything.",
        lost,
        0.9 if facts.level == "segments" else 0.7,
        tuple(evidence),
        "A larger receive buffer leaves the rate as it is, or payload lies unread while the window is full.",
        gain.of_window(facts, lost),
        {} if window is None else {"window_bytes": window / max(0.05, 1 - lost)},
    )


def send_buffer(facts: Facts) -> Finding | None:
    """All that the send buffer holds is on its way, and the application waits for room."""
    lost = facts.sender.ratio(S.SEND_BUFFER)
    buffer, flight = facts.sender.sockets.buffer_bytes, facts.windows.flight_bytes_max
    if lost < 0.05 or (is_on_cpu(facts) and (buffer or 0) >= LARGE_BUFFER_BYTES):
        return None
    evidence = [state_evidence(facts.sender, "sender", S.SEND_BUFFER)]
    if buffer is not None:
        evidence.append(
            figure(
                f"Its send buffer is {octets(buffer)}, as the kernel reports it.",
                "flows",
                facts.sender,
                buffer,
                "bytes",
            )
        )
    if flight is not None:
        words = f"Never more than {octets(flight)} were unacknowledged."
        evidence.append(figure(words, WINDOWS, facts.sender, flight, "bytes"))
    return Finding(
        Cause.SEND_BUFFER,
        f"The send buffer is too small: for {percent(lost)} of the time all it holds was on its way, and the "
        "application waited for room.",
        lost,
        0.9,
        tuple(evidence),
        "A larger send buffer leaves the rate as it is, or data waits unsent while the application is blocked.",
        gain.of_window(facts, lost),
        {} if buffer is None else {"buffer_bytes": buffer / max(0.05, 1 - lost)},
    )


def write_window_mismatch(facts: Facts) -> Finding | None:
    """A window that holds few writes and few segments: each waits for the acknowledgment of the one before."""
    lost = facts.sender.ratio(S.RECEIVE_WINDOW_BUFFER, S.SEND_BUFFER, S.NAGLE, S.ZERO_WINDOW, S.RECEIVE_WINDOW_READER)
    window, write, mss = (
        facts.windows.announced_bytes_max,
        facts.sender.calls.bytes_mean,
        facts.sender.sockets.mss_bytes,
    )
    if lost < 0.1 or window is None or write is None or not mss:
        return None
    # Writes much larger than the window are cut to fit it: that is a small buffer, not a mismatch.
    fits = window / write
    if not 0.9 <= fits < LEAST_WRITES or window >= 4 * mss:
        return None
    late = facts.segments.ack_reasons.get("delayed_timer", 0.0)
    phase = facts.longest_phase
    cycle = "send a write and what is left of the window" if phase is None else sends(phase.payloads)
    seen = () if phase is None else (figure(f"{phase.words}. {phase.waits}", "segments", facts.sender, None, ""),)
    return Finding(
        Cause.WRITE_WINDOW_MISMATCH,
        f"Writes of {octets(round(write))} do not fit the window of {octets(window)}: the cycle is to {cycle}, then "
        f"to wait for an ACK, {percent(lost)} of the time.",
        lost,
        0.95,
        (
            *seen,
            state_evidence(facts.sender, "sender", S.RECEIVE_WINDOW_BUFFER, S.NAGLE, S.SEND_BUFFER),
            figure(f"The window holds {fits:.2f} writes.", WINDOWS, facts.sender, fits, "ratio"),
            figure(f"{percent(late)} of the ACKs left by the timer.", "segments", facts.receiver, late, "ratio"),
        ),
        "Writes of half the window, or a window of four writes, leave the rate as it is.",
        gain.of_window(facts, lost),
        {"write_size_bytes": write, "window_bytes": 4 * max(write, mss)},
    )


def delayed_ack(facts: Facts) -> Finding | None:
    """The sender may not go on until the receiver's timer lets its acknowledgment go (RFC 1122 section 4.2.3.2)."""
    lost = _held(facts)
    if lost < 0.1 or _is_nagle(facts):
        return None
    return Finding(
        Cause.DELAYED_ACK,
        f"The receiver holds back acknowledgments that the sender waits for, {percent(lost)} of the time: too little "
        "arrives at once to make it acknowledge before its timer.",
        lost,
        0.95,
        _timer_evidence(facts),
        "With an acknowledgment for every segment (quick ACK) the rate stays as it is.",
        gain.of_share(facts, lost),
    )


def nagle_delayed_ack(facts: Facts) -> Finding | None:
    """Nagle's rule waits for an acknowledgment that the receiver delays (RFC 896, RFC 9293 section 3.7.4)."""
    held = _held(facts) if _is_nagle(facts) else 0.0
    lost = max(facts.sender.ratio(S.NAGLE), held)
    if lost < 0.1:
        return None
    return Finding(
        Cause.NAGLE_DELAYED_ACK,
        f"Nagle's rule holds back a short segment {percent(lost)} of the time, until the acknowledgment that the "
        "receiver delays.",
        lost,
        0.97 if held >= 0.1 else 0.75,
        (state_evidence(facts.sender, "sender", S.NAGLE), *_timer_evidence(facts)),
        "With TCP_NODELAY the rate stays as it is.",
        gain.of_held_turns(facts, _kept(facts)),
    )


def _kept(facts: Facts) -> float:
    """What part of an exchange is left without the wait: from what left last to the answer, and on to the next."""
    told = facts.segments
    turns = told.cycle.waiting_ratio
    return turns or max(1e-3, 1 - _held(facts))


def _held(facts: Facts) -> float:
    """How long the receiver's timer held the sender up."""
    seen = facts.segments.held_ratio or 0.0
    waits = facts.sender.ratio(
        S.RECEIVE_WINDOW_BUFFER, S.CONGESTION_WINDOW, S.SLOW_START, S.SEND_BUFFER, S.ZERO_WINDOW, S.NAGLE
    )
    return max(seen, min(facts.receiver.ratio(R.DELAYED_ACK), waits))


def _is_nagle(facts: Facts) -> bool:
    """Whether what waits for the timer is a short segment of a connection that has Nagle's rule on."""
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
    words = f"{percent(late)} of the ACKs left by the delayed-ACK timer."
    evidence = [figure(words, "segments", facts.receiver, late, "ratio")]
    if held:
        words = f"It held them back {percent(held)} of the time, and data came as soon as it let go."
        evidence.append(figure(words, "segments", facts.receiver, held, "ratio"))
    return (*evidence, state_evidence(facts.receiver, "receiver", R.DELAYED_ACK))
