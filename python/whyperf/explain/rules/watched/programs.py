"""Assumptions of the own load's rules about a program, and what is checked of one that nobody knows."""

import math
from dataclasses import replace

from whyperf.explain.causes import Cause
from whyperf.explain.gather.segments import MIN_HELD_NS
from whyperf.explain.rules import application, buffers, cpu, gain, losses, path, transfers
from whyperf.explain.rules.application import MIN_ANSWERS
from whyperf.explain.rules.buffers import LARGE_BUFFER_BYTES, send_buffer
from whyperf.explain.rules.buffers import nagle_delayed_ack as nagle
from whyperf.explain.rules.finding import (
    BUSY,
    WINDOWS,
    Finding,
    clipped,
    figure,
    is_on_cpu,
    is_perhaps_idle,
    state_evidence,
)
from whyperf.explain.rules.gain import NEIGHBOR_RTT_NS
from whyperf.explain.rules.transfers import MAX_ROUND_TRIPS
from whyperf.explain.rules.watched.exchanges import is_alternating
from whyperf.explain.rules.watched.open import AT_READER, AT_WRITER, WITHOUT_CPU, left_open
from whyperf.explain.rules.watched.threads import (
    MIN_COMPUTING,
    MIN_WITHHELD,
    cpu_ns_per_byte,
    doing,
    excess_times,
    is_costly,
)
from whyperf.explain.rules.watched.windows import (
    MIN_FILLED,
    filled_buffer,
    is_emptied_at_once,
    late_reads,
    may_be_other_cpu,
    reader_behind,
)
from whyperf.explain.states import SenderState as S
from whyperf.explain.trial_facts import Facts
from whyperf.explain.watched_facts import WatchedSockets

MIN_IDLE = 0.2
"""Share of the time in which a program writes nothing, or its kernel has too little to send, from which on what its
threads compute may be why."""
MIN_PRESSED, MIN_LOST = 0.1, 0.1


def slow_writer(facts: Facts) -> Finding | None:
    """Nothing waits to be sent, no answer is due, and the send buffer has room."""
    seen = facts.sender.watched or WatchedSockets()
    if is_alternating(facts) or (seen.filled_ratio or 0.0) >= MIN_FILLED:
        return None
    found = application.slow_writer(facts)
    if found is None or found.open:
        return found
    # While the buffer is full a program waits for room, whatever call it waits in.
    found = replace(found, lost=found.lost - (seen.filled_ratio or 0.0))
    if found.lost < MIN_LOST:
        return None
    fits = _fits_as_well(facts, seen)
    return found if fits is None else left_open(fits[0], found.lost, fits[1], found.evidence, facts)


def _fits_as_well(facts: Facts, seen: WatchedSockets) -> tuple[str, tuple[Cause, ...]] | None:
    """Causes that fit as well as a program that writes late, after the sentence that says why; None where nothing
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
    """True where payload comes back, though no log shows that it alternates."""
    return (facts.segments.data_back_packets or 0) >= MIN_ANSWERS and not is_alternating(facts)


def full_send_buffer(facts: Facts) -> Finding | None:
    """The send buffer is full: by samples of the socket, or by the kernel's clock."""
    found = filled_buffer(facts) or send_buffer(facts)
    size = (facts.sender.watched or WatchedSockets()).send_buffer_bytes or facts.sender.sockets.buffer_bytes
    if found is not None and _is_answered(facts):
        # All that the program wrote is in flight: it may wait for room, or for a reply.
        return left_open("full_or_reply", found.lost, (Cause.SEND_BUFFER, Cause.ROUND_TRIP, Cause.THINK_TIME),
                         found.evidence, facts)  # fmt: skip
    if found is not None and facts.watched_sides == "both" and _is_receiver_late(facts, size):
        return None
    if found is None or not may_be_other_cpu(facts, size):
        return found
    return left_open("full_buffer", found.lost, (Cause.SEND_BUFFER, *AT_READER), found.evidence, facts)


def _is_receiver_late(facts: Facts, held_bytes: int | None) -> bool:
    """True where a large buffer between neighbors is full because the receiving host is late: it lacks a CPU, or has no
    more of it."""
    is_near = (facts.windows.rtt_ns_min or 0) < NEIGHBOR_RTT_NS
    cpu = facts.receiver.processors
    is_late = (cpu.withheld_ratio or 0.0) >= MIN_WITHHELD or (facts.receiver.wanted_ratio or 0.0) >= BUSY
    return is_near and (held_bytes or 0) >= LARGE_BUFFER_BYTES and is_late


def nagle_delayed_ack(facts: Facts) -> Finding | None:
    """The same rule; only where ACKs are late, by the receiver's log or by round trips: a rest of less than a segment
    waits for ACKs of a stream as well, and costs nothing."""
    trip, least = facts.windows.rtt_ns_median, facts.windows.rtt_ns_min
    is_prompt = trip is not None and least is not None and trip - least < MIN_HELD_NS
    return None if is_prompt and (facts.segments.held_ratio or 0.0) < MIN_LOST else nagle(facts)


def delayed_ack(facts: Facts) -> Finding | None:
    """The same rule; not where ACKs wait for a reader, and no timer."""
    return None if late_reads(facts) is not None else buffers.delayed_ack(facts)


def small_queue(facts: Facts) -> Finding | None:
    """The same rule; a reader that lets payload lie makes its sender send in bursts, which overrun any queue."""
    found, unread = losses.small_queue(facts), (facts.receiver.watched or WatchedSockets()).unread_ratio or 0.0
    if found is None or doing(facts.receiver) != "sleeps":
        return found
    return replace(found, lost=found.lost * (1 - unread))


def computing_sender(facts: Facts) -> Finding | None:
    """The program computes, or makes many calls, and its kernel has too little to send meanwhile: one of its threads
    may work for others."""
    idle = max(facts.sender.ratio(S.NOT_WRITING), facts.windows.application_limited_ratio or 0.0)
    if _waits_for_answers(facts) or (idle < MIN_IDLE and not is_perhaps_idle(facts)):
        return None
    if facts.sender.calls.computing_ratio is None:
        return _busy_sender(facts, idle)
    found = cpu.computing_sender(facts)
    return None if found is None else replace(found, lost=min(found.lost, idle))


def _waits_for_answers(facts: Facts) -> bool:
    """True where messages are what is waited for; a side that is always busy does not wait, whatever comes back."""
    return is_alternating(facts) and not is_on_cpu(facts)


def _busy_sender(facts: Facts, idle: float) -> Finding | None:
    """Without a log of calls: the program runs, or waits for a CPU, and does not only hand over payload."""
    end = facts.sender
    is_computing = (end.processors.own_user_ratio or 0.0) >= MIN_COMPUTING
    if doing(end) in {None, "sleeps"} or not (is_computing or is_costly(facts, end)):
        return None
    ran = end.processors.thread_ratio or 0.0
    values = {"thread_ratio": ran, "idle_ratio": idle, "kbyte_ns": 1024 * (cpu_ns_per_byte(facts, end) or 0.0)}
    return Finding(
        Cause.SENDER_CPU,
        clipped(idle),
        0.85,
        (
            figure("program_thread", "threads", end, thread_ratio=ran),
            state_evidence(end, "sender", S.NOT_WRITING),
            figure("application_limited", WINDOWS, end, limited_ratio=facts.windows.application_limited_ratio or 0.0),
        ),
        gain.of_share(facts, min(ran, clipped(idle)), saved="sender"),
        variant="busy",
        values=values,
    )


def other_load(facts: Facts) -> Finding | None:
    """Threads want a CPU that others have. Who sleeps, though there is work, is not kept from it; nor is a program of
    which the kernel has data to send all the time."""
    found = cpu.other_load(facts)
    if found is None:
        return None
    found = replace(found, variant="watched")
    is_sender = found.values.get("role") == "sender"
    end = facts.sender if is_sender else facts.receiver
    has_data = ((facts.sender.watched or WatchedSockets()).waiting_ratio or 0.0) >= MIN_BACKLOGGED
    if doing(end) == "sleeps" or (is_sender and has_data):
        return None
    ran = end.processors.thread_ratio or 0.0
    # All of a CPU would make the program 1 / ran times as fast; cheaper calls may bring more.
    return replace(found, lost=found.lost / 2) if excess_times(facts, end) * ran >= 1 else found


MIN_BACKLOGGED = 0.8
"""Part of the samples in which data waits in the sender's kernel, from which on no thread is needed to send it."""


def computing_receiver(facts: Facts) -> Finding | None:
    """The program computes, and payload waits for it meanwhile."""
    pressed = (facts.receiver.watched or WatchedSockets()).pressed_ratio or 0.0
    # Without a log of calls `windows.reader_behind` asks what the threads do.
    if _waits_for_answers(facts) or pressed < MIN_PRESSED or facts.receiver.calls.computing_ratio is None:
        return None
    found = cpu.computing_receiver(facts)
    return None if found is None else replace(found, lost=min(found.lost, pressed))


def busy_receiver(facts: Facts) -> Finding | None:
    """The receiving program's thread hardly sleeps, and does more than read: it could take in little more."""
    end, ran = facts.receiver, facts.receiver.processors.thread_ratio or 0.0
    is_computing = (end.processors.own_user_ratio or 0.0) >= MIN_COMPUTING
    if end.watched is None or _waits_for_answers(facts) or doing(end) != "runs" or (end.wanted_ratio or 0.0) < BUSY:
        return None
    if not (is_computing or is_costly(facts, end)) or reader_behind(facts) is not None or is_emptied_at_once(facts):
        # Each read takes what a tiny buffer holds: the calls are many because of it.
        return None
    values = {"thread_ratio": ran, "kbyte_ns": 1024 * (cpu_ns_per_byte(facts, end) or 0.0)}
    return Finding(
        Cause.RECEIVER_CPU,
        ran,
        0.8,
        (figure("reader_thread", "threads", end, thread_ratio=ran),),
        gain.of_share(facts, ran, saved="receiver"),
        variant="running",
        values=values,
    )


def slow_start(facts: Facts) -> Finding | None:
    """Only of a connection that was watched from its first segment: another one has grown its window before."""
    return transfers.slow_start(facts) if (facts.sender.watched or WatchedSockets()).is_whole else None


def bottleneck(facts: Facts) -> Finding | None:
    """A full path; not where the sender alone sees segments overtake each other, which makes windows small as well."""
    found = path.bottleneck(facts)
    if found is not None and facts.watched_sides == "sender" and _acks_per_window(facts) <= MAX_ACKS_PER_WINDOW:
        causes = (Cause.BOTTLENECK, Cause.SLOW_READER, Cause.RECEIVER_CPU, *WITHOUT_CPU, Cause.ACK_PATH)
        return left_open("late_acks", found.lost, causes, found.evidence, facts, acks_count=_acks_per_window(facts))
    is_overtaken = (facts.segments.reordering_events or 0) >= path.MIN_REORDERINGS
    if found is None or found.open or facts.watched_sides != "sender" or not is_overtaken:
        return found
    return left_open("overtaken", found.lost, (Cause.BOTTLENECK, Cause.REORDERING), found.evidence, facts)


def _acks_per_window(facts: Facts) -> float:
    """Number of ACKs that come for a congestion window; without counts more than anybody asks for."""
    ratio = (facts.sender.watched or WatchedSockets()).acks_ratio
    return math.inf if ratio is None else ratio * (facts.windows.cwnd_segments_median or math.inf)


MAX_ACKS_PER_WINDOW = 3.0
"""ACKs for a congestion window up to which the sender waits for single ACKs: behind a link segments come one by one,
and so do ACKs for them."""


def shared_bottleneck(facts: Facts) -> Finding | None:
    """A queue that others fill; the sender alone does not separate it from a host that processes packets late."""
    found = path.shared_bottleneck(facts)
    if found is None or found.open or facts.watched_sides != "sender":
        return found
    causes = (Cause.SHARED_BOTTLENECK, Cause.ACK_PATH, Cause.RECEIVER_CPU, *WITHOUT_CPU)
    return left_open("queue_or_host", found.lost, causes, found.evidence, facts)


UNHEEDING = "bbr"
"""A congestion control that does not take a loss for a full queue (BBR: draft-ietf-ccwg-bbr)."""


def heeds_losses(facts: Facts) -> bool:
    """True where losses make the sender's congestion window smaller."""
    return not (facts.sender.watched or WatchedSockets()).congestion_control.startswith(UNHEEDING)


def policer(facts: Facts) -> Finding | None:
    """The same rule; where the connection was open before, and both logs show that segments come faster one by one."""
    found, line = facts.segments.policing, facts.segments.bottleneck.bps
    if path.has_both_logs(facts) and found.bps and line and line >= path.MIN_FASTER_TIMES * found.bps:
        found = replace(found, faster_times=max(found.faster_times, line / found.bps))
        facts = replace(facts, segments=replace(facts.segments, policing=found))
    return path.policer(facts)


def unheeded_losses(facts: Facts) -> Finding | None:
    """Segments are lost, and the congestion control does not heed it: losses alone do not hold the sender."""
    again, wait = facts.segments.retransmitted_ratio or 0.0, path.path_wait(facts)
    if again < MIN_LOST_RATIO or wait < MIN_WAIT or policer(facts) is not None or path.bottleneck(facts) is not None:
        return None
    causes = (Cause.POLICER, Cause.SMALL_QUEUE, Cause.RANDOM_LOSS, Cause.BURST_LOSS, Cause.RECEIVER_LOSS)
    evidence = (
        figure("retransmitted", WINDOWS, facts.sender, retransmitted_ratio=again),
        state_evidence(facts.sender, "sender", *path.waiting_states(facts)),
    )
    control = (facts.sender.watched or WatchedSockets()).congestion_control
    return left_open("unheeded", wait, causes, evidence, facts, retransmitted_ratio=again, control=control)


MIN_LOST_RATIO, MIN_WAIT = 0.001, 0.3


def many_connections(facts: Facts) -> Finding | None:
    """So many connections of one program that its thread changes between them more than it moves payload."""
    sides = [(end, end.watched.program_connections or 0) for end in (facts.sender, facts.receiver) if end.watched]
    busy = [(end, count) for end, count in sides if count >= cpu.MANY and (end.wanted_ratio or 0.0) >= BUSY]
    if not busy:
        return None
    end, count = max(busy, key=lambda side: side[0].wanted_ratio or 0.0)
    role = "sender" if end is facts.sender else "receiver"
    ratio = end.wanted_ratio or 0.0
    return Finding(
        Cause.MANY_CONNECTIONS,
        ratio,
        0.8,
        (
            figure("connections", "flows", end, connections_count=count),
            figure("cpu_busy", "cpu", end, busy_ratio=ratio, role=role),
        ),
        values={"connections_count": count, "busy_ratio": ratio},
    )
