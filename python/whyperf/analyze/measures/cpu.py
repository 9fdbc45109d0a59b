"""CPU time of each side, from the kernel's accounting and from the load's own threads.

The denominator of every ratio is wall time x CPUs. The columns of /proc/stat do not add up to it
(they count ticks, and time can be charged twice or not at all), so `accounted_ratio` is kept with
them. Ticks are 10 ms, a short transfer lasts 20 to 200 ms: the trials of a cell are pooled, sums
over sums, never averaged as ratios.

Softirq time is where ticks err most, by up to half. Where the softirq tracepoints were read, they
are the truth, and system time is what is left of the wall time (`_split`).
"""

import polars as pl

from whyperf.analyze.measures.windows import with_overlap

KINDS = ("user", "system", "irq", "softirq", "steal", "idle")
"""Kinds of CPU time in /proc/stat, as the record groups them."""

BUSY = ("user", "system", "irq", "softirq")
"""The kinds that count as busy: the host's own work. Stolen time is the hypervisor's."""

MIN_ACCOUNTED_RATIO = 0.5
"""Share of the wall time that /proc/stat must account for, or its kinds are not known."""

TRACEPOINTS, PROC_STAT = "tracepoints", "proc_stat"
"""Where an end's softirq time comes from."""


def trial_cpu(
    cpu: pl.DataFrame, softirqs: pl.DataFrame, threads: pl.DataFrame, ends: pl.DataFrame, trials: pl.DataFrame
) -> pl.DataFrame:
    """CPU time of each end of each trial within its window, in ns.

    One row an end with CPUs of its own: `trial`, `cell`, `host`, `role`, `cpus`, `exclusive`, `tsc_hz`,
    `wall_ns` (summed over the own CPUs), `<kind>_ns`, `softirq_tracepoints_ns` (null unless the tracepoints were read)
    and of that `softirq_on_load_ns` on top of the load's threads (null where it was not counted), `softirqs_count`,
    `ksoftirqd_ns`, `pmu_cycles` (null unless counted on every own CPU), `load_threads_ns`, `scheduled_count` (context
    switches to the load's threads, null where they were not counted), `payload_ratio`, `router_cpus`. `trials` are
    measured trials with their windows. A single transfer is its whole load, so its rows count in full; other rows
    count by the share inside the window.
    """
    windows = trials.select("trial", "cell", "window_start_ns", "window_end_ns", "whole_life").drop_nulls(
        ["window_start_ns", "window_end_ns"]
    )
    own = weighted(cpu.filter(pl.col("own")), windows)
    sums = own.group_by("trial", "host").agg(
        (pl.col("length_ns") * pl.col("share")).sum().alias("wall_ns"),
        *[(pl.col(f"{kind}_ns") * pl.col("share")).sum() for kind in KINDS],
        (pl.col("ksoftirqd_ns") * pl.col("share")).sum(),
        pl.when(pl.col("pmu_cycles_count").null_count() == 0)
        .then((pl.col("pmu_cycles_count") * pl.col("share")).sum())
        .alias("pmu_cycles"),
    )
    # Ends that run on the same CPUs have threads of their own, but the CPUs' time counts once.
    places = ends.select("trial", "host", "cpus_of")
    load = (
        weighted(threads, windows)
        .join(places, on=["trial", "host"], how="left")
        .group_by("trial", pl.coalesce("cpus_of", "host").alias("host"))
        .agg(
            (pl.col("cpu_ns") * pl.col("share")).sum().alias("load_threads_ns"),
            _complete("scheduled_count").alias("scheduled_count"),
        )
    )
    window_ns = pl.col("window_end_ns") - pl.col("window_start_ns")
    return (
        ends.filter(pl.col("cpus_of").fill_null(pl.col("host")) == pl.col("host"))
        .select("trial", "host", "role", "cpus", "exclusive", "tsc_hz", "payload_ratio", "router_cpus")
        .join(windows, on="trial", how="inner")
        .join(sums, on=["trial", "host"], how="left")
        .join(_traced(softirqs, places, windows), on=["trial", "host"], how="left")
        .join(load, on=["trial", "host"], how="left")
        .with_columns(pl.col("wall_ns").fill_null(window_ns * pl.max_horizontal(1, pl.col("cpus").list.len())))
        .drop("window_start_ns", "window_end_ns", "whole_life")
    )


def cell_cpu(ends_cpu: pl.DataFrame) -> pl.DataFrame:
    """Ratios of each cell and end, pooled over its trials: sum of ns over sum of wall ns.

    One row a `cell` and `role`: `<kind>_ratio`, `busy_ratio`, `softirq_source`,
    `softirq_tracepoints_ratio`, `softirq_proc_stat_ratio`, `accounted_ratio` (of /proc/stat),
    `load_threads_ratio`, `router_ratio` (of an emulated path), `cpus`, `exclusive`, `pooled_s` (wall time of
    one CPU over all trials). In CPUs, of all hosts that play the role together: `cpus_count` that they may use,
    `in_use_cpus` that they keep busy (CPUs x utilization), and `softirq_on_threads_cpus`, soft interrupts on top of the
    load's threads.
    The tracepoints are the source when every trial of the end has them; then the kinds add up to 1.
    Where both sides share their CPUs, only the load's threads can be separated, and all
    other ratios are null. So are the kinds where /proc/stat accounts for less than half of the time:
    a transfer of a few milliseconds ends between two ticks. `in_use_cpus` is then what the load's threads used, soft
    interrupts on top of them included.
    """
    wall = pl.col("wall_ns").sum()
    per_cpu = pl.col("wall_ns") / pl.max_horizontal(1, pl.col("cpus").list.len())
    on_threads = pl.col("softirq_on_load_ns")

    def pooled(name: str) -> pl.Expr:
        complete = (pl.col(f"{name}_ns").null_count() == 0) & (wall > 0)
        return pl.when(complete & pl.col("exclusive").all()).then(pl.col(f"{name}_ns").sum() / wall)

    pools = ends_cpu.group_by("cell", "role").agg(
        *[pooled(kind).alias(f"{kind}_ratio") for kind in KINDS],
        pooled("softirq").alias("softirq_proc_stat_ratio"),
        pooled("softirq_tracepoints").alias("softirq_tracepoints_ratio"),
        pl.when((pl.col("load_threads_ns").count() > 0) & (wall > 0))
        .then(pl.col("load_threads_ns").sum() / wall)
        .alias("load_threads_ratio"),
        (pl.when(wall > 0).then((pl.col("router_cpus") * per_cpu).sum() / wall)).alias("router_ratio"),
        pl.col("cpus").first(),
        pl.col("exclusive").all(),
        (per_cpu.sum() / 1e9).alias("pooled_s"),
        # The hosts of a role measure at the same time.
        pl.when(wall > 0).then(wall / per_cpu.mean() / pl.col("trial").n_unique()).alias("cpus_count"),
        pl.when((on_threads.null_count() == 0) & (wall > 0))
        .then(on_threads.sum() / wall)
        .alias("softirq_on_threads_cpus"),
    )
    accounted = pools.with_columns(_sum(KINDS).alias("accounted_ratio"))
    # Ticks that account for little of the time say nothing of the rest.
    is_known = pl.col("accounted_ratio") >= MIN_ACCOUNTED_RATIO
    known = [pl.when(is_known).then(pl.col(f"{kind}_ratio")).alias(f"{kind}_ratio") for kind in KINDS]
    busy = _split(accounted.with_columns(known)).with_columns(_sum(BUSY).alias("busy_ratio"))
    used = pl.when("exclusive").then("busy_ratio").otherwise("load_threads_ratio")
    return busy.with_columns(
        (used * pl.col("cpus_count")).alias("in_use_cpus"),
        pl.col("softirq_on_threads_cpus") * pl.col("cpus_count"),
    )


def _split(pools: pl.DataFrame) -> pl.DataFrame:
    """The kinds with softirq time from the tracepoints where they were read, adding up to 1.

    User, irq, steal and idle time stay as in /proc/stat, system time is the rest. Where they leave
    no rest, ticks have counted too much of them: all four shrink by the same factor. So do all kinds of an end that was
    not traced and whose ticks count more than the wall time.
    """
    traced = pl.col("softirq_tracepoints_ratio").clip(0, 1)
    ticked = _sum(("user", "irq", "steal", "idle"))
    factor = pl.when(ticked > 1 - traced).then((1 - traced) / ticked).otherwise(1.0)
    is_traced = traced.is_not_null() & ticked.is_not_null()
    source = pl.when(is_traced).then(pl.lit(TRACEPOINTS))
    truth = {
        **{f"{kind}_ratio": pl.col(f"{kind}_ratio") * factor for kind in ("user", "irq", "steal", "idle")},
        "softirq_ratio": traced,
        "system_ratio": (1 - traced - ticked * factor).clip(0, 1),
    }
    return pools.with_columns(
        source.when(pl.col("softirq_proc_stat_ratio").is_not_null()).then(pl.lit(PROC_STAT)).alias("softirq_source"),
        *[
            pl.when(is_traced)
            .then(ratio)
            .otherwise(pl.col(name) / pl.max_horizontal(1.0, "accounted_ratio"))
            .alias(name)
            for name, ratio in truth.items()
        ],
    )


def _sum(kinds: tuple[str, ...]) -> pl.Expr:
    """The kinds together, null when one is."""
    return pl.sum_horizontal([pl.col(f"{kind}_ratio") for kind in kinds], ignore_nulls=False)


def _traced(softirqs: pl.DataFrame, places: pl.DataFrame, windows: pl.DataFrame) -> pl.DataFrame:
    """Softirqs by tracepoint of each side's own CPUs: a vector that did not run has no row, an
    end without any row was not traced.
    """
    own = weighted(softirqs.filter(pl.col("own")), windows)
    time = own.group_by("trial", "host").agg(
        (pl.col("softirq_ns") * pl.col("share")).sum().alias("softirq_tracepoints_ns"),
        (pl.col("runs_count") * pl.col("share")).sum().alias("softirqs_count"),
    )
    # Ends that run on the same CPUs all time them, each on top of its own threads.
    on_load = (
        own.join(places, on=["trial", "host"], how="left")
        .group_by("trial", pl.coalesce("cpus_of", "host").alias("host"))
        .agg(_complete("on_load_ns").alias("softirq_on_load_ns"))
    )
    ends = softirqs.group_by("trial", "host").agg((pl.col("on_load_ns").null_count() == 0).alias("is_complete"))
    return (
        ends.join(time, on=["trial", "host"], how="left")
        .join(on_load, on=["trial", "host"], how="left")
        .with_columns(
            pl.col("softirq_tracepoints_ns", "softirqs_count").fill_null(0),
            pl.when("is_complete").then(pl.col("softirq_on_load_ns").fill_null(0)).alias("softirq_on_load_ns"),
        )
        .drop("is_complete")
    )


def _complete(name: str) -> pl.Expr:
    """The sum within the window, null where a row lacks it."""
    return pl.when(pl.col(name).null_count() == 0).then((pl.col(name) * pl.col("share")).sum())


def weighted(rows: pl.DataFrame, windows: pl.DataFrame) -> pl.DataFrame:
    """Measured rows with `share`, the part that counts, and `length_ns`."""
    measured = rows.filter(pl.col("phase") == "measure").drop("cell", strict=False)
    whole = measured.join(windows.filter(pl.col("whole_life")).select("trial"), on="trial", how="semi")
    part = with_overlap(measured, windows.filter(~pl.col("whole_life")))
    weighted = pl.concat([whole.with_columns(pl.lit(1.0).alias("share")), part.drop("overlap_ns")], how="diagonal")
    return weighted.with_columns((pl.col("end_mono_ns") - pl.col("start_mono_ns")).alias("length_ns"))
