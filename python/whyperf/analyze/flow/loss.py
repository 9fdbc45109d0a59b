"""Segments sent again, and segments out of order."""

import polars as pl


def retransmission_kinds(log: pl.LazyFrame | pl.DataFrame) -> pl.DataFrame:
    """Packets sent again by kind: `kind` (all, in the record's order), `packets`, `segments`, `bytes`."""
    raise NotImplementedError(log)


def retransmission_times(log: pl.LazyFrame | pl.DataFrame) -> pl.DataFrame:
    """Every packet sent again, ascending: `time_ns`, `connection`, `kind`, `payload_bytes`, `wire_segments`."""
    raise NotImplementedError(log)


def count_out_of_order(log: pl.DataFrame) -> int:
    """Packets with payload that arrived and were not the next in sequence.

    `log` is of `read_log` with connection, direction, sequence and payload_bytes. A hole that the
    log never fills is taken for a lost event, not for a lost segment.
    """
    raise NotImplementedError(log)
