"""Segment size, unacknowledged bytes and announced window of one connection over time."""

from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

Times = NDArray[np.int64]
Values = NDArray[np.int64]


@dataclass(frozen=True)
class Series:
    """A value over time. `time_ns`, shape (n,), not descending, ns after the start of the load; `value`, shape (n,)."""

    name: str
    unit: str
    time_ns: Times
    value: Values


@dataclass(frozen=True)
class ConnectionSeries:
    """What the study of 1995 draws of a connection, as the data's sender sees it.

    `segment_size`: payload of every packet with payload sent, in bytes. `unacked`: bytes sent and
    not acknowledged, after every packet sent and every acknowledgment taken. `window`: what the
    receiver announces, in bytes, at every packet from it. `retransmissions`: size of every packet
    sent again, at its time. At a receiver's end they are seen from there: sizes as they arrive,
    bytes as its own acknowledgments leave, the window as it announces it.
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
    raise NotImplementedError(log, role)
