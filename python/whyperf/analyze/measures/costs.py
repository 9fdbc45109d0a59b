"""A host's cost of moving data, whatever the rate: cycles per KByte (1024 octets), calls, costs per transaction.

With a PMU on all CPUs of both hosts: the cycles of those CPUs. Otherwise the CPU time of the load's
threads and, where the host has its CPUs alone, of their ksoftirqd, times the rate of the time
stamp counter: *TSC reference cycles*, which do not follow frequency scaling.
"""

import polars as pl

from whyperf.analyze.measures.cpu import BUSY

PMU_UNIT = "PMU cycles"
TSC_UNIT = "TSC reference cycles"


def cycles_per_kbyte(ends_cpu: pl.DataFrame, trials: pl.DataFrame) -> pl.DataFrame:
    """Cycles per 1024 octets of payload of each trial and role.

    `ends_cpu` is `cpu.trial_cpu`'s result, `trials` the measured trials. One row a trial and role, of all hosts that
    play it together:
    `trial`, `cell`, `role`, `unit`, `cycles_per_kbyte` (null without a counter or payload). The unit
    is one for a whole cell, so that its two ends and its trials compare.
    """
    octets = pl.col("window_octets")
    return (
        spent_cycles(ends_cpu)
        .join(trials.select("trial", "window_octets"), on="trial", how="left")
        .select(
            "trial",
            "cell",
            "role",
            "unit",
            pl.when(octets > 0).then(pl.col("cycles") * 1024 / octets).alias("cycles_per_kbyte"),
        )
        .group_by("trial", "cell", "role", maintain_order=True)
        .agg(
            pl.col("unit").first(),
            pl.when(pl.col("cycles_per_kbyte").null_count() == 0).then(pl.col("cycles_per_kbyte").sum()),
        )
    )


def spent_cycles(ends_cpu: pl.DataFrame) -> pl.DataFrame:
    """`cpu.trial_cpu`'s rows with the `cycles` that each side spent and their `unit`. Of a watched program with several
    connections they are divided by payload.
    """
    counted = pl.col("pmu_cycles").is_not_null() & pl.col("exclusive")
    pmu = counted.all().over("cell")
    softirq_ns = pl.when(pl.col("exclusive")).then(pl.col("ksoftirqd_ns").fill_null(0.0)).otherwise(0.0)
    reference = (pl.col("load_threads_ns") + softirq_ns) * pl.col("tsc_hz") / 1e9
    cycles = pl.when(pmu).then(pl.col("pmu_cycles")).otherwise(reference)
    return ends_cpu.with_columns(
        (cycles * pl.col("payload_ratio")).alias("cycles"),
        pl.when(pmu).then(pl.lit(PMU_UNIT)).otherwise(pl.lit(TSC_UNIT)).alias("unit"),
    )


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


def cell_calls(flows: pl.DataFrame) -> pl.DataFrame:
    """Calls of each cell and end, pooled over its trials and connections.

    One row a `cell` and `role`: `per_kbyte` (calls per 1024 octets moved), `mean_size_bytes` (octets
    moved a call), `short_ratio` (calls that moved less than they asked for), `other_per_kbyte`
    (other system calls of the data path). Ratios are null where nothing moved or no call was made.
    """
    octets = pl.col("payload_bytes").cast(pl.Float64).sum()
    calls = pl.col("calls_count").cast(pl.Float64).sum()
    short = pl.col("short_calls_count").cast(pl.Float64).sum()
    other = pl.col("other_calls_count").cast(pl.Float64).sum()
    return flows.group_by("cell", "role").agg(
        pl.when(octets > 0).then(calls * 1024 / octets).alias("per_kbyte"),
        pl.when(calls > 0).then(octets / calls).alias("mean_size_bytes"),
        pl.when(calls > 0).then(short / calls).alias("short_ratio"),
        pl.when(octets > 0).then(other * 1024 / octets).alias("other_per_kbyte"),
    )
