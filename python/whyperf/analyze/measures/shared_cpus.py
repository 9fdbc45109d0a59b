"""The work of CPUs that both sides share: the part of each side's threads is known, the rest is of neither.

Each side records the time of its own CPUs, so shared ones are in the record twice, and count once. The threads of a
load are timed by the scheduler, soft interrupts by tracepoints, which also show on top of whose threads they ran. Whose
packets a soft interrupt processes is not recorded: what ran on top of no thread of a load is given to neither side.
"""

import polars as pl

from whyperf.analyze.measures.cpu import MIN_ACCOUNTED_RATIO, weighted

_KINDS = ("user", "system", "irq", "softirq", "steal", "idle")
_SIDES = 2


def cell_shared_cpus(
    cpu: pl.DataFrame, softirqs: pl.DataFrame, ends: pl.DataFrame, ends_cpu: pl.DataFrame, trials: pl.DataFrame
) -> pl.DataFrame:
    """The shared CPUs of each cell, in CPUs (CPU time over wall time), over all its trials together.

    One row a `cell` whose two sides share CPUs: `cpus` (those of either side), `busy_cpus` (null where /proc/stat
    accounts for less than half of the time), `not_attributed_cpus`, what of that no thread of a load used, and
    `softirq_cpus`, the soft interrupts of that (null where they were not traced). A fleet has no row: which of its
    hosts share a machine is not in the record.

    Args:
        cpu: the table of that name, on the controller's clock.
        softirqs: the table of that name.
        ends: `Inputs.ends`.
        ends_cpu: `cpu.trial_cpu`'s result.
        trials: the measured trials with their windows.
    """
    sides = ends_cpu.group_by("trial", "cell", maintain_order=True).agg(
        pl.len().alias("sides"),
        pl.col("exclusive").any().alias("is_apart"),
        (pl.col("wall_ns") / pl.max_horizontal(1, pl.col("cpus").list.len())).mean().alias("window_ns"),
        pl.when(pl.col("load_threads_ns").null_count() == 0).then(pl.col("load_threads_ns").sum()).alias("threads_ns"),
        pl.when(pl.col("softirq_on_load_ns").null_count() == 0)
        .then(pl.col("softirq_on_load_ns").sum())
        .alias("on_threads_ns"),
    )
    shared = sides.filter((pl.col("sides") == _SIDES) & ~pl.col("is_apart"))
    alone = ends.filter(pl.col("cpus_of").fill_null(pl.col("host")) == pl.col("host"))
    windows = (
        trials.join(shared, on="trial", how="semi")
        .select("trial", "cell", "window_start_ns", "window_end_ns", "whole_life")
        .drop_nulls(["window_start_ns", "window_end_ns"])
    )
    times = _once(cpu, windows, alone, [f"{kind}_ns" for kind in _KINDS])
    traced = _once(softirqs, windows, alone, ["softirq_ns"])
    of_cpus = times.group_by("trial").agg(
        pl.col("cpu").cast(pl.Int64).sort().alias("cpus"),
        pl.col("length_ns").sum().alias("wall_ns"),
        pl.sum_horizontal(f"{kind}_ns" for kind in _KINDS).sum().alias("accounted_ns"),
        pl.sum_horizontal("idle_ns", "steal_ns").sum().alias("unused_ns"),
    )
    of_softirqs = traced.group_by("trial").agg(pl.col("softirq_ns").sum())
    rows = shared.join(of_cpus, on="trial", how="inner").join(of_softirqs, on="trial", how="left")
    window = pl.col("window_ns").sum()
    # Ticks can count more than the wall time.
    scale = pl.max_horizontal(pl.lit(1.0), pl.col("accounted_ns").sum() / pl.col("wall_ns").sum())
    busy = (pl.col("wall_ns").sum() - pl.col("unused_ns").sum() / scale).clip(0)
    is_known = pl.col("accounted_ns").sum() >= MIN_ACCOUNTED_RATIO * pl.col("wall_ns").sum()
    elsewhere = (pl.col("softirq_ns").sum() - pl.col("on_threads_ns").sum()).clip(0)
    is_traced = (pl.col("softirq_ns").null_count() == 0) & (pl.col("on_threads_ns").null_count() == 0)
    return (
        rows.group_by("cell", maintain_order=True)
        .agg(
            pl.col("cpus").first(),
            pl.when(is_known).then(busy / window).alias("busy_cpus"),
            pl.when(pl.col("threads_ns").null_count() == 0)
            .then(pl.col("threads_ns").sum() / window)
            .alias("threads_cpus"),
            pl.when(is_traced).then(elsewhere / window).alias("softirq_cpus"),
        )
        .with_columns((pl.col("busy_cpus") - pl.col("threads_cpus")).clip(0).alias("not_attributed_cpus"))
        .drop("threads_cpus")
    )


def _once(table: pl.DataFrame, windows: pl.DataFrame, ends: pl.DataFrame, columns: list[str]) -> pl.DataFrame:
    """The sums of each CPU within the windows, as one of the sides that count it as its own has them."""
    own = weighted(
        table.filter(pl.col("own")).join(ends.select("trial", "host"), on=["trial", "host"], how="semi"), windows
    )
    return (
        own.group_by("trial", "host", "cpu")
        .agg((pl.col(name) * pl.col("share")).sum() for name in (*columns, "length_ns"))
        .sort("trial", "cpu", "host")
        .unique(["trial", "cpu"], keep="first", maintain_order=True)
    )
