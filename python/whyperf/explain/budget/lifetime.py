"""From when to when one side of a connection is explained: from its first byte to its last."""

import numpy as np

from whyperf.analyze.flow.log import SYN
from whyperf.explain.budget.calls import Calls
from whyperf.explain.segment_log import UNKNOWN_NUMBER, LoggedConnection


def sender_lifetime(segments: LoggedConnection, calls: Calls | None) -> tuple[int, int] | None:
    """From the first write call or byte of the load (its SYN, if the load opened it) to the acknowledgment of the
    last byte; None without payload. What went before the load began is its preamble.
    """
    carries = segments.is_out & (segments.payload_bytes > 0)
    starts = [segments.time_ns[carries], segments.time_ns[segments.is_out & (segments.flags & SYN != 0)]]
    if calls is not None:
        starts.append(calls.start)
    first = _first(starts)
    if first is None or not carries.any():
        return None
    last = int(segments.sequence_end[carries].max())
    answers = ~segments.is_out & (segments.acknowledgment != UNKNOWN_NUMBER) & (segments.acknowledgment >= last)
    ends = segments.time_ns[answers][:1] if answers.any() else segments.time_ns[-1:]
    called = int(calls.end[-1]) if calls and calls.end.size else first
    end = max(int(ends[0]), int(segments.time_ns[carries][-1]), called)
    return (first, end) if end > first else None


def receiver_lifetime(segments: LoggedConnection, calls: Calls | None, begin_ns: int | None) -> tuple[int, int] | None:
    """From `begin_ns`, the sender's start (or its own first byte), to the last byte read, or arrived if no read
    calls were logged; None without payload.
    """
    carries = ~segments.is_out & (segments.payload_bytes > 0)
    first = begin_ns if begin_ns is not None else _first([segments.time_ns[carries]])
    if first is None or not carries.any():
        return None
    end = int(segments.time_ns[carries][-1])
    if calls is not None:
        reads = calls.end[calls.moved > 0]
        end = max(end, int(reads[-1]) if reads.size else end)
    return (first, end) if end > first else None


def _first(times: list[np.ndarray[tuple[int, ...], np.dtype[np.int64]]]) -> int | None:
    """The first instant of the load; what there is before it belongs to the preamble."""
    found = [int(part[part >= 0].min()) for part in times if (part >= 0).any()]
    return min(found, default=None)
