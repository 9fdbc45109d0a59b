"""Segments that TCP counted and the log does not have.

The last sample of TCP_INFO is taken when all payload was delivered: nothing is in flight, and up
to that instant TCP has counted what the log should hold (`tcpi_segs_out`, `tcpi_segs_in`: a
super-segment as its wire segments). A SYN ACK leaves before there is a socket to count it. What a
firewall drops behind the log's hooks is logged and not counted, so only the other direction shows it.
"""

import polars as pl

from whyperf.analyze.flow.log import ACK, SYN

_DIRECTIONS = ("out", "in")


def unlogged_segments(log: pl.LazyFrame, tcp_info: pl.DataFrame) -> pl.DataFrame:
    """Of each connection with a last sample: `connection`, `unlogged_segments` (Int64), both directions together.

    Data and all segments are compared each for themselves; the larger difference counts.
    """
    final = tcp_info.filter(pl.col("final")).unique("connection")
    if final.is_empty():
        return pl.DataFrame(schema={"connection": pl.UInt32(), "unlogged_segments": pl.Int64()})
    counted = final.select("connection", pl.col("sample_ns").alias("until_ns"))
    is_syn_ack = (pl.col("flags") & (SYN | ACK)) == (SYN | ACK)
    wire = pl.col("wire_segments").cast(pl.Int64)
    sums = []
    for direction in _DIRECTIONS:
        rows = (
            (pl.col("direction") == direction) & ~is_syn_ack if direction == "out" else pl.col("direction") == direction
        )
        sums.append(wire.filter(rows).sum().alias(f"segments_{direction}"))
        sums.append(wire.filter(rows & (pl.col("payload_bytes") > 0)).sum().alias(f"data_segments_{direction}"))
    logged = (
        log.join(counted.lazy(), on="connection", how="inner")
        .filter(pl.col("time_ns") <= pl.col("until_ns"))
        .group_by("connection")
        .agg(sums)
        .collect(engine="streaming")
    )
    both = final.join(logged, on="connection", how="left", suffix="_logged")
    missing = [
        pl.max_horizontal(_missing(f"segments_{direction}"), _missing(f"data_segments_{direction}"))
        for direction in _DIRECTIONS
    ]
    return both.select("connection", pl.sum_horizontal(missing).alias("unlogged_segments"))


def _missing(column: str) -> pl.Expr:
    counted, logged = pl.col(column).cast(pl.Int64), pl.col(f"{column}_logged").fill_null(0)
    return (counted - logged).clip(0).fill_null(0)
