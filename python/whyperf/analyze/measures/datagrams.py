"""Datagrams that arrived at the receiver. Those that the sender handed over are reported too, but are no throughput."""

import polars as pl

from whyperf.analyze.measures.windows import with_overlap

_KEYS = ("trial", "connection")


def trial_datagrams(datagrams: pl.DataFrame, ends: pl.DataFrame, trials: pl.DataFrame) -> pl.DataFrame:
    """The datagrams of each trial, from its rows of phase `measure`.

    One row a trial: `trial`, `cell`, `received_per_s`, `sent_per_s` (both within the window); of the whole phase
    `received_count`, `lost_count` (numbers below the highest seen that did not arrive), `late_count`,
    `duplicate_count`, `jitter_ns_median`, `jitter_ns_max` over flows and intervals, and `kernel_drops_count`.
    """
    roles = ends.select("trial", "host", "role")
    rows = datagrams.drop("cell", strict=False).join(roles, on=["trial", "host"], how="inner")
    received = rows.filter(pl.col("role") == "receiver").sort("trial", "connection", "start_mono_ns")
    flows = _grown(received)
    sums = flows.group_by("trial").agg(
        pl.col("received_count").sum(),
        pl.max_horizontal(0, pl.col("numbers_count") - pl.col("received_count")).sum().alias("lost_count"),
        pl.col("late_count").sum(),
        pl.col("duplicate_count").sum(),
        pl.col("kernel_drops_count").sum(),
    )
    measured = received.filter(pl.col("phase") == "measure")
    jitter = measured.group_by("trial").agg(
        pl.col("jitter_ns").median().alias("jitter_ns_median"), pl.col("jitter_ns").max().alias("jitter_ns_max")
    )
    windows = trials.select("trial", "cell", "window_start_ns", "window_end_ns").drop_nulls()
    seconds = (pl.col("window_end_ns") - pl.col("window_start_ns")) / 1e9
    shared = with_overlap(rows, windows)
    rates = (
        shared.group_by("trial")
        .agg((pl.col(name) * pl.col("share")).sum() for name in ("sent_count", "received_count"))
        .join(windows, on="trial")
        .select(
            "trial",
            "cell",
            (pl.col("received_count") / seconds).alias("received_per_s"),
            (pl.col("sent_count") / seconds).alias("sent_per_s"),
        )
    )
    return rates.join(sums, on="trial", how="left").join(jitter, on="trial", how="left").sort("trial")


def _grown(received: pl.DataFrame) -> pl.DataFrame:
    """Counts of each flow in phase `measure`; what only grows counts from where it stood before."""
    is_measured = pl.col("phase") == "measure"
    before = pl.col("start_mono_ns") < pl.col("start_mono_ns").filter(is_measured).min()

    def growth(name: str) -> pl.Expr:
        value = pl.col(name).cast(pl.Int64)
        return value.filter(is_measured).max().fill_null(0) - value.filter(before).max().fill_null(0)

    counts = ("received_count", "late_count", "duplicate_count")
    return received.group_by(*_KEYS).agg(
        *[pl.col(name).cast(pl.Int64).filter(is_measured).sum() for name in counts],
        growth("highest_sequence_count").alias("numbers_count"),
        growth("kernel_drops_count").alias("kernel_drops_count"),
    )
