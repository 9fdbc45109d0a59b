"""Transactions: how many a second, begun and intended, and what they moved.

The near host executes a workload, so its rows count executions; bytes are counted where they arrive.
"""

import polars as pl

from whyperf.analyze.measures.windows import with_overlap

#: Near hosts are `near`, `near2`, …: one a pair of agents.
IS_NEAR = pl.col("host").str.starts_with("near")
COUNTS = ("transactions_count", "intended_count", "begun_count", "failed_count", "operations_count")
_SECONDS = (pl.col("window_end_ns") - pl.col("window_start_ns")) / 1e9


def received_octets(transactions: pl.DataFrame, windows: pl.DataFrame) -> pl.DataFrame:
    """Payload that arrived at both hosts within each trial's window: `trial`, `received_octets`.

    Trials without rows of transactions are left out.
    """
    shared = with_overlap(transactions, _known(windows))
    return shared.group_by("trial").agg((pl.col("received_bytes") * pl.col("share")).sum().alias("received_octets"))


def trial_transactions(transactions: pl.DataFrame, trials: pl.DataFrame, by: tuple[str, ...] = ()) -> pl.DataFrame:
    """Transactions of each trial within its window, on the near hosts.

    One row a trial, or a trial and `by` (`group`, `transaction`): `trial`, `cell`, the sums of `COUNTS`,
    `seconds`, `transactions_per_s`, `intended_per_s`, `begun_per_s`.
    """
    windows = _known(trials)
    near = transactions.filter(IS_NEAR).drop("cell", strict=False)
    shared = with_overlap(near, windows)
    sums = shared.group_by("trial", *by).agg((pl.col(name) * pl.col("share")).sum() for name in COUNTS)
    return (
        sums.join(windows, on="trial", how="inner")
        .with_columns(_SECONDS.alias("seconds"))
        .with_columns(
            (pl.col(f"{name}_count") / pl.col("seconds")).alias(f"{name}_per_s")
            for name in ("transactions", "intended", "begun")
        )
        .drop("window_start_ns", "window_end_ns")
        .sort("trial", *by)
    )


def trial_calls(transactions: pl.DataFrame, trials: pl.DataFrame, ends: pl.DataFrame) -> pl.DataFrame:
    """System calls of the data path of each trial within its window, by the end that holds the CPUs they ran on.

    Columns: `trial`, `host`, `calls_count`; ends that share their CPUs are one.
    """
    shared = with_overlap(transactions.drop("cell", strict=False), _known(trials))
    return (
        shared.join(ends.select("trial", "host", "cpus_of"), on=["trial", "host"], how="left")
        .group_by("trial", pl.coalesce("cpus_of", "host").alias("host"))
        .agg((pl.col("calls_count") * pl.col("share")).sum())
    )


def _known(trials: pl.DataFrame) -> pl.DataFrame:
    columns = [name for name in ("trial", "cell", "window_start_ns", "window_end_ns") if name in trials.columns]
    return trials.select(columns).drop_nulls(["window_start_ns", "window_end_ns"])
