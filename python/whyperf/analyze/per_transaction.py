"""What a transaction costs an end: CPU time, cycles, system calls."""

import polars as pl

from whyperf.analyze.cpu import BUSY
from whyperf.analyze.cycles import spent_cycles


def transaction_costs(ends_cpu: pl.DataFrame, transactions: pl.DataFrame, calls: pl.DataFrame) -> pl.DataFrame:
    """Costs of each trial and side, per transaction that ended within the window; ends of one side add up.

    One row a trial and role: `trial`, `cell`, `role`, `unit`, `busy_ns` (all of the ends' CPUs, null where they are
    not theirs alone), `load_threads_ns`, `cycles`, `calls`. Null where none ended.
    """
    number = pl.when(pl.col("transactions_count") > 0).then(pl.col("transactions_count"))
    busy = pl.when(pl.col("exclusive")).then(
        pl.sum_horizontal([pl.col(f"{kind}_ns") for kind in BUSY], ignore_nulls=False)
    )
    spent = {"busy_ns": busy, "load_threads_ns": pl.col("load_threads_ns"), "cycles": pl.col("cycles")}
    ends = (
        spent_cycles(ends_cpu)
        .join(calls, on=["trial", "host"], how="left")
        .with_columns(*(value.alias(name) for name, value in spent.items()), pl.col("calls_count").alias("calls"))
    )

    def total(name: str) -> pl.Expr:
        return pl.when(pl.col(name).null_count() == 0).then(pl.col(name).sum()).alias(name)

    sides = ends.group_by("trial", "cell", "role").agg(
        pl.col("unit").first(), *(total(name) for name in (*spent, "calls"))
    )
    return (
        sides.join(transactions.select("trial", "transactions_count"), on="trial", how="inner")
        .with_columns((pl.col(name) / number).alias(name) for name in (*spent, "calls"))
        .drop("transactions_count")
        .sort("trial", "role")
    )
