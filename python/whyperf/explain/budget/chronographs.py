"""The kernel's own clocks of what limits a sender, beside the states that say the same.

`tcp_get_info_chrono_stats` (net/ipv4/tcp.c) gives three sums, in jiffies: busy (anything unacknowledged or
unsent), of it limited by the receive window, and limited by the send buffer.
"""

import polars as pl

from whyperf.analyze.flow import FlowTrial
from whyperf.analyze.flow.trial import told_unreadable

CLOCKS = ("busy_ns", "rwnd_limited_ns", "send_buffer_limited_ns")


def read_samples(trial: FlowTrial, host: str) -> pl.DataFrame:
    """The chronographs of the end at `host`: connection, sample_ns, and `CLOCKS`, by connection and time; or no row."""
    schema = {"connection": pl.UInt32(), "sample_ns": pl.Int64(), **dict.fromkeys(CLOCKS, pl.Int64())}
    path = trial.file("tcp_info", host)
    if path is None:
        return pl.DataFrame(schema=schema)
    shift = trial.zero_mono_ns + trial.ends[host].offset_ns
    with told_unreadable(path):
        table = pl.scan_parquet(path)
        if not {"connection", "sample_mono_ns", *CLOCKS} <= set(table.collect_schema()):
            return pl.DataFrame(schema=schema)
        return (
            table.select(
                "connection",
                (pl.col("sample_mono_ns").cast(pl.Int64) - shift).alias("sample_ns"),
                *[pl.col(name).cast(pl.Int64) for name in CLOCKS],
            )
            .drop_nulls()
            .sort("connection", "sample_ns")
            .collect()
        )
