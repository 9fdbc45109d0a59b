"""CPU time at each end, from the kernel's accounting and from the load's own threads.

The denominator of every ratio is wall time x CPUs. The columns of /proc/stat do not add up to it
(they count ticks, and time can be charged twice or not at all), so `accounted_ratio` is kept beside
them. Ticks are 10 ms, a short transfer lasts 20 to 200 ms: the trials of a cell are pooled, sums
over sums, never averaged as ratios.
"""

import polars as pl

from whyperf.analyze.overlap import with_overlap

KINDS = ("user", "system", "irq", "softirq", "steal", "idle")
"""Kinds of CPU time in /proc/stat, as the record groups them."""

BUSY = ("user", "system", "irq", "softirq")
"""What counts as busy: the host's own work. Stolen time is the hypervisor's."""


def trial_cpu(cpu: pl.DataFrame, threads: pl.DataFrame, ends: pl.DataFrame, trials: pl.DataFrame) -> pl.DataFrame:
    """CPU time of each end of each trial within its window, in ns.

    One row an end: `trial`, `cell`, `role`, `cpus`, `exclusive`, `tsc_hz`, `wall_ns` (summed over
    the own CPUs), `<kind>_ns`, `ksoftirqd_ns`, `pmu_cycles` (null unless counted on every own CPU),
    `load_threads_ns`. `trials` are measured trials with their windows. A single transfer is its
    whole load, so its rows count in full; other rows count by the share inside the window.
    """
    windows = trials.select("trial", "cell", "window_start_ns", "window_end_ns", "whole_life").drop_nulls(
        ["window_start_ns", "window_end_ns"]
    )
    own = _weighted(cpu.filter(pl.col("own")), windows)
    sums = own.group_by("trial", "host").agg(
        (pl.col("length_ns") * pl.col("share")).sum().alias("wall_ns"),
        *[(pl.col(f"{kind}_ns") * pl.col("share")).sum() for kind in KINDS],
        (pl.col("ksoftirqd_ns") * pl.col("share")).sum(),
        pl.when(pl.col("pmu_cycles_count").null_count() == 0)
        .then((pl.col("pmu_cycles_count") * pl.col("share")).sum())
        .alias("pmu_cycles"),
    )
    load = (
        _weighted(threads, windows)
        .group_by("trial", "host")
        .agg((pl.col("cpu_ns") * pl.col("share")).sum().alias("load_threads_ns"))
    )
    window_ns = pl.col("window_end_ns") - pl.col("window_start_ns")
    return (
        ends.select("trial", "host", "role", "cpus", "exclusive", "tsc_hz")
        .join(windows, on="trial", how="inner")
        .join(sums, on=["trial", "host"], how="left")
        .join(load, on=["trial", "host"], how="left")
        .with_columns(pl.col("wall_ns").fill_null(window_ns * pl.max_horizontal(1, pl.col("cpus").list.len())))
        .drop("host", "window_start_ns", "window_end_ns", "whole_life")
    )


def cell_cpu(ends_cpu: pl.DataFrame) -> pl.DataFrame:
    """Ratios of each cell and end, pooled over its trials: sum of ns over sum of wall ns.

    One row a `cell` and `role`: `<kind>_ratio`, `busy_ratio`, `accounted_ratio`,
    `load_threads_ratio`, `cpus`, `exclusive`, `pooled_s` (wall time of one CPU over all trials).
    Where an end shares its CPUs with the other, only the load's threads can be told apart, and all
    other ratios are null.
    """
    wall = pl.col("wall_ns").sum()
    alone = pl.col("exclusive").all()
    per_cpu = pl.col("wall_ns") / pl.max_horizontal(1, pl.col("cpus").list.len())

    def ratio(kinds: tuple[str, ...], name: str) -> pl.Expr:
        columns = [pl.col(f"{kind}_ns").sum() for kind in kinds]
        complete = pl.all_horizontal(pl.col(f"{kind}_ns").null_count() == 0 for kind in kinds)
        return pl.when(alone & complete & (wall > 0)).then(pl.sum_horizontal(columns) / wall).alias(name)

    return ends_cpu.group_by("cell", "role").agg(
        *[ratio((kind,), f"{kind}_ratio") for kind in KINDS],
        ratio(BUSY, "busy_ratio"),
        ratio(KINDS, "accounted_ratio"),
        pl.when((pl.col("load_threads_ns").count() > 0) & (wall > 0))
        .then(pl.col("load_threads_ns").sum() / wall)
        .alias("load_threads_ratio"),
        pl.col("cpus").first(),
        alone.alias("exclusive"),
        (per_cpu.sum() / 1e9).alias("pooled_s"),
    )


def _weighted(rows: pl.DataFrame, windows: pl.DataFrame) -> pl.DataFrame:
    """Measured rows with `share`, the part that counts, and `length_ns`."""
    measured = rows.filter(pl.col("phase") == "measure").drop("cell", strict=False)
    whole = measured.join(windows.filter(pl.col("whole_life")).select("trial"), on="trial", how="semi")
    part = with_overlap(measured, windows.filter(~pl.col("whole_life")))
    weighted = pl.concat([whole.with_columns(pl.lit(1.0).alias("share")), part.drop("overlap_ns")], how="diagonal")
    return weighted.with_columns((pl.col("end_mono_ns") - pl.col("start_mono_ns")).alias("length_ns"))
