"""A receiver's TCP at each row of its log: what has arrived, in sequence or not, what is acknowledged and read."""

from dataclasses import dataclass

import numpy as np

from whyperf.explain.budget.calls import Calls
from whyperf.explain.segment_log import UNKNOWN_NUMBER, Bools, Ints, LoggedConnection


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
