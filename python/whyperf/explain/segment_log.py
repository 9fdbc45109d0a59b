"""The segment logs of both hosts, read once: the time budget, the facts and the patterns use the same columns."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property

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

_OF_BOTH = (
    *("time_ns", "connection", "direction", "sequence", "acknowledgment", "payload_bytes", "wire_segments"),
    *("gso_size_bytes", "flags", "window_bytes", "context", "retransmission"),
)
_COLUMNS = {
    "sender": (
        *(*_OF_BOTH, "unacked_bytes", "unsent_bytes", "cwnd_segments", "ssthresh_segments", "srtt_ns"),
        *("send_window_bytes", "pacing_rate_bytes_per_second"),
    ),
    "receiver": (*_OF_BOTH, "receive_queue_bytes", "ack_reason"),
}


def _numbers(name: str) -> cached_property[Ints]:
    return cached_property(lambda connection: connection.numbers(name))


def _brief(name: str) -> property:
    """Of a column that is used once or twice: made each time, which costs less than to keep it."""
    return property(lambda connection: connection.numbers(name))


@dataclass(frozen=True, eq=False)
class LoggedConnection:
    """The segments of one connection that one host logged, in the order of time.

    `rows` has the columns of the table `segments` (docs/reference/record.md), with `sequence` and `acknowledgment`
    relative and unwrapped. The arrays have their names and shape (n,): null is `UNKNOWN_NUMBER`, words are places in
    `CONTEXTS` and `RETRANSMISSIONS`. An array is made when it is asked for.
    """

    rows: pl.DataFrame

    time_ns = _numbers("time_ns")
    sequence = _numbers("sequence")
    acknowledgment = _numbers("acknowledgment")
    payload_bytes = _numbers("payload_bytes")
    flags = _numbers("flags")
    context = _numbers("context")
    retransmission = _numbers("retransmission")
    gso_size_bytes = _brief("gso_size_bytes")
    wire_segments = _brief("wire_segments")
    window_bytes = _brief("window_bytes")
    unacked_bytes = _brief("unacked_bytes")
    unsent_bytes = _brief("unsent_bytes")
    cwnd_segments = _brief("cwnd_segments")
    ssthresh_segments = _brief("ssthresh_segments")
    receive_queue_bytes = _brief("receive_queue_bytes")

    def numbers(self, name: str) -> Ints:
        """A column as Int64."""
        column: Ints = self.rows[name].to_physical().cast(pl.Int64).fill_null(UNKNOWN_NUMBER).to_numpy()
        return column

    @cached_property
    def is_out(self) -> Bools:
        """Which segments left."""
        left: Bools = (self.rows["direction"] == "out").to_numpy()
        return left

    @property
    def sequence_end(self) -> Ints:
        """One past each row's last octet."""
        return self.sequence + self.payload_bytes

    @property
    def since_start(self) -> "LoggedConnection":
        """The same from the start of the load on."""
        return LoggedConnection(self.rows[int(np.searchsorted(self.time_ns, 0)) :])


@dataclass(frozen=True, eq=False)
class SegmentLog:
    """The segments of all connections that one host logged, in the order of time."""

    rows: pl.DataFrame

    @cached_property
    def _rows_of(self) -> dict[int, NDArray[np.uint32]]:
        connection = self.rows["connection"].to_numpy()
        order = np.argsort(connection, kind="stable").astype(np.uint32)
        return {number: order[rows] for number, rows in slices_of(connection[order])}

    @property
    def connections(self) -> list[int]:
        """Their numbers."""
        return list(self._rows_of)

    def connection(self, number: int) -> LoggedConnection | None:
        """One of them; None where it is not in the log."""
        rows = self._rows_of.get(number)
        if rows is None:
            return None
        return LoggedConnection(self.rows if rows.size == self.rows.height else self.rows[rows])


@dataclass(frozen=True)
class SegmentLogs:
    """The logs of both hosts, None where there is none."""

    sender: SegmentLog | None = None
    receiver: SegmentLog | None = None


def read_logs(trial: FlowTrial) -> SegmentLogs:
    """The logs of both hosts.

    Raises:
        RecordError: a file cannot be read.
    """
    with ThreadPoolExecutor(len(_COLUMNS)) as readers:
        logs = SegmentLogs(*readers.map(lambda role: _read(trial, role), _COLUMNS))
    return _aligned(trial, logs) if trial.is_watched else logs


def _aligned(trial: FlowTrial, logs: SegmentLogs) -> SegmentLogs:
    """With the receiver's numbers counted from where the sender's begin.

    Relative numbers begin with the SYN. Of a connection that was open before, each log begins with another segment.
    """
    sender, receiver = trial.end("sender"), trial.end("receiver")
    if logs.sender is None or logs.receiver is None or sender is None or receiver is None:
        return logs
    own, other = _bases(trial, sender.host, logs.sender), _bases(trial, receiver.host, logs.receiver)
    facing = own.with_columns(pl.col("direction").replace_strict({"in": "out", "out": "in"}))
    shifts = other.join(facing, on=("connection", "direction"), suffix="_own").with_columns(
        # As signed numbers of 32 bits: the logs begin less than 2 GiB apart.
        ((pl.col("base") - pl.col("base_own") + (1 << 31)) % (1 << 32) - (1 << 31)).alias("shift")
    )
    if (shifts["shift"] == 0).all():
        return logs
    by_stream = shifts.select("connection", "direction", "shift")
    turned = by_stream.with_columns(pl.col("direction").replace_strict({"in": "out", "out": "in"}))
    rows = (
        logs.receiver.rows.with_columns(pl.col("direction").cast(pl.String).alias("stream"))
        .join(by_stream, left_on=("connection", "stream"), right_on=("connection", "direction"), how="left")
        .join(
            turned, left_on=("connection", "stream"), right_on=("connection", "direction"), how="left", suffix="_back"
        )
        .with_columns(
            pl.col("sequence") + pl.col("shift").fill_null(0),
            pl.col("acknowledgment") + pl.col("shift_back").fill_null(0),
        )
    )
    return SegmentLogs(logs.sender, SegmentLog(rows.drop("stream", "shift", "shift_back")))


def _bases(trial: FlowTrial, host: str, log: SegmentLog) -> pl.DataFrame:
    """The number on the wire that each stream's relative numbers count from: connection, direction, base."""
    raw = scan_log(trial, host)
    assert raw is not None
    keys = ("connection", "direction")
    on_wire = raw.select("time_ns", *keys, pl.col("sequence").cast(pl.Int64).alias("raw")).collect()
    on_wire = on_wire.sort("time_ns", maintain_order=True).group_by(keys, maintain_order=True).first()
    relative = log.rows.group_by(keys, maintain_order=True).agg(pl.col("sequence").first())
    both = on_wire.with_columns(pl.col("direction").cast(pl.String)).join(
        relative.with_columns(pl.col("direction").cast(pl.String)), on=keys
    )
    return both.select(*keys, ((pl.col("raw") - pl.col("sequence")) % (1 << 32)).alias("base"))


def _read(trial: FlowTrial, role: str) -> SegmentLog | None:
    end = trial.end(role)
    scanned = None if end is None else scan_log(trial, end.host)
    if end is None or scanned is None:
        return None
    there = scanned.collect_schema()
    log = read_log(trial, end.host, columns=[name for name in _COLUMNS[role] if name in there])
    if log is None:
        return None
    # A log of another version may lack some of the socket's numbers.
    lacks = [pl.lit(None, pl.Int64()).alias(name) for name in _COLUMNS[role] if name not in there]
    return SegmentLog(log.with_columns(lacks))


def slices_of(connection: NDArray[np.uint32]) -> Iterator[tuple[int, slice]]:
    """Each connection of a column in order, with its rows."""
    if connection.size == 0:
        return
    bounds = np.flatnonzero(np.diff(connection)) + 1
    starts = np.concatenate(([0], bounds))
    for start, end in zip(starts, np.concatenate((bounds, [connection.size])), strict=True):
        yield int(connection[start]), slice(int(start), int(end))
