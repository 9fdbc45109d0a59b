"""The cost budget of trials: exact totals, each split by the samples that were taken of it.

Samples only give shares. What the load's threads used (schedstat) is split by the samples of these threads, whatever
they ran in; the time of softirqs on top of anything else (softirq tracepoints) by the samples of those. With a PMU on
all CPUs the total is that of the CPUs, and all samples split it. The rows of a side of a trial add up to its total;
what no sample explains is a row of its own. Samples of a timer that fall to where interrupts are switched on again are
of what ran before: they are a class of their own, for nothing says whose they are.

A softirq on top of a thread of the load is in the thread's own time, and counts there alone: programs in the kernel add
up its time, and it is taken off that of all softirqs. Records from before they did lack it; there the samples say which
part of the softirqs' time it is. A kernel with CONFIG_IRQ_TIME_ACCOUNTING keeps it out of the thread's time. Then it is
added there, and the sum is the same. Measured on Linux 6.18 without that option, of a thread that sent UDP over the
loopback and never slept: 1,185 ms of CPU time and 815 ms of waiting for a CPU make up its 2,000 ms, and 530 ms of the
CPU time were softirqs on top of it.
"""

from typing import NamedTuple

import polars as pl

from whyperf.analyze.cost.classes import IDLE, INTERRUPTS_ON, KERNEL, NOT_ATTRIBUTED, OTHER_PROGRAMS, OWN_TRACING
from whyperf.analyze.cost.samples import NAME, classified, is_late
from whyperf.analyze.measures.costs import PMU_UNIT, TSC_UNIT
from whyperf.analyze.trials import Measured

OCTETS_PER_KBYTE = 1024

SIDE = ("trial", "cell", "role")
THREADS, SOFTIRQS, CPUS = "threads", "softirqs", "cpus"
"""Parts of a total: the load's threads, softirqs on top of anything else, and whole CPUs, which a PMU counts."""

_HOST = ("trial", "host")
_PART = (*_HOST, "part")


class WeighedStacks(NamedTuple):
    """Sampled stacks with the cycles that each stands for. All rows of a side of a trial add up to its total.

    `stacks`: a row a stack: `stack` (its number), `trial`, `cell`, `host`, `role`, `unit`, `part`, `group`, `context`,
    `samples_count`, `class`, `name`, `kind`, `object` (of the innermost function, null where the stack could not be
    read), `cycles`.
    `rest`: what no stack explains: `trial`, `cell`, `role`, `unit`, `part`, `class`, `cycles`.
    `frames`: the functions of each stack, the outermost first: `stack`, `name`, `kind`, `object`.
    """

    stacks: pl.DataFrame
    rest: pl.DataFrame
    frames: pl.DataFrame


def weighed_stacks(
    stacks: pl.DataFrame, functions: pl.DataFrame, reports: pl.DataFrame, measured: Measured
) -> WeighedStacks:
    """The stacks of all sides of all trials that have samples.

    `stacks` and `functions` are the record's tables over all trials, `reports` a row a trial and host that sampled:
    `trial`, `host`, `samples_count`, `lost_samples_count`, `own_ns`, `keeps_interrupts_apart` (ProfileReport in
    crates/schema/src/evidence.rs).
    """
    samples, frames = classified(stacks, functions)
    samples = samples.with_columns(
        ((pl.col("kind") == KERNEL) & is_late(samples["name"])).fill_null(False).alias("late")
    )
    totals = _totals(reports, measured)
    parted = _parted(samples, totals)
    parts = _parts(parted, totals, reports)
    weighed = parted.join(parts.select(*_PART, "amount", "of_part"), on=_PART, how="inner").with_columns(
        (pl.col("amount") * pl.col("samples_count") / pl.col("of_part")).alias("cycles")
    )
    rest = pl.concat([_rest(parts, OWN_TRACING, "own"), _rest(parts, NOT_ATTRIBUTED, "unexplained")])
    names = ("stack", *SIDE, "host", "unit", "part", "group", "context", "samples_count", "class", *NAME, "cycles")
    return WeighedStacks(weighed.select(names), rest, frames)


def trial_rows(weighed: WeighedStacks) -> tuple[pl.DataFrame, pl.DataFrame]:
    """The exclusive and the inclusive rows of each side of each trial that has samples.

    The exclusive rows: `trial`, `cell`, `role`, `unit`, `part`, `class`, `name`, `kind`, `object` (null where it is no
    function), `cycles`, `samples`. The inclusive ones: `trial`, `cell`, `role`, `name`, `kind`, `object`, `cycles`;
    they count a function once a stack and never enter a sum.
    """
    by = [*SIDE, "unit", "part", "class", *NAME]
    stacks = weighed.stacks
    exclusive = stacks.group_by(by).agg(pl.col("cycles").sum(), pl.col("samples_count").sum().alias("samples"))
    on_stacks = weighed.frames.unique()
    inclusive = on_stacks.join(stacks.select("stack", *SIDE, "cycles"), on="stack", how="inner")
    return (
        pl.concat([exclusive, weighed.rest], how="diagonal_relaxed")
        .filter(pl.col("cycles") > 0)
        .sort(by, nulls_last=True),
        inclusive.group_by(*SIDE, *NAME).agg(pl.col("cycles").sum()).sort(*SIDE, *NAME),
    )


class TrialCosts(NamedTuple):
    """The rows of `trial_rows` with their `cost`: cycles per KByte of payload within the window of the trial.

    Trials that moved no payload are left out. `exclusive` also has `kbytes`, the payload of the trial.
    """

    exclusive: pl.DataFrame
    inclusive: pl.DataFrame


def trial_costs(weighed: WeighedStacks, measured: Measured) -> TrialCosts:
    """The cost per KByte of each row of each side of each trial."""
    octets = payloads(measured)
    exclusive, inclusive = (
        rows.join(octets, on="trial", how="inner").with_columns((pl.col("cycles") / pl.col("kbytes")).alias("cost"))
        for rows in trial_rows(weighed)
    )
    return TrialCosts(exclusive, inclusive)


def payloads(measured: Measured) -> pl.DataFrame:
    """The payload of each trial that moved any within its window: `trial`, `kbytes`."""
    return measured.trials.filter(pl.col("window_octets") > 0).select(
        "trial", (pl.col("window_octets") / OCTETS_PER_KBYTE).alias("kbytes")
    )


_HAS_ON_CPU = pl.col("on_cpu_ns").fill_null(0) > 0
"""The scheduler's count lacks what the hypervisor took and, on some kernels, interrupts; samples fall into both."""


def _totals(reports: pl.DataFrame, measured: Measured) -> pl.DataFrame:
    """The use of each host that sampled in a trial, in cycles; of shared CPUs only the load's threads."""
    per_ns = pl.col("tsc_hz") / 1e9 * pl.col("payload_ratio")
    is_pmu = (pl.col("pmu_cycles").is_not_null() & pl.col("exclusive")).all().over("cell")
    is_counted = pl.col("softirq_tracepoints_ns").is_not_null() & pl.col("softirq_on_load_ns").is_not_null()
    counted = (pl.col("softirq_tracepoints_ns") - pl.col("softirq_on_load_ns")).clip(0)
    softirqs = pl.when(is_counted).then(counted).otherwise(pl.coalesce("softirq_tracepoints_ns", "ksoftirqd_ns"))
    apart = pl.when("keeps_interrupts_apart").then(pl.col("softirq_on_load_ns").fill_null(0.0)).otherwise(0.0)
    threads = pl.when(_HAS_ON_CPU).then("on_cpu_ns").otherwise(pl.col("load_threads_ns").fill_null(0.0) + apart)
    of_sampling = reports.select(*_HOST, "keeps_interrupts_apart", "on_cpu_ns")
    return measured.ends_cpu.join(of_sampling, on=_HOST, how="inner").select(
        *SIDE,
        "host",
        pl.when(is_pmu).then(pl.lit(PMU_UNIT)).otherwise(pl.lit(TSC_UNIT)).alias("unit"),
        is_pmu.alias("is_pmu"),
        pl.col("softirq_tracepoints_ns").is_not_null().alias("is_traced"),
        is_counted.alias("is_counted"),
        "keeps_interrupts_apart",
        per_ns.alias("per_ns"),
        _HAS_ON_CPU.alias("is_on_cpu"),
        (threads * per_ns).alias(THREADS),
        pl.when("exclusive").then(softirqs.fill_null(0.0) * per_ns).otherwise(0.0).alias(SOFTIRQS),
        (pl.col("pmu_cycles") * pl.col("payload_ratio")).alias(CPUS),
    )


def _parted(samples: pl.DataFrame, totals: pl.DataFrame) -> pl.DataFrame:
    """The samples that a total is split by, with the `part` of the total that they belong to."""
    is_load = pl.col("group") == "load"
    is_softirq = pl.col("context") == "softirq"
    # Where the kernel keeps interrupts apart, the threads' total holds of them what was counted: softirqs.
    is_in_threads = (
        pl.col("is_on_cpu")
        | ~pl.col("keeps_interrupts_apart")
        | (pl.col("context") == "process")
        | (is_softirq & pl.col("is_counted"))
    )
    # The tracepoints are around each vector's function. Between them interrupts are switched on again, and a timer that
    # was due before, on a halted CPU or in an interrupt, takes its sample there: of time that the total does not have.
    is_timed = ~pl.col("is_traced") | pl.col("vector").is_not_null()
    part = (
        pl.when("is_pmu")
        .then(pl.lit(CPUS))
        .when(is_load & is_in_threads)
        .then(pl.lit(THREADS))
        .when(is_softirq & ~is_load & is_timed)
        .then(pl.lit(SOFTIRQS))
    )
    # The total of whole CPUs holds what others ran there.
    owner = (
        pl.when(pl.col("group") == "idle")
        .then(pl.lit(IDLE))
        .when(pl.col("group") == "agent")
        .then(pl.lit(OWN_TRACING))
        .otherwise(pl.lit(OTHER_PROGRAMS))
    )
    return (
        samples.drop("cell")
        .join(totals, on=_HOST, how="inner")
        .with_columns(part.alias("part"))
        .with_columns(pl.when(~pl.col("is_pmu") | is_load | is_softirq).then("class").otherwise(owner).alias("class"))
        .with_columns(
            pl.when(pl.col("late") & ~pl.col("is_pmu")).then(pl.lit(INTERRUPTS_ON)).otherwise("class").alias("class")
        )
        .with_columns(_softirqs_elsewhere(is_load, is_softirq & is_timed).alias(SOFTIRQS))
        .filter(pl.col("part").is_not_null())
    )


def _softirqs_elsewhere(is_load: pl.Expr, is_softirq: pl.Expr) -> pl.Expr:
    """The time of softirqs that is not on top of the load's threads, whose own time holds the rest.

    Where tracepoints time all of them and nothing counts those on top of the load, the samples say which part that is;
    ksoftirqd's own time is all elsewhere.
    """
    count = pl.col("samples_count")
    of_all = count.filter(is_softirq).sum().over(_HOST)
    elsewhere = count.filter(is_softirq & ~is_load).sum().over(_HOST)
    ratio = pl.when(of_all > 0).then(elsewhere / of_all).otherwise(0.0)
    is_split = pl.col("is_traced") & ~pl.col("is_counted")
    return pl.when(is_split).then(pl.col(SOFTIRQS) * ratio).otherwise(pl.col(SOFTIRQS))


def _parts(parted: pl.DataFrame, totals: pl.DataFrame, reports: pl.DataFrame) -> pl.DataFrame:
    """Each part of each total, in cycles: its `total`, `own` for taking the samples, the `amount` that the samples
    `of_part` split, and what is `unexplained`: the share of lost samples, or all where there is no sample."""
    present = parted.group_by(*_PART).agg(pl.col("samples_count").sum().alias("of_part"))
    names = ("cell", "role", "unit", "is_pmu", "per_ns", THREADS, SOFTIRQS, CPUS)
    sampled_hosts = parted.group_by(_HOST).agg(pl.col(name).first() for name in names)
    # Without a sample of softirqs nothing says how many were on top of the load's threads, unless they were counted.
    others = totals.join(sampled_hosts, on=_HOST, how="anti").with_columns(
        pl.when("is_counted").then(pl.col(SOFTIRQS)).otherwise(0.0).alias(SOFTIRQS)
    )
    known = pl.concat([sampled_hosts, others.select(*_HOST, *names)])
    wanted = known.with_columns(
        pl.when("is_pmu").then(pl.lit([CPUS])).otherwise(pl.lit([THREADS, SOFTIRQS])).alias("part")
    ).explode("part")
    total = pl.when(pl.col("part") == CPUS).then(CPUS).when(pl.col("part") == THREADS).then(THREADS).otherwise(SOFTIRQS)
    sampled = reports.select(*_HOST, "own_ns", "lost_samples_count", pl.col("samples_count").alias("all_samples"))
    share_lost = pl.col("lost_samples_count") / pl.max_horizontal(1, "all_samples")
    own = pl.col("own_ns") * pl.col("per_ns") * pl.col("of_part") / pl.max_horizontal(1, "all_samples")
    return (
        wanted.join(present, on=_PART, how="left")
        .join(sampled, on=_HOST, how="left")
        .with_columns(pl.col("of_part").fill_null(0), total.alias("total"))
        .with_columns(pl.min_horizontal(own, "total").alias("own"))
        .with_columns(
            pl.when(pl.col("of_part") > 0)
            .then((pl.col("total") - pl.col("own")) * (1 - share_lost))
            .otherwise(0.0)
            .alias("amount")
        )
        .with_columns((pl.col("total") - pl.col("own") - pl.col("amount")).alias("unexplained"))
    )


def _rest(parts: pl.DataFrame, name: str, column: str) -> pl.DataFrame:
    """Rows that no function has: of a class, from a column of the parts."""
    rows = parts.group_by(*SIDE, "unit", "part").agg(pl.col(column).sum().alias("cycles"))
    return rows.filter(pl.col("cycles") > 0).with_columns(pl.lit(name).alias("class"))
