"""Values that hold from row to row, made in runs of rows so that long logs need no long copies."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from whyperf.report.flow.track import Counts, Sides

RUN = 1 << 20


def held(values: npt.NDArray[Any], known: Sides) -> Counts:
    """`values` where they are known, else the last known one before; 0 before the first."""
    made = np.empty(len(values), np.uint32)
    before = np.uint32(0)
    for rows in _runs(len(values)):
        places = np.where(known[rows], np.arange(1, rows.stop - rows.start + 1), 0)
        np.maximum.accumulate(places, out=places)
        made[rows] = np.concatenate(([before], values[rows]))[places]
        before = made[rows.stop - 1]
    return made


def outstanding(data: Sides, sequence: Counts, payload_bytes: Counts, acknowledgment: Counts) -> Counts:
    """Bytes of payload seen in rows of `data` and not acknowledged by the rows of the other direction."""
    made = np.empty(len(data), np.uint32)
    last_sequence = last_acknowledgment = end = acked = 0
    for rows in _runs(len(data)):
        one = data[rows]
        ends, acks = np.full(len(one), end, np.int64), np.full(len(one), acked, np.int64)
        sequences = _unwrapped(sequence[rows][one], last_sequence)
        acknowledgments = _unwrapped(acknowledgment[rows][~one], last_acknowledgment)
        ends[one] = sequences + payload_bytes[rows][one]
        acks[~one] = acknowledgments
        np.maximum.accumulate(ends, out=ends)
        np.maximum.accumulate(acks, out=acks)
        made[rows] = np.maximum(ends - acks, 0)
        end, acked = int(ends[-1]), int(acks[-1])
        last_sequence = int(sequences[-1]) if len(sequences) else last_sequence
        last_acknowledgment = int(acknowledgments[-1]) if len(acknowledgments) else last_acknowledgment
    return made


def _unwrapped(values: Counts, before: int) -> npt.NDArray[np.int64]:
    """Numbers modulo 2^32 as what they are, `before` being the one before them."""
    if not len(values):
        return np.empty(0, np.int64)
    steps = np.diff(values, prepend=np.uint32(before % 2**32)).view(np.int32)
    return before + np.cumsum(steps, dtype=np.int64)


def _runs(rows: int) -> Iterator[slice]:
    for first in range(0, rows, RUN):
        yield slice(first, min(first + RUN, rows))
