"""Instants of both ends on one clock: the controller's CLOCK_MONOTONIC."""

import polars as pl


def on_controller_clock(table: pl.DataFrame, ends: pl.DataFrame) -> pl.DataFrame:
    """Moves every `*_mono_ns` column of `table` to the controller's clock.

    `ends` gives `offset_ns` (agent minus controller) for each `trial` and `host`. The result has
    the same rows and columns; instants become Int64. Rows of a host without offset are kept with
    offset 0, which is right on one host, where both ends read the same clock.
    """
    instants = [name for name in table.columns if name.endswith("_mono_ns")]
    if not instants:
        return table
    offsets = ends.select("trial", "host", "offset_ns").unique(["trial", "host"])
    shifted = [(pl.col(name).cast(pl.Int64) - pl.col("offset_ns").fill_null(0)).alias(name) for name in instants]
    return table.join(offsets, on=["trial", "host"], how="left").with_columns(shifted).drop("offset_ns")
