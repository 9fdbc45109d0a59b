"""Goodput of each trial: payload octets read by the receiver over the common measurement window.

Three kinds of trial (see the glossary for goodput, and `ttcp` for the transfer):

- *Duration*: the window is that of phase `measure` common to all connections, after what is left
  of the warm-up was cut (`settle`); the whole phase where latencies are reported with it.
- *Transfer* of a given number of bytes: with one connection the payload over the time from the
  sender's first call to the receiver's last, as ttcp does; with several, the octets read between
  the latest first read and the earliest last read, when all connections were at work.
- *Schedule*: the window is all of it from the start of the first flow on, beginnings of flows and what they leave
  behind included; nothing is cut, and no steadiness is expected of flows that come and go.
"""

import polars as pl

from whyperf.analyze.measures.transactions import received_octets
from whyperf.analyze.measures.windows import sum_within
from whyperf.analyze.read.inputs import Inputs
from whyperf.analyze.read.watched import is_counted
from whyperf.analyze.steady.settle import settle

_BPS = pl.col("window_octets") * 8e9 / (pl.col("window_end_ns") - pl.col("window_start_ns"))

#: Beyond so many connections the agents sum intervals by group (table `intervals`), and nobody knows the single ones.
MAX_SINGLE = 10_000


def measure(
    trials: pl.DataFrame, flows: pl.DataFrame, intervals: pl.DataFrame, transactions: pl.DataFrame
) -> pl.DataFrame:
    """The goodput of every trial in `trials`, one row each.

    Where a workload was executed, payload is what arrived at both hosts, counted in `transactions`.

    Adds to `trials`: `window_start_ns`, `window_end_ns`, `window_octets`, `goodput_bps`, `whole_bps` (the same over
    the whole window, nothing cut), `octets` (payload read in the whole life), `fairness` (Jain's index, null for one
    connection and for a multitude) and the verdict columns of `settle`. A trial without goodput has `unusable`:
    `no_window` (nothing was measured) or `no_common_window` (its connections were not at work together).
    """
    rows = receiver_rows(intervals)
    reads = flows.filter(is_counted(flows))
    timed = trials.filter(pl.col("transfer_bytes").is_null() & ~pl.col("scheduled")).select("trial")
    scheduled = trials.filter(pl.col("scheduled")).select("trial", "lead_ns")
    whole = set(trials.filter("is_whole_phase")["trial"])
    windows = pl.concat(
        [
            settle(duration_windows(rows.join(timed, on="trial", how="semi")), rows, whole),
            _scheduled(duration_windows(rows.join(scheduled, on="trial", how="semi")), scheduled),
            transfer_windows(trials.filter(pl.col("transfer_bytes").is_not_null()), flows, rows),
        ],
        how="diagonal_relaxed",
    )
    received = received_octets(transactions, windows)
    connections = window_octets(rows, reads, windows)
    # Flows that came at different times are compared region by region (`transports`).
    flowing = scheduled["trial"].to_list()
    sums = connections.group_by("trial").agg(
        pl.col("window_octets").sum(),
        pl.when((pl.len() > 1) & (pl.len() <= MAX_SINGLE) & ~pl.col("trial").first().is_in(flowing))
        .then(jain("goodput_bps"))
        .alias("fairness"),
    )
    lives = reads.group_by("trial").agg(pl.col("payload_bytes").cast(pl.Float64).sum().alias("octets"))
    # A single transfer's octets are counted, not interpolated: its window is its whole life.
    octets = pl.when(pl.col("whole_life")).then(pl.col("octets")).otherwise(pl.col("window_octets"))
    measured = (
        trials.join(windows, on="trial", how="left")
        .join(lives, on="trial", how="left")
        .join(sums, on="trial", how="left")
        .join(received, on="trial", how="left")
        .with_columns(pl.coalesce("received_octets", octets).alias("window_octets"))
        .drop("received_octets")
        .with_columns(_BPS.alias("goodput_bps"))
        .join(_whole_windows(windows, whole, rows, reads, transactions), on="trial", how="left")
        .with_columns(pl.coalesce("whole_bps", "goodput_bps").alias("whole_bps"))
    )
    lacking = pl.col("goodput_bps").is_null() & pl.col("unusable").is_null()
    return measured.with_columns(
        pl.when(lacking).then(pl.lit("no_window")).otherwise(pl.col("unusable")).alias("unusable")
    )


def _whole_windows(
    windows: pl.DataFrame, whole: set[str], rows: pl.DataFrame, reads: pl.DataFrame, transactions: pl.DataFrame
) -> pl.DataFrame:
    """Of each trial that was cut: `trial`, `whole_bps`, the rate over its whole window."""
    uncut = windows.filter((pl.col("cut_ns") > 0) & ~pl.col("trial").is_in(whole)).with_columns(
        pl.col("window_start_ns") - pl.col("cut_ns")
    )
    octets = window_octets(rows, reads, uncut).group_by("trial").agg(pl.col("window_octets").sum())
    received = received_octets(transactions, uncut)
    return (
        uncut.join(octets, on="trial", how="left")
        .join(received, on="trial", how="left")
        .with_columns(pl.coalesce("received_octets", "window_octets").alias("window_octets"))
        .select("trial", _BPS.alias("whole_bps"))
    )


def _scheduled(windows: pl.DataFrame, leads: pl.DataFrame) -> pl.DataFrame:
    """Windows from the first flow on, of which nothing is cut. `leads` are trial and `lead_ns`."""
    start = pl.col("window_start_ns") + pl.col("lead_ns")
    return (
        windows.join(leads, on="trial")
        .with_columns(start.alias("window_start_ns"), pl.lit(value=False).alias("whole_life"))
        .drop("lead_ns")
        .filter(pl.col("window_end_ns") > pl.col("window_start_ns"))
    )


def receiver_rows(intervals: pl.DataFrame) -> pl.DataFrame:
    """The interval rows goodput is counted from: the receiver's, of phase `measure`. Of a watched connection whose
    receiver nobody saw, they are the sender's, with what the receiver acknowledged.
    """
    return intervals.filter(is_counted(intervals) & (pl.col("phase") == "measure"))


def counted_rows(inputs: Inputs, trial: str | None) -> list[tuple[int, int, float]]:
    """The counted intervals of a trial, those of the warm-up included: begin and end in ns, and octets."""
    rows = inputs.intervals.filter(is_counted(inputs.intervals) & (pl.col("trial") == trial))
    return list(rows.select("start_mono_ns", "end_mono_ns", "payload_bytes").iter_rows())


def duration_windows(rows: pl.DataFrame) -> pl.DataFrame:
    """The window common to all connections of each trial: latest start to earliest end of `rows`.

    One row a trial that has such a window: `trial`, `window_start_ns`, `window_end_ns`.
    """
    spans = rows.group_by("trial", "connection").agg(pl.col("start_mono_ns").min(), pl.col("end_mono_ns").max())
    return (
        spans.group_by("trial")
        .agg(
            pl.col("start_mono_ns").max().alias("window_start_ns"),
            pl.col("end_mono_ns").min().alias("window_end_ns"),
        )
        .filter(pl.col("window_end_ns") > pl.col("window_start_ns"))
    )


def window_octets(rows: pl.DataFrame, reads: pl.DataFrame, windows: pl.DataFrame) -> pl.DataFrame:
    """The octets that each connection's receiver read in its trial's window.

    One row a connection of a trial with a window: `trial`, `connection`, `window_octets`,
    `goodput_bps`; 0 where it read nothing. A row is first shortened to the connection's life
    (first to last read), so that interpolation does not spread octets over time when none came.
    """
    windows = windows.select("trial", "window_start_ns", "window_end_ns").drop_nulls()
    # A record that somebody changed may have several rows of a connection.
    life = reads.group_by("trial", "connection", maintain_order=True).agg(
        pl.col("first_call_mono_ns").min(), pl.col("last_call_mono_ns").max()
    )
    start, end = pl.col("start_mono_ns"), pl.col("end_mono_ns")
    lived = rows.join(life, on=["trial", "connection"], how="left").with_columns(
        pl.max_horizontal(start, pl.min_horizontal("first_call_mono_ns", end)).alias("start_mono_ns"),
        pl.min_horizontal(end, pl.max_horizontal("last_call_mono_ns", start)).alias("end_mono_ns"),
    )
    sums = sum_within(lived, windows, ["payload_bytes"], ["trial", "connection"])
    return (
        life.select("trial", "connection")
        .join(windows, on="trial", how="inner")
        .join(sums, on=["trial", "connection"], how="left")
        .with_columns(pl.col("payload_bytes").fill_null(0.0).alias("window_octets"))
        .with_columns(_BPS.alias("goodput_bps"))
        .select("trial", "connection", "window_octets", "goodput_bps")
    )


def jain(column: str) -> pl.Expr:
    """Jain's index of the values of `column` in a group: 1 when all are equal, 1/n when one has all.

    R. Jain, D. Chiu, W. Hawe, "A quantitative measure of fairness and discrimination for resource
    allocation in shared computer systems", DEC TR-301 (1984).
    """
    values = pl.col(column)
    squares = (values * values).sum() * values.count()
    return pl.when(squares > 0).then(values.sum() ** 2 / squares).otherwise(None)


MIN_OVERLAP_RATIO = 0.1
"""Connections together for less than this part of the transfer had no common window."""


def transfer_windows(trials: pl.DataFrame, flows: pl.DataFrame, rows: pl.DataFrame) -> pl.DataFrame:
    """The window of each of `trials`: `trial`, `window_start_ns`, `window_end_ns`, `whole_life`,
    `unusable`.

    One connection: sender's first call to receiver's last read; `whole_life` is true. Several:
    latest first read to earliest last read, null and `unusable` = `no_common_window` when the
    connections were hardly at work together. The window of a trial cut at its deadline lasts
    until its first connection was done or, if none was, to the end of the receiver's last interval
    in `rows`, so that a stalled transfer is not flattered.
    """
    first, last = pl.col("first_call_mono_ns"), pl.col("last_call_mono_ns")
    sends = flows.filter(pl.col("role") == "sender").group_by("trial").agg(first.min().alias("send_ns"))
    reads = (
        flows.filter(pl.col("role") == "receiver")
        .group_by("trial")
        .agg(
            pl.len().alias("connections"),
            first.min().alias("any_first_ns"),
            first.max().alias("all_first_ns"),
            last.min().alias("all_last_ns"),
            last.max().alias("any_last_ns"),
            last.filter(pl.col("ended") == "complete").min().alias("done_ns"),
            (first.null_count() > 0).alias("silent"),
        )
    )
    watched = rows.group_by("trial").agg(pl.col("end_mono_ns").max().alias("watched_ns"))
    cut = pl.col("status") == "deadline"
    watched_end = pl.coalesce("done_ns", pl.max_horizontal("any_last_ns", "watched_ns"))
    single = pl.col("connections") == 1
    start = pl.when(single).then(pl.col("send_ns")).otherwise(pl.col("all_first_ns"))
    end = pl.when(cut).then(watched_end).when(single).then(pl.col("any_last_ns")).otherwise(pl.col("all_last_ns"))
    together = pl.col("window_end_ns") - pl.col("window_start_ns")
    whole = pl.col("any_last_ns") - pl.col("any_first_ns")
    apart = ~single & (pl.col("silent") | (together <= whole * MIN_OVERLAP_RATIO))
    usable = ~apart & (together > 0)
    return (
        trials.select("trial", "status")
        .join(sends, on="trial", how="left")
        .join(reads, on="trial", how="left")
        .join(watched, on="trial", how="left")
        .with_columns(start.alias("window_start_ns"), end.alias("window_end_ns"))
        .select(
            "trial",
            pl.when(usable).then(pl.col("window_start_ns")).alias("window_start_ns"),
            pl.when(usable).then(pl.col("window_end_ns")).alias("window_end_ns"),
            single.alias("whole_life"),
            pl.when(apart).then(pl.lit("no_common_window")).alias("unusable"),
        )
    )
