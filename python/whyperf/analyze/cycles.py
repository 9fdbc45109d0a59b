"""Cycles per KByte (1024 octets): what moving data costs an end, whatever the rate.

With a PMU on all CPUs of both ends: the cycles of those CPUs. Otherwise the CPU time of the load's
threads and, where the end has its CPUs alone, of their ksoftirqd, times the rate of the time
stamp counter: *TSC reference cycles*, which do not follow frequency scaling.
"""

import polars as pl

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
    """`cpu.trial_cpu`'s rows with the `cycles` that each end spent and their `unit`."""
    counted = pl.col("pmu_cycles").is_not_null() & pl.col("exclusive")
    pmu = counted.all().over("cell")
    softirq_ns = pl.when(pl.col("exclusive")).then(pl.col("ksoftirqd_ns").fill_null(0.0)).otherwise(0.0)
    reference = (pl.col("load_threads_ns") + softirq_ns) * pl.col("tsc_hz") / 1e9
    return ends_cpu.with_columns(
        pl.when(pmu).then(pl.col("pmu_cycles")).otherwise(reference).alias("cycles"),
        pl.when(pmu).then(pl.lit(PMU_UNIT)).otherwise(pl.lit(TSC_UNIT)).alias("unit"),
    )
