"""Windows: asked for, granted by the kernel, announced on the wire.

Shares of interval rows that lie inside a window.

A row says how much happened between two instants, not when. What lies inside a window that cuts
a row is interpolated linearly: the row's amount times the overlapping part of its length.
"""

import polars as pl

from whyperf.analyze.read.watched import is_counted

WINDOWS = ("window_start_ns", "window_end_ns")
"""Columns that name a trial's window."""


def with_overlap(rows: pl.DataFrame, windows: pl.DataFrame) -> pl.DataFrame:
    """Adds `overlap_ns` and `share` (0 to 1) of each row of `rows` within its trial's window.

    `rows` has `trial`, `start_mono_ns`, `end_mono_ns`; `windows` has `trial` and `WINDOWS`. Rows of
    trials without a window, and rows that do not touch theirs, are left out. A row of length 0
    inside the window has share 1.
    """
    start = pl.max_horizontal("start_mono_ns", "window_start_ns")
    end = pl.min_horizontal("end_mono_ns", "window_end_ns")
    length = pl.col("end_mono_ns") - pl.col("start_mono_ns")
    share = pl.when(length > 0).then(pl.col("overlap_ns") / length).otherwise(1.0)
    return (
        rows.join(windows.select("trial", *WINDOWS), on="trial", how="inner")
        .filter(pl.col("window_end_ns") > pl.col("window_start_ns"))
        .with_columns((end - start).alias("overlap_ns"))
        .filter((pl.col("overlap_ns") > 0) | ((length == 0) & (pl.col("overlap_ns") == 0)))
        .with_columns(share.alias("share"))
        .drop(*WINDOWS)
    )


def sum_within(rows: pl.DataFrame, windows: pl.DataFrame, columns: list[str], by: list[str]) -> pl.DataFrame:
    """Sums `columns` of `rows` inside each trial's window, one row a group `by`, as Float64."""
    shared = with_overlap(rows, windows)
    return shared.group_by(by).agg((pl.col(name) * pl.col("share")).sum().alias(name) for name in columns)


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
