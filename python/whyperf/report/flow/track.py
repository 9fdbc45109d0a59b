"""The log of one connection at one host, as arrays that are drawn."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

Times = npt.NDArray[np.int64]
Counts = npt.NDArray[np.uint32]
Shorts = npt.NDArray[np.uint16]
Codes = npt.NDArray[np.uint8]
Sides = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class Track:
    """The rows of one connection at one host, in the order of time; every array has one entry per row.

    `time_ns` counts from an origin that all tracks of a page share. `sequence` and `acknowledgment`
    count from the first byte of the connection in their direction, modulo 2^32. A row without an
    acknowledgment repeats the last one of its direction.

    `unacked_bytes` and `advertised_bytes` are drawn as steps: a value holds from its row to the next.
    On the sender they are its own unacknowledged bytes and the window that the peer advertised. On the
    receiver they are the bytes that it received and did not acknowledge yet, and the window it advertised.
    """

    host: str
    role: str
    connection: int
    time_ns: Times
    out: Sides
    sequence: Counts
    acknowledgment: Counts
    payload_bytes: Counts
    window_bytes: Counts
    gso_size_bytes: Shorts
    wire_segments: Shorts
    cwnd_segments: Counts
    flags: Codes
    #: Context, plus 16 in ksoftirqd; see `terms.py`.
    context_code: Codes
    #: Reason of an ACK, plus 16 times the kind of a retransmission; see `terms.py`.
    reason_code: Codes
    unacked_bytes: Counts
    advertised_bytes: Counts

    def __len__(self) -> int:
        """The number of rows."""
        return len(self.time_ns)

    @property
    def data_is_out(self) -> bool:
        """True where this host sends the payload whose unacknowledged bytes are drawn."""
        return self.role == "sender"


RUN = 1 << 20


def held(values: npt.NDArray[Any], known: Sides) -> Counts:
    """`values` where they are known, otherwise the last known value before; 0 before the first."""
    made = np.empty(len(values), np.uint32)
    before = np.uint32(0)
    for rows in _runs(len(values)):
        places = np.where(known[rows], np.arange(1, rows.stop - rows.start + 1), 0)
        np.maximum.accumulate(places, out=places)
        made[rows] = np.concatenate(([before], values[rows]))[places]
        before = made[rows.stop - 1]
    return made


def outstanding(data: Sides, sequence: Counts, payload_bytes: Counts, acknowledgment: Counts) -> Counts:
    """Payload bytes in rows of `data` that the rows of the other direction did not acknowledge."""
    made = np.empty(len(data), np.uint32)
    last_sequence = last_acknowledgment = end = acked = 0
    for rows in _runs(len(data)):
        is_data = data[rows]
        ends, acks = np.full(len(is_data), end, np.int64), np.full(len(is_data), acked, np.int64)
        sequences = _unwrapped(sequence[rows][is_data], last_sequence)
        acknowledgments = _unwrapped(acknowledgment[rows][~is_data], last_acknowledgment)
        ends[is_data] = sequences + payload_bytes[rows][is_data]
        acks[~is_data] = acknowledgments
        np.maximum.accumulate(ends, out=ends)
        np.maximum.accumulate(acks, out=acks)
        made[rows] = np.maximum(ends - acks, 0)
        end, acked = int(ends[-1]), int(acks[-1])
        last_sequence = int(sequences[-1]) if len(sequences) else last_sequence
        last_acknowledgment = int(acknowledgments[-1]) if len(acknowledgments) else last_acknowledgment
    return made


def _unwrapped(values: Counts, before: int) -> npt.NDArray[np.int64]:
    """Numbers modulo 2^32 as full numbers; `before` is the one before them."""
    if not len(values):
        return np.empty(0, np.int64)
    steps = np.diff(values, prepend=np.uint32(before % 2**32)).view(np.int32)
    return before + np.cumsum(steps, dtype=np.int64)


def _runs(rows: int) -> Iterator[slice]:
    for first in range(0, rows, RUN):
        yield slice(first, min(first + RUN, rows))
