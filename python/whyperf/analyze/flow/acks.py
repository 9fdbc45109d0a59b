"""Acknowledgments: how many segments each one answers, why it was sent, duplicates.

A pure ACK has the ACK flag, no payload, and no SYN, FIN or RST.
"""

from dataclasses import dataclass

import polars as pl

SECOND_NS = 1_000_000_000


@dataclass(frozen=True)
class AckRatio:
    """Data per pure ACK over time, of one end: data sent per ACK arrived, or data arrived per ACK sent.

    `intervals` is ascending: `start_ns`, `end_ns`, `segments` and `packets` of data, `acks`,
    `segments_per_ack`, `packets_per_ack` (null without an ACK). The two totals are over all of it.
    `level` is segments, counters or user; at level user packets are null.
    """

    intervals: pl.DataFrame
    segments_per_ack: float | None
    packets_per_ack: float | None
    level: str


def ack_ratio(log: pl.LazyFrame | pl.DataFrame, role: str, interval_ns: int = SECOND_NS) -> AckRatio:
    """The ACK ratio in steps of `interval_ns` from 0, of all connections in `log` together.

    `role` is of the end that made the log. Empty steps within have rows too.
    """
    raise NotImplementedError(log, role, interval_ns)


def ack_reasons(log: pl.LazyFrame | pl.DataFrame) -> pl.DataFrame:
    """Why this end sent its pure ACKs: `reason` (all of them, in the record's order), `count`, `ratio`."""
    raise NotImplementedError(log)


def count_duplicate_acks(log: pl.DataFrame) -> int:
    """Duplicate ACKs that arrived, as RFC 5681 section 2 counts them.

    `log` is of `read_log` with connection, direction, acknowledgment, payload_bytes, flags,
    window_field and unacked_bytes.
    """
    raise NotImplementedError(log)
