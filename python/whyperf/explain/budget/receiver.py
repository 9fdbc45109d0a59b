"""The receiver's state in each gap: a hole, the application, receive processing, or nothing to take in.

A receiver's TCP at each row of its log: what has arrived, in sequence or not, what is acknowledged and read.
"""

from dataclasses import dataclass

import numpy as np

from whyperf.analyze.flow.log import SYN
from whyperf.explain.budget.calls import Calls
from whyperf.explain.budget.gaps import Activity, Gaps, cut, first_that_holds, is_doing, last_at, split_calls
from whyperf.explain.segment_log import UNKNOWN_NUMBER, Bools, Codes, Ints, LoggedConnection
from whyperf.explain.states import ReceiverState


@dataclass(frozen=True)
class Arrivals:
    """Shape (n,) each, after row i of the log.

    `readable` is one past the last octet that arrived in sequence, `answered` one past the last acknowledged, `read`
    one past the last that the application took, as far as the rows show. `has_hole`: later payload has arrived than
    what is missing.
    """

    readable: Ints
    answered: Ints
    read: Ints
    has_hole: Bools


def arrivals_of(segments: LoggedConnection) -> Arrivals:
    """The state of the receiving TCP after each row."""
    size = segments.time_ns.size
    carries = ~segments.is_out & (segments.payload_bytes > 0)
    reach = np.maximum.accumulate(np.where(carries, segments.sequence_end, 0)) if size else segments.time_ns
    before = np.concatenate(([0], reach[:-1])) if size else reach
    answers = segments.is_out & (segments.acknowledgment != UNKNOWN_NUMBER)
    answered = np.maximum.accumulate(np.where(answers, segments.acknowledgment, 0)) if size else reach
    # A segment behind a hole is answered at once, and so is the one that fills it (RFC 5681 section 4.2): the
    # hole lasts until something behind its start is acknowledged. Holes are filled in any order, the last one counts.
    opens = carries & (segments.sequence > before) & (before > 0)
    hole = np.maximum.accumulate(np.where(opens, before, -1)) if size else reach
    has_hole = (hole >= 0) & (answered <= hole)
    # The peer's FIN is acknowledged as an octet and carries none.
    answered = np.minimum(answered, np.maximum(reach, 1))
    readable = np.where(has_hole, np.minimum(answered, reach), reach)
    queue = segments.receive_queue_bytes
    read = np.where(answers & (queue != UNKNOWN_NUMBER), np.minimum(segments.acknowledgment, reach), 0)
    read = np.maximum.accumulate(np.maximum(read - np.maximum(queue, 0), 0)) if size else reach
    return Arrivals(readable, answered, read, has_hole)


def read_by_calls(calls: Calls, segments: LoggedConnection, arrivals: Arrivals) -> Ints:
    """One past the last octet that the application had read when each call ended, shape (calls,).

    What was read before the first logged call is what an acknowledgment outside of any call says beyond the calls
    until then; the median of all such, since a call's count and a segment's may cross.
    """
    total = np.cumsum(calls.moved)
    if total.size == 0:
        return total
    queue = segments.receive_queue_bytes
    rows = np.flatnonzero(segments.is_out & (queue != UNKNOWN_NUMBER) & (segments.acknowledgment != UNKNOWN_NUMBER))
    ended = np.searchsorted(calls.end, segments.time_ns[rows], side="right")
    begun = np.searchsorted(calls.start, segments.time_ns[rows], side="right")
    rows, ended = rows[ended == begun], ended[ended == begun]
    if rows.size == 0:
        return total + max(int(arrivals.readable[-1] if arrivals.readable.size else 0) - int(total[-1]), 0)
    counted = np.concatenate(([0], total))[ended]
    base = segments.acknowledgment[rows] - queue[rows] - counted
    return total + max(int(np.median(base)), 0)


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
