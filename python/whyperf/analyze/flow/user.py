"""What everybody may ask of his own sockets (level 0), as differences of TCP_INFO samples."""

import polars as pl

from whyperf.analyze.flow.acks import AckRatio, ratio_of


def user_ack_ratio(tcp_info: pl.DataFrame, role: str) -> AckRatio:
    """The ACK ratio between each two samples, all connections together; see `acks.ack_ratio`.

    Segments without payload are taken for pure ACKs: SYN and FIN are too few to matter.
    """
    data, acks = ("out", "in") if role == "sender" else ("in", "out")
    segments, pure = pl.col(f"data_segments_{data}"), pl.col(f"segments_{acks}") - pl.col(f"data_segments_{acks}")
    numbered = tcp_info.sort("sample_ns").with_columns(pl.int_range(pl.len()).over("connection").alias("sample"))
    steps = numbered.with_columns(
        pl.col("sample_ns").shift(1).over("connection").alias("before_ns"),
        segments.cast(pl.Int64).diff().over("connection").alias("segments"),
        pure.cast(pl.Int64).diff().over("connection").alias("acks"),
    ).drop_nulls("before_ns")
    # The k-th samples of all connections belong together: the sampler takes them in one go.
    intervals = steps.group_by("sample").agg(
        pl.col("before_ns").min().alias("start_ns"),
        pl.col("sample_ns").max().alias("end_ns"),
        pl.col("segments").sum(),
        pl.lit(None, dtype=pl.Int64).alias("packets"),
        pl.col("acks").sum(),
    )
    return ratio_of(intervals.sort("sample").drop("sample"), "user")
