"""What one end logged of one connection, as arrays that are drawn."""

from dataclasses import dataclass

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
