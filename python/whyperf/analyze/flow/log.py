"""The segment log of one end, typed small and on the controller's clock."""

from collections.abc import Collection, Sequence

import polars as pl

from whyperf.analyze.flow.trial import FlowTrial

DIRECTIONS = ("out", "in")
CONTEXTS = ("process", "net_rx", "timer", "hrtimer", "worker", "other")
ACK_REASONS = (
    *("delayed_timer", "read_call", "second_segment", "quick", "out_of_order"),
    *("window_probe", "fin", "handshake", "other"),
)
RETRANSMISSIONS = ("timeout", "fast", "probe", "other")

LOG_COLUMNS = ("time_ns", "connection", "direction", "sequence", "acknowledgment", "payload_bytes", "wire_segments")
"""Columns of `read_log` when none are named."""


def scan_log(trial: FlowTrial, host: str, connections: Collection[int] | None = None) -> pl.LazyFrame | None:
    """The log of the end at `host`, nothing read yet, rows in no order; None when there is no log.

    The record's columns with `time_ns` (Int64, ns after the start of the load) for
    `segment_mono_ns`, without `host` and `role`; texts are enums. `sequence` and `acknowledgment`
    are raw (UInt32).
    """
    raise NotImplementedError(trial, host, connections)


def read_log(
    trial: FlowTrial, host: str, connections: Collection[int] | None = None, columns: Sequence[str] = LOG_COLUMNS
) -> pl.DataFrame | None:
    """The log of the end at `host` in the order of time; None when there is no log.

    Args:
        trial: whose.
        host: near or far.
        connections: numbers of those wanted; all when absent.
        columns: those wanted, of `scan_log`; ask for few, a log may have millions of rows.

    `sequence` and `acknowledgment` are Int64, relative and unwrapped per connection and direction:
    the initial sequence number is 0 and the first octet 1, beyond 4 GiB they go on growing.
    Without the handshake, what the first segment carries begins at 1. `acknowledgment` is null in
    a segment without the ACK flag.

    Raises:
        RecordError: the file cannot be read.
    """
    raise NotImplementedError(trial, host, connections, columns)
