"""One host's log of one connection, as arrays that are drawn."""

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
    """The rows of one connection at one end, in the order of time; every array has one entry a row.

    `time_ns` counts from the origin that all tracks of a page share. `sequence` and `acknowledgment`
    count from the connection's first byte in their direction, modulo 2^32; a row without an
    acknowledgment repeats the last one of its direction.

    `unacked_bytes` and `announced_bytes` are what is drawn: a value holds from its row to the next.
    On the sender they are its own outstanding bytes and the window the peer announced; on the
    receiver, bytes that arrived and were not yet acknowledged, and the window it announced itself.
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
    #: Context, and 16 when it was ksoftirqd; see `codes.py`.
    context_code: Codes
    #: Reason of an ACK, and 16 times the kind of a retransmission; see `codes.py`.
    reason_code: Codes
    unacked_bytes: Counts
    announced_bytes: Counts

    def __len__(self) -> int:
        """Rows."""
        return len(self.time_ns)

    @property
    def data_is_out(self) -> bool:
        """Whether the payload whose bytes are outstanding leaves this end."""
        return self.role == "sender"


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
