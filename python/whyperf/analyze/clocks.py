"""Instants of all ends on one clock: the controller's CLOCK_MONOTONIC."""

import polars as pl


def on_controller_clock(table: pl.DataFrame, ends: pl.DataFrame) -> pl.DataFrame:
    """Moves every `*_mono_ns` column of `table` to the controller's clock.

    `ends` gives `offset_ns` (agent minus controller, at `compared_mono_ns` on the agent's clock) and
    `drift_ratio` (how much faster the agent's clock runs) for each `trial` and `host`. The result has
    the same rows and columns; instants become Int64. Rows of a host without offset are kept with
    offset 0, which is right on one host, where all ends read the same clock.
    """
    instants = [name for name in table.columns if name.endswith("_mono_ns")]
    if not instants:
        return table
    names = ("offset_ns", "drift_ratio", "compared_mono_ns")
    offsets = ends.select("trial", "host", *(pl.col(name).alias(f"end_{name}") for name in names))
    drift, compared = pl.col("end_drift_ratio").fill_null(0.0), pl.col("end_compared_mono_ns").fill_null(0)

    def moved(name: str) -> pl.Expr:
        instant = pl.col(name).cast(pl.Int64)
        # In 64-bit floats the product is right to far below a nanosecond: the drift is small.
        drifted = ((instant - compared) * drift).round().cast(pl.Int64)
        return (instant - pl.col("end_offset_ns").fill_null(0) - drifted).alias(name)

    together = table.join(offsets.unique(["trial", "host"]), on=["trial", "host"], how="left")
    return together.with_columns(moved(name) for name in instants).drop(f"end_{name}" for name in names)
