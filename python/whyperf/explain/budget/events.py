"""What happened to one connection at one end: its segments and the application's calls, as columns by time."""

from collections.abc import Collection, Iterator
from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from whyperf.analyze.flow import FlowTrial, read_log, scan_log
from whyperf.analyze.flow.log import CONTEXTS, RETRANSMISSIONS

Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]
Places = NDArray[np.int32]
"""Places in columns; half as wide as they could be, for what is as long as a log costs what it takes of memory."""
Codes = NDArray[np.int8]

PROCESS, NET_RX, TIMER, HRTIMER, WORKER = (
    CONTEXTS.index(name) for name in ("process", "net_rx", "timer", "hrtimer", "worker")
)
TIMEOUT, PROBE = (RETRANSMISSIONS.index(name) for name in ("timeout", "probe"))
UNKNOWN_NUMBER = -1
"""Of a number or word that the row does not have."""

_NUMBERS = {
    "time_ns": "at",
    "sequence": "sequence",
    "acknowledgment": "acknowledgment",
    "payload_bytes": "payload",
    "gso_size_bytes": "gso",
    "wire_segments": "wire",
    "flags": "flags",
    "window_bytes": "window",
    "unacked_bytes": "unacked",
    "unsent_bytes": "unsent",
    "cwnd_segments": "cwnd",
    "ssthresh_segments": "ssthresh",
    "receive_queue_bytes": "queue",
    "cpu": "cpu",
}
_WORDS = {"context": "context", "retransmission": "again"}


@dataclass(frozen=True)
class Segments:
    """Rows of the segment log, shape (n,) each. `UNKNOWN_NUMBER` stands for null.

    `sequence` and `acknowledgment` are relative and unwrapped, `window` is what the row announces; `context` and
    `again` (the kind of retransmission) are places in `CONTEXTS` and `RETRANSMISSIONS`.
    """

    at: Ints
    is_out: Bools
    sequence: Ints
    acknowledgment: Ints
    payload: Ints
    gso: Ints
    wire: Ints
    flags: Ints
    window: Ints
    unacked: Ints
    unsent: Ints
    cwnd: Ints
    ssthresh: Ints
    queue: Ints
    cpu: Ints
    context: Ints
    again: Ints

    @property
    def end(self) -> Ints:
        """One past each row's last octet."""
        return self.sequence + self.payload


def read_segments(
    trial: FlowTrial, host: str, connections: Collection[int] | None = None
) -> dict[int, Segments] | None:
    """The segments of each connection at `host`; None without a log.

    Raises:
        RecordError: the file cannot be read.
    """
    scanned = scan_log(trial, host)
    if scanned is None:
        return None
    there = set(scanned.collect_schema())
    columns = [name for name in (*_NUMBERS, *_WORDS) if name in there]
    log = read_log(trial, host, connections, ("connection", "direction", *columns))
    if log is None:
        return None
    # A log of another version may lack some of the socket's numbers.
    lacks = [pl.lit(UNKNOWN_NUMBER, pl.Int64()).alias(name) for name in (*_NUMBERS, *_WORDS) if name not in there]
    return dict(_split(log.with_columns(lacks)))


def _split(log: pl.DataFrame) -> Iterator[tuple[int, Segments]]:
    """One connection after the other; a log of one alone is not put in order again."""
    if log["connection"].n_unique() > 1:
        log = log.sort("connection", maintain_order=True)
    columns = {name: _numbers(log[column]) for column, name in _NUMBERS.items()}
    columns |= {name: _numbers(log[column].to_physical()) for column, name in _WORDS.items()}
    is_out = (log["direction"] == "out").to_numpy()
    for connection, rows in slices_of(log["connection"].to_numpy()):
        yield connection, Segments(is_out=is_out[rows], **{name: values[rows] for name, values in columns.items()})


def _numbers(column: pl.Series) -> Ints:
    """As Int64, null as `UNKNOWN_NUMBER`."""
    return column.cast(pl.Int64).fill_null(UNKNOWN_NUMBER).to_numpy()


def slices_of(connection: NDArray[np.uint32]) -> Iterator[tuple[int, slice]]:
    """Each connection of a column in order, with its rows."""
    if connection.size == 0:
        return
    bounds = np.flatnonzero(np.diff(connection)) + 1
    starts = np.concatenate(([0], bounds))
    for start, end in zip(starts, np.concatenate((bounds, [connection.size])), strict=True):
        yield int(connection[start]), slice(int(start), int(end))
