"""The frames of a watched result as the measures want them: one side may be missing, and counts began long before."""

from collections.abc import Mapping

import polars as pl

COUNTED = "is_counted"
"""Column of `flows` and `intervals` of a watched result: whether the rows are those that goodput is counted from."""

OF_WATCHED: Mapping[str, tuple[str, ...]] = {
    "watched": ("host", "connection", "whole", "closed", "first_mono_ns", "last_mono_ns"),
    "tcp_info": ("bytes_acked", "bytes_received", "bytes_sent", "bytes_retransmitted", "state"),
}
"""Columns that are read of watched results only."""

PEER_HAS_ENDED = (6, 7, 8, 9, 11)
"""TCP_TIME_WAIT, TCP_CLOSE, TCP_CLOSE_WAIT, TCP_LAST_ACK and TCP_CLOSING: the peer's FIN has come."""

# SYN and FIN have a sequence number each (RFC 9293 section 3.4), and Linux counts them in these totals.
SENT_PAYLOAD = pl.min_horizontal(
    pl.col("bytes_acked").cast(pl.Int64),
    pl.col("bytes_sent").cast(pl.Int64) - pl.col("bytes_retransmitted").cast(pl.Int64),
)
"""Payload that the peer has acknowledged, of samples of `tcp_info`; before Linux 4.19 with SYN and FIN."""
RECEIVED_PAYLOAD = pl.col("bytes_received").cast(pl.Int64) - (
    pl.col("state").is_in(PEER_HAS_ENDED) & (pl.col("bytes_received") > 0)
).cast(pl.Int64)
"""Payload received in sequence, of samples of `tcp_info`."""

GROWING = ("retransmitted_segments", "data_segments_out", "bytes_acked", "bytes_received")
"""Columns of `tcp_info` that count since the connection opened."""


def is_counted(rows: pl.DataFrame) -> pl.Expr:
    """Which rows of `flows` or `intervals` goodput is counted from: the receiver's, or those that are marked."""
    return pl.col(COUNTED) if COUNTED in rows.columns else pl.col("role") == "receiver"


def watched_frames(frames: Mapping[str, pl.DataFrame], ends: pl.DataFrame) -> dict[str, pl.DataFrame]:
    """The frames of a watched result.

    Of a connection of which only the sender was watched, what the receiver has acknowledged counts. Its first and last
    call are those of the first and the last interval. Counts of `tcp_info` begin with the first sample, unless the
    connection was watched from its first segment on; those of payload lose what is counted for SYN and FIN.
    """
    received = ends.filter(pl.col("role") == "receiver").select("trial").unique()
    spans = (
        frames["intervals"]
        .group_by("trial", "host")
        .agg(pl.col("start_mono_ns").min().alias("from_ns"), pl.col("end_mono_ns").max().alias("to_ns"))
    )
    flows = (
        frames["flows"]
        .join(spans, on=["trial", "host"], how="left")
        .with_columns(
            pl.coalesce("first_call_mono_ns", "from_ns").alias("first_call_mono_ns"),
            pl.coalesce("last_call_mono_ns", "to_ns").alias("last_call_mono_ns"),
        )
        .drop("from_ns", "to_ns")
    )
    return {
        **frames,
        "flows": _marked(flows, received),
        "intervals": _marked(frames["intervals"], received),
        "tcp_info": _since_watched(frames["tcp_info"], frames["watched"]),
    }


def _marked(rows: pl.DataFrame, received: pl.DataFrame) -> pl.DataFrame:
    return rows.with_columns(
        ((pl.col("role") == "receiver") | ~pl.col("trial").is_in(received["trial"].to_list())).alias(COUNTED)
    )


def _since_watched(samples: pl.DataFrame, watched: pl.DataFrame) -> pl.DataFrame:
    whole = watched.select("trial", "host", "whole").unique(["trial", "host"])
    samples = samples.with_columns(
        SENT_PAYLOAD.clip(0).cast(pl.UInt64).alias("bytes_acked"),
        RECEIVED_PAYLOAD.clip(0).cast(pl.UInt64).alias("bytes_received"),
    )

    def grown(name: str) -> pl.Expr:
        count = pl.col(name).cast(pl.Int64)
        before = count.first().over(["trial", "host"], order_by="sample_mono_ns")
        kept = count - pl.when(pl.col("whole")).then(0).otherwise(before)
        return kept.clip(0).cast(samples.schema[name]).alias(name)

    return (
        samples.join(whole, on=["trial", "host"], how="left", maintain_order="left")
        .with_columns(pl.col("whole").fill_null(value=False))
        .with_columns(grown(name) for name in GROWING)
        .drop("whole")
    )
