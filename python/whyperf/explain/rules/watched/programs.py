"""What the rules of the own load assume of a program, and what is checked of one that nobody knows."""

from dataclasses import replace

from whyperf.explain.causes import Cause
from whyperf.explain.rules import application, cpu, path, transfers
from whyperf.explain.rules.application import MIN_ANSWERS
from whyperf.explain.rules.buffers import send_buffer
from whyperf.explain.rules.finding import Finding, is_perhaps_idle
from whyperf.explain.rules.transfers import MAX_ROUND_TRIPS
from whyperf.explain.rules.watched.exchanges import is_alternating
from whyperf.explain.rules.watched.open import AT_READER, AT_WRITER, WITHOUT_CPU, left_open
from whyperf.explain.rules.watched.windows import MIN_FILLED, filled_buffer, may_be_other_cpu
from whyperf.explain.states import SenderState as S
from whyperf.explain.trial_facts import Facts
from whyperf.explain.watched_facts import WatchedSockets

MIN_IDLE = 0.2
"""Share of the time in which a program writes nothing, or its kernel has too little to send, from which on what its
threads compute may be why."""
MIN_PRESSED = 0.1


def slow_writer(facts: Facts) -> Finding | None:
    """Nothing waits to be sent, no answer is due, and the send buffer has room."""
    seen = facts.sender.watched or WatchedSockets()
    if is_alternating(facts) or (seen.filled_ratio or 0.0) >= MIN_FILLED:
        return None
    found = application.slow_writer(facts)
    if found is None or found.open:
        return found
    fits = _fits_as_well(facts, seen)
    return found if fits is None else left_open(fits[0], found.lost, fits[1], found.evidence, facts)


def _fits_as_well(facts: Facts, seen: WatchedSockets) -> tuple[str, tuple[Cause, ...]] | None:
    """What fits as well as a program that writes late: the sentence that says why, and the causes; None where nothing
    does."""
    is_lossy, has_log = (facts.segments.retransmitted_ratio or 0.0) > 0, facts.level == "segments"
    if not has_log and _is_answered(facts):
        # The program may wait for its next request, or for the rest of an answer.
        others = (Cause.RANDOM_LOSS,) if is_lossy else ()
        return "both_ways", (Cause.SLOW_WRITER, Cause.THINK_TIME, Cause.ROUND_TRIP, *others)
    if not has_log and is_lossy and seen.filled_ratio is None:
        # A send buffer that is full leaves nothing unsent either, and small windows keep it small.
        return "idle_or_full", (Cause.SLOW_WRITER, Cause.PATH_LOSS)
    if facts.life_ns < MAX_ROUND_TRIPS * (facts.windows.rtt_ns_min or 0):
        # Within so few round trips all may have been written, and only slow start be left.
        return "short", (Cause.SLOW_WRITER, Cause.SLOW_START)
    # Of a program of another user nobody sees whether it computes, sleeps or lacks a CPU.
    return None if has_log or facts.sender.processors.thread_ratio is not None else ("own_writer", AT_WRITER)


def _is_answered(facts: Facts) -> bool:
    """Whether payload comes back, though no log shows that it alternates."""
    return (facts.segments.data_back_packets or 0) >= MIN_ANSWERS and not is_alternating(facts)


def full_send_buffer(facts: Facts) -> Finding | None:
    """The send buffer is full: by samples of the socket, or by the kernel's clock."""
    found = filled_buffer(facts) or send_buffer(facts)
    size = (facts.sender.watched or WatchedSockets()).send_buffer_bytes or facts.sender.sockets.buffer_bytes
    if found is not None and _is_answered(facts):
        # All that the program wrote is in flight: it may wait for room, or for a reply.
        return left_open("full_or_reply", found.lost, (Cause.SEND_BUFFER, Cause.ROUND_TRIP, Cause.THINK_TIME),
                         found.evidence, facts)  # fmt: skip
    if found is None or not may_be_other_cpu(facts, size):
        return found
    return left_open("full_buffer", found.lost, (Cause.SEND_BUFFER, *AT_READER), found.evidence, facts)


def computing_sender(facts: Facts) -> Finding | None:
    """The program computes, and its kernel has too little to send meanwhile: one of its threads may compute for
    others."""
    idle = max(facts.sender.ratio(S.NOT_WRITING), facts.windows.application_limited_ratio or 0.0)
    if is_alternating(facts) or (idle < MIN_IDLE and not is_perhaps_idle(facts)):
        return None
    found = cpu.computing_sender(facts)
    return None if found is None else replace(found, lost=min(found.lost, idle))


def computing_receiver(facts: Facts) -> Finding | None:
    """The program computes, and payload waits for it meanwhile."""
    pressed = (facts.receiver.watched or WatchedSockets()).pressed_ratio or 0.0
    if is_alternating(facts) or pressed < MIN_PRESSED:
        return None
    found = cpu.computing_receiver(facts)
    return None if found is None else replace(found, lost=min(found.lost, pressed))


def slow_start(facts: Facts) -> Finding | None:
    """Only of a connection that was watched from its first segment: another one has grown its window before."""
    return transfers.slow_start(facts) if (facts.sender.watched or WatchedSockets()).is_whole else None


def bottleneck(facts: Facts) -> Finding | None:
    """A full path; not where the sender alone sees segments overtake each other, which makes windows small as well."""
    found = path.bottleneck(facts)
    is_overtaken = (facts.segments.reordering_events or 0) >= path.MIN_REORDERINGS
    if found is None or found.open or facts.watched_sides != "sender" or not is_overtaken:
        return found
    return left_open("overtaken", found.lost, (Cause.BOTTLENECK, Cause.REORDERING), found.evidence, facts)


def shared_bottleneck(facts: Facts) -> Finding | None:
    """A queue that others fill; the sender alone does not separate it from a host that processes packets late."""
    found = path.shared_bottleneck(facts)
    if found is None or found.open or facts.watched_sides != "sender":
        return found
    causes = (Cause.SHARED_BOTTLENECK, Cause.RECEIVER_CPU, *WITHOUT_CPU)
    return left_open("queue_or_host", found.lost, causes, found.evidence, facts)
