"""What a transaction costs an end: CPU time, cycles, system calls."""

import polars as pl

from whyperf.analyze.cpu import BUSY
from whyperf.analyze.cycles import spent_cycles


def transaction_costs(ends_cpu: pl.DataFrame, transactions: pl.DataFrame, calls: pl.DataFrame) -> pl.DataFrame:
    """Costs of each trial and end, per transaction that ended within the window.

    One row a trial and end: `trial`, `cell`, `host`, `role`, `unit`, `busy_ns` (all of the end's CPUs, null where
    they are not its alone), `load_threads_ns`, `cycles`, `calls`. Null where none ended.
    """
    number = pl.when(pl.col("transactions_count") > 0).then(pl.col("transactions_count"))
    busy = pl.when(pl.col("exclusive")).then(
        pl.sum_horizontal([pl.col(f"{kind}_ns") for kind in BUSY], ignore_nulls=False)
    )
    return (
        spent_cycles(ends_cpu)
        .join(transactions.select("trial", "transactions_count"), on="trial", how="inner")
        .join(calls, on=["trial", "host"], how="left")
        .select(
            "trial",
            "cell",
            "host",
            "role",
            "unit",
            (busy / number).alias("busy_ns"),
            (pl.col("load_threads_ns") / number).alias("load_threads_ns"),
            (pl.col("cycles") / number).alias("cycles"),
            (pl.col("calls_count") / number).alias("calls"),
        )
    )
