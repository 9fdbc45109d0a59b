"""The receiver's state in each gap: a hole, the application, receive processing, or nothing to take in."""

from dataclasses import dataclass

import numpy as np

from whyperf.analyze.flow.log import SYN
from whyperf.explain.budget.arrivals import Arrivals, arrivals_of, read_by_calls
from whyperf.explain.budget.calls import Calls
from whyperf.explain.budget.gaps import Activity, Gaps, cut, first_that_holds, is_doing, last_at, split_calls
from whyperf.explain.segment_log import UNKNOWN_NUMBER, Bools, Codes, Ints, LoggedConnection
from whyperf.explain.states import ReceiverState

RECEIVER_STATES = tuple(ReceiverState)
CODE = {state: place for place, state in enumerate(RECEIVER_STATES)}

BATCH_NS = 10_000
"""Receive processing takes in segments that arrive no further apart without a pause."""


@dataclass(frozen=True)
class ReceiverGaps:
    """Each gap's state (a place in `RECEIVER_STATES`), and whether payload lay there that the application let lie:
    it was not at it, or more than a window had come since it last had read all. Shape (n,) each.
    """

    gaps: Gaps
    state: Codes
    holds: Bools


def explain_gaps(segments: LoggedConnection, calls: Calls | None, life: tuple[int, int]) -> ReceiverGaps:
    """The gaps of the receiver's life and their states; `calls` are its read calls, None when not logged."""
    arrivals = arrivals_of(segments)
    whole = cut(segments, calls, life)
    gaps = split_calls(whole, segments, calls, ~_lies(segments, calls, arrivals, whole))
    has_row, row = gaps.segment >= 0, np.maximum(gaps.segment, 0)
    readable, answered = (np.where(has_row, values[row], 0) for values in (arrivals.readable, arrivals.answered))
    lies = _lies(segments, calls, arrivals, gaps)
    activity = gaps.activity
    working = is_doing(activity, Activity.ON_CPU, Activity.BETWEEN_CALLS)
    wanting = is_doing(activity, Activity.RUNNABLE, Activity.SERVING, Activity.AFTER_WOULD_BLOCK)
    is_logged = activity != Activity.NOT_LOGGED
    batch = _is_batch(segments, gaps)
    questions: list[tuple[ReceiverState, Bools]] = [
        (ReceiverState.HANDSHAKE, has_row & (segments.flags[row] & SYN != 0)),
        (ReceiverState.SOFTIRQ, (activity == Activity.SOFTIRQ) | (batch & (activity == Activity.RUNNABLE))),
        (ReceiverState.READ_CALL, working & (lies | (activity == Activity.ON_CPU))),
        (ReceiverState.WAITS_FOR_CPU, lies & wanting),
        (ReceiverState.NOT_READING, lies & (activity == Activity.AWAY)),
        (ReceiverState.UNKNOWN, lies & ~is_logged & ~batch),
        (ReceiverState.SEQUENCE_HOLE, has_row & arrivals.has_hole[row]),
        (ReceiverState.SOFTIRQ, batch),
        (ReceiverState.DELAYED_ACK, (readable > answered) & _is_answered_next(segments, gaps)),
    ]
    state = first_that_holds([(holds, CODE[state]) for state, holds in questions], CODE[ReceiverState.WAITING])
    announced = segments.is_out & (segments.flags & SYN == 0)
    window = int(segments.window_bytes[announced].max(initial=0))
    behind = _read_in_run(lies, readable) > window
    return ReceiverGaps(gaps, state, lies & (behind | (activity == Activity.AWAY)))


def _lies(segments: LoggedConnection, calls: Calls | None, arrivals: Arrivals, gaps: Gaps) -> Bools:
    """True where payload that can be read lies unread."""
    has_row, row = gaps.segment >= 0, np.maximum(gaps.segment, 0)
    read = arrivals.read[row]
    if calls is not None and calls.end.size:
        by_calls = read_by_calls(calls, segments, arrivals)
        read = np.maximum(read, np.concatenate(([0], by_calls))[last_at(calls.end, gaps.start) + 1])
    found: Bools = has_row & (arrivals.readable[row] > read)
    return found


def _read_in_run(lies: Bools, readable: Ints) -> Ints:
    """Octets that arrived from the first to the last of the gaps in a row in which payload lay, for each gap.

    A reader that is as fast as the sender reads all it finds, and waits; a slower one always finds some.
    """
    change = np.flatnonzero(np.concatenate(([True], lies[1:] != lies[:-1])))
    lengths = np.diff(np.concatenate((change, [lies.size])))
    arrived = readable[change + lengths - 1] - readable[np.maximum(change - 1, 0)]
    return np.repeat(arrived, lengths)


def _is_batch(segments: LoggedConnection, gaps: Gaps) -> Bools:
    """Between two arrivals that receive processing took in without pause."""
    size = segments.time_ns.size
    row, following = np.maximum(gaps.segment, 0), np.minimum(gaps.segment + 1, max(size - 1, 0))
    near = segments.time_ns[following] - segments.time_ns[row] <= BATCH_NS
    return (gaps.segment >= 0) & (gaps.segment + 1 < size) & ~segments.is_out[following] & near


def _is_answered_next(segments: LoggedConnection, gaps: Gaps) -> Bools:
    """The next thing to happen is an acknowledgment that goes out, and no more payload before it."""
    size = segments.time_ns.size
    following = np.minimum(gaps.segment + 1, max(size - 1, 0))
    answers = segments.is_out[following] & (segments.acknowledgment[following] != UNKNOWN_NUMBER)
    found: Bools = (gaps.segment + 1 < size) & answers
    return found
