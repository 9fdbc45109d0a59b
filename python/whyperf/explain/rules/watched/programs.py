"""What the rules of the own load assume of a program, and what is checked of one that nobody knows."""

from dataclasses import replace

from whyperf.explain.causes import Cause
from whyperf.explain.rules import application, cpu, transfers
from whyperf.explain.rules.buffers import send_buffer
from whyperf.explain.rules.finding import Finding, is_perhaps_idle
from whyperf.explain.rules.watched.open import left_open
from whyperf.explain.rules.watched.turns import is_by_turns
from whyperf.explain.rules.watched.windows import MIN_FILLED, filled_buffer
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
    if is_by_turns(facts) or (seen.filled_ratio or 0.0) >= MIN_FILLED:
        return None
    found = application.slow_writer(facts)
    if found is None or found.open or facts.sender.processors.thread_ratio is not None or facts.level == "segments":
        return found
    # Of a program of another user nobody sees whether it computes, sleeps or lacks a CPU.
    causes = (Cause.SLOW_WRITER, Cause.SENDER_CPU, Cause.OTHER_LOAD)
    return left_open("own_writer", found.lost, causes, found.evidence, facts)


def full_send_buffer(facts: Facts) -> Finding | None:
    """The send buffer is full: by samples of the socket, or by the kernel's clock."""
    filled = filled_buffer(facts)
    return send_buffer(facts) if filled is None else filled


def computing_sender(facts: Facts) -> Finding | None:
    """The program computes, and its kernel has too little to send meanwhile: one of its threads may compute for
    others."""
    idle = max(facts.sender.ratio(S.NOT_WRITING), facts.windows.application_limited_ratio or 0.0)
    if is_by_turns(facts) or (idle < MIN_IDLE and not is_perhaps_idle(facts)):
        return None
    found = cpu.computing_sender(facts)
    return None if found is None else replace(found, lost=min(found.lost, idle))


def computing_receiver(facts: Facts) -> Finding | None:
    """The program computes, and payload waits for it meanwhile."""
    pressed = (facts.receiver.watched or WatchedSockets()).pressed_ratio or 0.0
    if is_by_turns(facts) or pressed < MIN_PRESSED:
        return None
    found = cpu.computing_receiver(facts)
    return None if found is None else replace(found, lost=min(found.lost, pressed))


def slow_start(facts: Facts) -> Finding | None:
    """Only of a connection that was watched from its first segment: another one has grown its window before."""
    return transfers.slow_start(facts) if (facts.sender.watched or WatchedSockets()).is_whole else None
