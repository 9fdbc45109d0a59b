"""The measures of each pair of hosts and each host in each trial."""

import polars as pl

from whyperf.analyze.fleet.inputs import PAIR, FleetInputs
from whyperf.analyze.measures.goodput import jain
from whyperf.analyze.measures.transactions import trial_transactions
from whyperf.analyze.measures.windows import with_overlap
from whyperf.analyze.read.inputs import Inputs
from whyperf.analyze.trials import Measured

WINDOW_S = (pl.col("window_end_ns") - pl.col("window_start_ns")) / 1e9
BUSY = ("user_ns", "system_ns", "irq_ns", "softirq_ns")


def pair_rates(inputs: Inputs, measured: Measured) -> pl.DataFrame:
    """The rates of each pair in each trial's window: `trial`, `cell`, `pair` (from 0), `goodput_bps`,
    `transactions_per_s` (null without transactions).

    Where a workload was executed, payload is what arrived at both hosts, as for a trial.
    """
    windows = measured.trials.drop_nulls("goodput_bps").select("trial", "cell", "window_start_ns", "window_end_ns")
    numbered = inputs.flows.select("trial", PAIR.alias("pair"), pl.col("connection").cast(pl.Int64)).unique(
        ["trial", "connection"]
    )
    read = (
        measured.connections.with_columns(pl.col("connection").cast(pl.Int64))
        .join(numbered, on=["trial", "connection"])
        .group_by("trial", "pair")
        .agg(pl.col("window_octets").sum())
    )
    arrived = (
        with_overlap(inputs.transactions.with_columns(PAIR.alias("pair")), windows)
        .group_by("trial", "pair")
        .agg((pl.col("received_bytes") * pl.col("share")).sum().alias("arrived_octets"))
    )
    executed = trial_transactions(inputs.transactions.with_columns(PAIR.alias("pair")), windows, ("pair",))
    octets = pl.coalesce("arrived_octets", "window_octets")
    return (
        read.join(arrived, on=["trial", "pair"], how="left")
        .join(executed.select("trial", "pair", "transactions_per_s"), on=["trial", "pair"], how="left")
        .join(windows, on="trial")
        .with_columns((octets * 8 / WINDOW_S).alias("goodput_bps"))
        .select("trial", "cell", "pair", "goodput_bps", "transactions_per_s")
        .sort("trial", "pair")
    )


def with_hosts(rates: pl.DataFrame, fleet: FleetInputs, ends: pl.DataFrame) -> pl.DataFrame:
    """`rates` with `sender` and `receiver`, the hosts of each pair by role in that trial."""
    names = pl.DataFrame(
        {"host": list(fleet.ends), "name": [fleet.name(end) for end in fleet.ends]},
        schema={"host": pl.String(), "name": pl.String()},
    )
    named = ends.select("trial", "host", "role").join(names, on="host").with_columns(PAIR.alias("pair"))
    roles = [
        named.filter(pl.col("role") == role).select("trial", "pair", pl.col("name").alias(role))
        for role in ("sender", "receiver")
    ]
    found = rates
    for role in roles:
        found = found.join(role, on=["trial", "pair"], how="left")
    return found


def host_rates(rates: pl.DataFrame) -> pl.DataFrame:
    """The rates sent and received by each host in each trial: `trial`, `cell`, `name`, `sent_bps`, `received_bps`."""
    sums = [
        rates.drop_nulls(role)
        .group_by("trial", "cell", pl.col(role).alias("name"))
        .agg(pl.col("goodput_bps").sum().alias(to))
        for role, to in (("sender", "sent_bps"), ("receiver", "received_bps"))
    ]
    both = sums[0].join(sums[1], on=["trial", "cell", "name"], how="full", coalesce=True)
    return both.with_columns(pl.col("sent_bps", "received_bps").fill_null(0.0)).sort("trial", "name")


def fairness(rates: pl.DataFrame, column: str) -> pl.DataFrame:
    """Jain's index of `column` over the rows of each trial, where there are two or more: `cell`, `fairness`, the
    median of the trials.
    """
    by_trial = rates.group_by("trial", "cell").agg(pl.when(pl.len() > 1).then(jain(column)).alias("fairness"))
    return by_trial.group_by("cell").agg(pl.col("fairness").median())


def host_cpu(inputs: Inputs, measured: Measured, fleet: FleetInputs) -> pl.DataFrame:
    """CPU time of each host in each trial: `trial`, `cell`, `name`, `cpu_ratio`, `load_cpus`.

    `cpu_ratio` is null where the CPUs are not its ends' alone, `load_cpus` where no thread was seen.
    """
    windows = measured.trials.select("trial", "cell", "window_start_ns", "window_end_ns").drop_nulls()
    names = {end: fleet.name(end) for end in fleet.ends}
    busy = measured.ends_cpu.select(
        "trial",
        pl.col("host").alias("owner"),
        pl.when("exclusive").then((pl.sum_horizontal(BUSY) / pl.col("wall_ns")).clip(0, 1)).alias("cpu_ratio"),
    )
    named = inputs.ends.filter(pl.col("host").is_in(list(names))).select(
        "trial",
        "host",
        pl.coalesce("cpus_of", "host").alias("owner"),
        pl.col("host").replace_strict(names).alias("name"),
    )
    threads = with_overlap(inputs.threads.filter(pl.col("phase") == "measure").drop("cell"), windows)
    used = threads.group_by("trial", "host").agg((pl.col("cpu_ns") * pl.col("share")).sum().alias("load_ns"))
    return (
        named.join(busy, on=["trial", "owner"], how="left")
        .join(used, on=["trial", "host"], how="left")
        .join(windows, on="trial")
        .group_by("trial", "cell", "name")
        .agg(
            pl.col("cpu_ratio").max(),
            pl.when(pl.col("load_ns").count() > 0)
            .then(pl.col("load_ns").sum() / 1e9 / WINDOW_S.first())
            .alias("load_cpus"),
        )
    )


def host_timeouts(fleet: FleetInputs) -> pl.DataFrame:
    """Expired retransmission timers of each host in each trial: `trial`, `name`, `timeouts`.

    The kernel counts them for all sockets of a host together, and each of its ends reports all of them.
    """
    names = {end: fleet.name(end) for end in fleet.ends}
    return (
        fleet.counts.filter((pl.col("counter") == "TcpExtTCPTimeouts") & pl.col("host").is_in(list(names)))
        .group_by("trial", pl.col("host").replace_strict(names, return_dtype=pl.String).alias("name"))
        .agg(pl.col("counted").max().alias("timeouts"))
    )
