"""Windows of trials that transfer a given number of bytes."""

import polars as pl

FEWEST_OVERLAP_RATIO = 0.1
"""Connections together for less than this part of the transfer had no common window."""


def transfer_windows(trials: pl.DataFrame, flows: pl.DataFrame, rows: pl.DataFrame) -> pl.DataFrame:
    """The window of each of `trials`: `trial`, `window_start_ns`, `window_end_ns`, `whole_life`,
    `unusable`.

    One connection: sender's first call to receiver's last read; `whole_life` is true. Several:
    latest first read to earliest last read, null and `unusable` = `no_common_window` when the
    connections were hardly at work together. The window of a trial cut at its deadline lasts
    until its first connection was done or, if none was, to the end of the receiver's last interval
    in `rows`, so that a stalled transfer is not flattered.
    """
    first, last = pl.col("first_call_mono_ns"), pl.col("last_call_mono_ns")
    sends = flows.filter(pl.col("role") == "sender").group_by("trial").agg(first.min().alias("send_ns"))
    reads = (
        flows.filter(pl.col("role") == "receiver")
        .group_by("trial")
        .agg(
            pl.len().alias("connections"),
            first.min().alias("any_first_ns"),
            first.max().alias("all_first_ns"),
            last.min().alias("all_last_ns"),
            last.max().alias("any_last_ns"),
            last.filter(pl.col("ended") == "complete").min().alias("done_ns"),
            (first.null_count() > 0).alias("silent"),
        )
    )
    watched = rows.group_by("trial").agg(pl.col("end_mono_ns").max().alias("watched_ns"))
    cut = pl.col("status") == "deadline"
    watched_end = pl.coalesce("done_ns", pl.max_horizontal("any_last_ns", "watched_ns"))
    single = pl.col("connections") == 1
    start = pl.when(single).then(pl.col("send_ns")).otherwise(pl.col("all_first_ns"))
    end = pl.when(cut).then(watched_end).when(single).then(pl.col("any_last_ns")).otherwise(pl.col("all_last_ns"))
    together = pl.col("window_end_ns") - pl.col("window_start_ns")
    whole = pl.col("any_last_ns") - pl.col("any_first_ns")
    apart = ~single & (pl.col("silent") | (together <= whole * FEWEST_OVERLAP_RATIO))
    usable = ~apart & (together > 0)
    return (
        trials.select("trial", "status")
        .join(sends, on="trial", how="left")
        .join(reads, on="trial", how="left")
        .join(watched, on="trial", how="left")
        .with_columns(start.alias("window_start_ns"), end.alias("window_end_ns"))
        .select(
            "trial",
            pl.when(usable).then(pl.col("window_start_ns")).alias("window_start_ns"),
            pl.when(usable).then(pl.col("window_end_ns")).alias("window_end_ns"),
            single.alias("whole_life"),
            pl.when(apart).then(pl.lit("no_common_window")).alias("unusable"),
        )
    )
