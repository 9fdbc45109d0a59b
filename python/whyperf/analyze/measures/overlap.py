"""Shares of interval rows that lie inside a window.

A row says how much happened between two instants, not when. What lies inside a window that cuts
a row is interpolated linearly: the row's amount times the overlapping part of its length.
"""

import polars as pl

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
