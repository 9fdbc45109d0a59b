"""Segments sent again."""

import polars as pl


def trial_retransmissions(tcp_info: pl.DataFrame) -> pl.DataFrame:
    """Retransmitted and data segments of each trial, over its whole life and all connections.

    The kernel's counts only grow, so the largest of a connection's samples is its last. One row a
    trial: `trial`, `cell`, `retransmitted_segments`, `data_segments`.
    """
    connections = (
        tcp_info.filter(pl.col("role") == "sender")
        .group_by("trial", "cell", "connection")
        .agg(
            pl.col("retransmitted_segments").max().cast(pl.Int64),
            pl.col("data_segments_out").max().cast(pl.Int64).alias("data_segments"),
        )
    )
    return connections.group_by("trial", "cell").agg(
        pl.col("retransmitted_segments").sum(), pl.col("data_segments").sum()
    )
