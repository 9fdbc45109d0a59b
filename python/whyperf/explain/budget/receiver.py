"""The receiver's state in each gap: a hole, the application, receive processing, or nothing to take in."""

from dataclasses import dataclass

import numpy as np

from whyperf.analyze.flow.log import SYN
from whyperf.explain.budget.arrivals import arrivals_of, read_by_calls
from whyperf.explain.budget.calls import Calls
from whyperf.explain.budget.events import UNKNOWN_NUMBER, Bools, Ints, Segments
from whyperf.explain.budget.gaps import Activity, Gaps
from whyperf.explain.states import ReceiverState

RECEIVER_STATES = tuple(ReceiverState)
CODE = {state: place for place, state in enumerate(RECEIVER_STATES)}

BATCH_NS = 10_000
"""Segments that arrive no further apart are taken in by receive processing without pause: one super-segment of
64 KB costs it so much (docs/performance.md)."""


@dataclass(frozen=True)
class ReceiverGaps:
    """Each gap's state (a place in `RECEIVER_STATES`), and whether payload lay there that the application let lie:
    it was not at it, or the call it was in left some behind. Shape (n,) each.
    """

    state: Ints
    holds: Bools


def receiver_states(segments: Segments, calls: Calls | None, gaps: Gaps) -> ReceiverGaps:
    """The state of each gap of the receiver's life; `calls` are its read calls, None when not logged."""
    arrivals = arrivals_of(segments)
    has_row, row = gaps.segment >= 0, np.maximum(gaps.segment, 0)

    def after(values: Ints) -> Ints:
        return np.where(has_row, values[row], 0)

    readable, read = after(arrivals.readable), after(arrivals.read)
    left = np.zeros(gaps.begin.size, dtype=np.bool_)
    if calls is not None and calls.end.size:
        told = read_by_calls(calls, segments, arrivals)
        ended = np.searchsorted(calls.end, gaps.begin, side="right") - 1
        read = np.maximum(read, np.where(ended >= 0, told[np.maximum(ended, 0)], 0))
        left = (gaps.call >= 0) & (told[np.maximum(gaps.call, 0)] < readable)
    lies = readable > read
    activity = gaps.activity
    working = np.isin(activity, (Activity.ON_CPU, Activity.TURNING))
    wanting = np.isin(activity, (Activity.RUNNABLE, Activity.SERVING, Activity.AFTER_WOULD_BLOCK))
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
        (ReceiverState.DELAYED_ACK, (readable > after(arrivals.answered)) & _is_answered_next(segments, gaps)),
    ]
    state = np.select(
        [holds for _, holds in questions], [CODE[state] for state, _ in questions], CODE[ReceiverState.WAITING]
    )
    holds = lies & ~(np.isin(activity, (Activity.ON_CPU, Activity.SOFTIRQ, Activity.BLOCKED)) & ~left)
    return ReceiverGaps(state, holds & is_logged)


def _is_batch(segments: Segments, gaps: Gaps) -> Bools:
    """Between two arrivals that receive processing took in without pause."""
    size = segments.at.size
    row, following = np.maximum(gaps.segment, 0), np.minimum(gaps.segment + 1, max(size - 1, 0))
    near = segments.at[following] - segments.at[row] <= BATCH_NS
    return (gaps.segment >= 0) & (gaps.segment + 1 < size) & ~segments.is_out[following] & near


def _is_answered_next(segments: Segments, gaps: Gaps) -> Bools:
    """The next thing to happen is an acknowledgment that goes out, and no more payload before it."""
    size = segments.at.size
    following = np.minimum(gaps.segment + 1, max(size - 1, 0))
    answers = segments.is_out[following] & (segments.acknowledgment[following] != UNKNOWN_NUMBER)
    found: Bools = (gaps.segment + 1 < size) & answers
    return found
