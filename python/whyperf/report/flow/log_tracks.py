"""Reads the log of a trial into tracks.

Columns are read and sorted one by one: ten million rows take about half a gigabyte, whereas a frame and its sorted copy
take three times that.
"""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from whyperf.analyze.flow import FlowTrial, scan_log
from whyperf.report.flow.terms import KSOFTIRQD, RETRANSMITTED
from whyperf.report.flow.track import Codes, Counts, Sides, Track, held, outstanding

SYN, ACK = 2, 16
UNKNOWN = 2**32 - 1
"""An unknown congestion window."""
Order = npt.NDArray[np.intp] | None


def read_tracks(trial: FlowTrial, host: str, connections: Sequence[int]) -> Iterator[Track]:
    """Yields the tracks of these connections at one host; connections without a row are left out.

    Raises:
        RecordError: the log cannot be read.
    """
    log = scan_log(trial, host, connections)
    if log is None:
        return
    columns, bounds = _ordered(log)
    role = trial.ends[host].role
    for connection, rows in bounds:
        own = {name: values[rows] for name, values in columns.items()}
        if rows.stop == len(columns["time_ns"]):
            columns.clear()
        yield _track(host, role, connection, own)


def _ordered(log: pl.LazyFrame) -> tuple[dict[str, npt.NDArray[Any]], list[tuple[int, slice]]]:
    """All columns, sorted by connection and time, and the rows of each connection."""
    connection = _column(log, pl.col("connection"), None)
    time = _column(log, pl.col("time_ns"), None)
    order = _order(connection, time)
    columns = {"time_ns": time if order is None else time[order]}
    if order is not None:
        connection = connection[order]
    starts = [0, *(np.flatnonzero(connection[1:] != connection[:-1]) + 1).tolist()] if len(connection) else []
    stops = [*starts[1:], len(connection)] if starts else []
    bounds = [(int(connection[start]), slice(start, stop)) for start, stop in zip(starts, stops, strict=True)]
    del connection, time
    for name, expression in _EXPRESSIONS.items():
        columns[name] = _column(log, expression, order)
    return columns, bounds


def _order(connection: npt.NDArray[Any], time: npt.NDArray[Any]) -> Order:
    """The indices that sort the rows; None where they are sorted."""
    if bool((connection == connection[:1]).all()):
        return None if bool((time[1:] >= time[:-1]).all()) else np.argsort(time, kind="stable")
    return np.lexsort((time, connection))


def _column(log: pl.LazyFrame, expression: pl.Expr, order: Order) -> npt.NDArray[Any]:
    values = log.select(expression.alias("values")).collect()["values"]
    return values.to_numpy(writable=True) if order is None else values.to_numpy()[order]


def _number(name: str, kind: type[pl.DataType] = pl.UInt32) -> pl.Expr:
    return pl.col(name).cast(kind)


_EXPRESSIONS: dict[str, pl.Expr] = {
    "out": pl.col("direction") == "out",
    "sequence": _number("sequence"),
    "acknowledgment": _number("acknowledgment"),
    "payload_bytes": _number("payload_bytes"),
    "window_bytes": _number("window_bytes"),
    "gso_size_bytes": _number("gso_size_bytes", pl.UInt16),
    "wire_segments": _number("wire_segments", pl.UInt16),
    "cwnd_segments": _number("cwnd_segments").fill_null(UNKNOWN),
    "flags": _number("flags", pl.UInt8),
    "context_code": pl.col("context").to_physical().cast(pl.UInt8) + pl.col("ksoftirqd").cast(pl.UInt8) * KSOFTIRQD,
    "reason_code": (pl.col("ack_reason").to_physical().cast(pl.UInt8) + 1).fill_null(0)
    + (pl.col("retransmission").to_physical().cast(pl.UInt8) + 1).fill_null(0) * RETRANSMITTED,
    "unacked_bytes": _number("unacked_bytes").fill_null(UNKNOWN),
}


def _track(host: str, role: str, connection: int, columns: dict[str, npt.NDArray[Any]]) -> Track:
    out: Sides = columns["out"]
    make_relative(columns, out)
    sends = role == "sender"
    own = columns.pop("unacked_bytes")
    unacked = (
        held(own, own != UNKNOWN)
        if sends
        else outstanding(~out, columns["sequence"], columns["payload_bytes"], columns["acknowledgment"])
    )
    advertised = held(columns["window_bytes"], ~out if sends else out)
    return Track(
        host=host, role=role, connection=connection, unacked_bytes=unacked, advertised_bytes=advertised, **columns
    )


def make_relative(columns: dict[str, npt.NDArray[Any]], out: Sides) -> None:
    """Makes the numbers relative, in place: in each direction the first byte of the connection is 1, its SYN is 0."""
    flags: Codes = columns["flags"]
    sequence, acknowledgment = columns["sequence"], columns["acknowledgment"]
    first = {side: _initial(sequence, flags, out == side) for side in (True, False)}
    sequence -= np.where(out, first[True], first[False])
    acknowledgment -= np.where(out, first[False], first[True])
    # A row without an ACK keeps the number of the row before it in its direction.
    acked = (flags & ACK) != 0
    silent = np.flatnonzero(~acked)
    changing = slice(0, int(silent[-1]) + 1 if len(silent) else 0)
    for side in (True, False):
        rows = np.flatnonzero(out[changing] == side)
        acknowledgment[rows] = held(acknowledgment[rows], acked[rows])


def _initial(sequence: Counts, flags: Codes, side: Sides) -> np.uint32:
    """The initial sequence number of a direction: that of its SYN, or the one that makes the first byte 1."""
    syn = np.flatnonzero(side & ((flags & SYN) != 0))[:1]
    if len(syn):
        return np.uint32(sequence[syn[0]])
    first = np.flatnonzero(side)[:1]
    return np.uint32((int(sequence[first[0]]) - 1) % 2**32) if len(first) else np.uint32(0)
