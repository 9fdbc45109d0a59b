"""From the counters of the kernel (level 1), what the other modules make of the log."""

import polars as pl

from whyperf.analyze.flow.acks import AckRatio


def counted_ack_ratio(counters: pl.DataFrame, role: str) -> AckRatio:
    """The ACK ratio of each interval of the table, all connections together; see `acks.ack_ratio`."""
    raise NotImplementedError(counters, role)


def counted_ack_reasons(counters: pl.DataFrame) -> pl.DataFrame:
    """As `acks.ack_reasons`."""
    raise NotImplementedError(counters)


def counted_super_segments(counters: pl.DataFrame) -> pl.DataFrame:
    """As `transmissions.super_segments`, in the table's own intervals."""
    raise NotImplementedError(counters)


def counted_contexts(counters: pl.DataFrame) -> pl.DataFrame:
    """As `transmissions.contexts`; bytes are null, the kernel counts packets."""
    raise NotImplementedError(counters)
