"""Send and receive calls: how many, how large, how often cut short."""

import polars as pl


def cell_calls(flows: pl.DataFrame) -> pl.DataFrame:
    """Calls of each cell and end, pooled over its trials and connections.

    One row a `cell` and `role`: `per_kbyte` (calls per 1024 octets moved), `mean_size_bytes` (octets
    moved a call), `short_ratio` (calls that moved less than they asked for), `other_per_kbyte`
    (other system calls of the data path). Ratios are null where nothing moved or no call was made.
    """
    octets = pl.col("payload_bytes").cast(pl.Float64).sum()
    calls = pl.col("calls_count").cast(pl.Float64).sum()
    short = pl.col("short_calls_count").cast(pl.Float64).sum()
    other = pl.col("other_calls_count").cast(pl.Float64).sum()
    return flows.group_by("cell", "role").agg(
        pl.when(octets > 0).then(calls * 1024 / octets).alias("per_kbyte"),
        pl.when(calls > 0).then(octets / calls).alias("mean_size_bytes"),
        pl.when(calls > 0).then(short / calls).alias("short_ratio"),
        pl.when(octets > 0).then(other * 1024 / octets).alias("other_per_kbyte"),
    )
