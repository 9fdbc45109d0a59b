"""Segment size, unacknowledged bytes and announced window of one connection over time."""

from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

Times = NDArray[np.int64]
Values = NDArray[np.int64] | NDArray[np.uint32]


@dataclass(frozen=True)
class Series:
    """A value over time. `time_ns`, shape (n,), not descending, ns after the start of the load; `value`, shape (n,)."""

    name: str
    unit: str
    time_ns: Times
    value: Values


@dataclass(frozen=True)
class ConnectionSeries:
    """What the study of 1995 draws of a connection, as one side sees it.

    `segment_size`: payload of every packet with payload in the payload's direction, in bytes.
    `unacked`: bytes sent and not acknowledged, after every packet sent and every acknowledgment
    taken. `window`: what the receiver announces, in bytes, at every packet from it.
    `retransmissions`: size of every packet sent again, at its time. At the receiver's end sizes are
    as they arrive, and unacknowledged is what has arrived and its ACKs have not yet answered.
    """

    segment_size: Series
    unacked: Series
    window: Series
    retransmissions: Series


SERIES_COLUMNS = (
    *("time_ns", "direction", "sequence", "acknowledgment", "payload_bytes"),
    *("window_bytes", "unacked_bytes", "retransmission"),
)
"""Columns of `read_log` that `connection_series` wants."""


def connection_series(log: pl.DataFrame, role: str) -> ConnectionSeries:
    """The series of one connection's log, `role` being the role of the end that made it.

    `log` is of `read_log` with `SERIES_COLUMNS`, for one connection. Every point is in them.
    """
    payload, answers = ("out", "in") if role == "sender" else ("in", "out")
    is_data = (pl.col("direction") == payload) & (pl.col("payload_bytes") > 0)
    return ConnectionSeries(
        segment_size=_series(log, is_data, "segment_size", "payload_bytes"),
        unacked=_unacked(log, role, payload),
        window=_series(log, pl.col("direction") == answers, "window", "window_bytes"),
        retransmissions=_series(
            log, is_data & pl.col("retransmission").is_not_null(), "retransmissions", "payload_bytes"
        ),
    )


def _series(log: pl.DataFrame, rows: pl.Expr, name: str, column: str) -> Series:
    points = log.lazy().filter(rows).select("time_ns", column).collect()
    return Series(name, "bytes", points["time_ns"].to_numpy(), points[column].to_numpy())


def _unacked(log: pl.DataFrame, role: str, payload: str) -> Series:
    """The kernel's own count at the sender; where it is not there, from the sequence numbers."""
    if role == "sender" and log["unacked_bytes"].null_count() < log.height:
        return _series(log, pl.col("unacked_bytes").is_not_null(), "unacked", "unacked_bytes")
    is_payload = pl.col("direction") == payload
    sent = pl.when(is_payload).then(pl.col("sequence") + pl.col("payload_bytes")).cum_max().forward_fill()
    taken = pl.when(~is_payload).then(pl.col("acknowledgment")).cum_max().forward_fill()
    counted = log.lazy().select("time_ns", (sent - taken).clip(0).alias("unacked")).drop_nulls()
    return _series(counted.collect(), pl.lit(value=True), "unacked", "unacked")
