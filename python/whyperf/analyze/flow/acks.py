"""Acknowledgments: how many segments each one answers, why it was sent, duplicates.

A pure ACK has the ACK flag, no payload, and no SYN, FIN or RST.
"""

from dataclasses import dataclass

import polars as pl

from whyperf.analyze.flow.log import ACK, ACK_REASONS, FIN, RST, SYN
from whyperf.analyze.flow.steps import SECOND_NS, by_value, divided, quotient, share, sum_in_steps

_IS_PLAIN = (pl.col("flags") & (FIN | SYN | RST)) == 0
IS_PURE_ACK = (pl.col("payload_bytes") == 0) & (pl.col("flags") & ACK != 0) & _IS_PLAIN
"""Rows of a log that are pure ACKs."""


@dataclass(frozen=True)
class AckRatio:
    """Data per pure ACK over time, of one host: data sent per ACK arrived, or data arrived per ACK sent.

    `intervals` is ascending: `start_ns`, `end_ns`, `segments` and `packets` of data, `acks`,
    `segments_per_ack`, `packets_per_ack` (null without an ACK). The two totals are over all of it.
    """

    intervals: pl.DataFrame
    segments_per_ack: float | None
    packets_per_ack: float | None


def ack_ratio(log: pl.LazyFrame | pl.DataFrame, role: str, interval_ns: int = SECOND_NS) -> AckRatio:
    """The ACK ratio in steps of `interval_ns` from 0, of all connections in `log` together.

    `role` is of the end that made the log. Empty steps within have rows too.
    """
    data = (pl.col("payload_bytes") > 0) & (pl.col("direction") == ("out" if role == "sender" else "in"))
    acks = IS_PURE_ACK & (pl.col("direction") == ("in" if role == "sender" else "out"))
    sums = {
        "segments": pl.col("wire_segments").cast(pl.Int64).filter(data).sum(),
        "packets": data.sum(),
        "acks": acks.sum(),
    }
    intervals = sum_in_steps(log.lazy().filter(data | acks), sums, interval_ns)
    acks_count = int(intervals["acks"].sum())
    return AckRatio(
        intervals=intervals.with_columns(
            divided("segments", "acks", "segments_per_ack"), divided("packets", "acks", "packets_per_ack")
        ),
        segments_per_ack=quotient(int(intervals["segments"].sum()), acks_count),
        packets_per_ack=quotient(int(intervals["packets"].sum()), acks_count),
    )


def ack_reasons(log: pl.LazyFrame | pl.DataFrame) -> pl.DataFrame:
    """Why this end sent its pure ACKs: `reason` (all of them, in the record's order), `count`, `ratio`."""
    reasons = log.lazy().filter(pl.col("ack_reason").is_not_null()).group_by(pl.col("ack_reason").alias("reason"))
    counts = reasons.agg(pl.len().cast(pl.Int64).alias("count")).collect(engine="streaming")
    return by_value(counts, "reason", ACK_REASONS).with_columns(share("count", "ratio"))


def count_duplicate_acks(log: pl.DataFrame) -> int:
    """Duplicate ACKs that arrived, as RFC 5681 section 2 counts them.

    `log` is of `read_log` with `DUPLICATE_COLUMNS`. Where unacknowledged bytes are not known, a
    duplicate is one even with nothing outstanding.
    """
    arrived = log.filter((pl.col("direction") == "in") & (pl.col("flags") & ACK != 0))
    highest, window = pl.col("acknowledgment").cum_max().shift(1), pl.col("window_field").shift(1)
    if arrived["connection"].n_unique() > 1:
        highest, window = highest.over("connection"), window.over("connection")
    is_duplicate = (
        IS_PURE_ACK
        & (pl.col("acknowledgment") == highest)
        & (pl.col("window_field") == window)
        & (pl.col("unacked_bytes").fill_null(1) > 0)
    )
    return int(arrived.select(is_duplicate.sum()).item())


DUPLICATE_COLUMNS = (
    *("connection", "direction", "acknowledgment", "payload_bytes", "flags", "window_field", "unacked_bytes"),
)
