"""Windows: asked for, granted by the kernel, announced on the wire."""

import polars as pl

from whyperf.analyze.read.watched import is_counted


def cell_windows(flows: pl.DataFrame, tcp_info: pl.DataFrame) -> pl.DataFrame:
    """The receive window of each cell, in bytes, over all connections and trials.

    One row a `cell`: `requested_bytes` (null when left to the kernel), `granted_bytes` (the receive
    buffer as the kernel reports it, twice the request for its own bookkeeping; median),
    `clamp_bytes`, `announced_min`, `announced_median`, `announced_max`, `announced_samples`.

    Announced windows are what the sender saw (`peer_window_bytes`); where its kernel does not say
    (before Linux 5.4), what the receiver announced (`own_window_bytes`). Samples before the first
    payload was read, and outside phase `measure`, are left out.
    """
    reads = flows.filter(pl.col("role") == "receiver")
    asked = pl.coalesce("receive_buffer_requested_bytes", "window_requested_bytes")
    granted = reads.group_by("cell").agg(
        asked.max().alias("requested_bytes"),
        pl.col("receive_buffer_granted_bytes").median().cast(pl.Int64).alias("granted_bytes"),
        pl.col("window_clamp_bytes").median().cast(pl.Int64).alias("clamp_bytes"),
    )
    counted = flows.filter(is_counted(flows))
    # A record that somebody changed may have several rows of a connection.
    began = counted.group_by("trial", "connection", maintain_order=True).agg(pl.col("first_call_mono_ns").min())
    samples = (
        tcp_info.filter(pl.col("phase") == "measure")
        .join(began, on=["trial", "connection"], how="inner")
        .filter(pl.col("sample_mono_ns") >= pl.col("first_call_mono_ns"))
    )
    seen = _distribution(samples, "sender", "peer_window_bytes")
    advertised = _distribution(samples, "receiver", "own_window_bytes").join(seen, on="cell", how="anti")
    cells = counted.select("cell").unique(maintain_order=True)
    return cells.join(granted, on="cell", how="left").join(pl.concat([seen, advertised]), on="cell", how="left")


def _distribution(samples: pl.DataFrame, role: str, column: str) -> pl.DataFrame:
    window = pl.col(column)
    return (
        samples.filter((pl.col("role") == role) & window.is_not_null())
        .group_by("cell")
        .agg(
            window.min().cast(pl.Int64).alias("announced_min"),
            window.median().cast(pl.Int64).alias("announced_median"),
            window.max().cast(pl.Int64).alias("announced_max"),
            pl.len().cast(pl.Int64).alias("announced_samples"),
        )
    )
