"""The course of one trial over time, for drawing: rates, windows, round-trip time and CPU.

Instants are seconds after the start of the load, which is the first interval's start.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import polars as pl

from whyperf.analyze.measures.cpu import BUSY, KINDS
from whyperf.analyze.measures.transactions import IS_NEAR
from whyperf.analyze.read.inputs import Inputs
from whyperf.analyze.read.watched import is_counted
from whyperf.analyze.steady.rates import Floats
from whyperf.analyze.steady.settle import series

COURSE_TABLES = ("flows", "intervals", "datagrams", "tcp_info", "transactions", "cpu")
"""The tables of the record that courses, and whether their trials have a goodput, are made of."""


@dataclass(frozen=True)
class Course:
    """One trial over time. Frames have `role` and are ascending in `at_s`.

    `phases`: phase, `from_s`, `to_s`. `rates`: `at_s` (end of the span), `bps` of all connections
    together. `transport`: `at_s`, `cwnd_bytes` (sender), `window_bytes` (announced, as the sender
    sees it, otherwise as the receiver says), sums over connections, and `rtt_ms`, their median; null where no
    connection has the value.
    `cpu`: `at_s`, `busy_ratio` of the end's own CPUs; empty when they are not its alone. `transactions`: `at_s`,
    `per_s` that ended, empty in a plain stream. `arrived`: `at_s`, `bps` of the payload that arrived at each side,
    empty unless some arrived at both; `rates` have both directions together then. `start_ns` is the start on the
    controller's clock. Of datagrams the sender has no rate: what it sends is none.
    """

    trial: str
    phases: pl.DataFrame
    rates: pl.DataFrame
    transport: pl.DataFrame
    cpu: pl.DataFrame
    transactions: pl.DataFrame
    arrived: pl.DataFrame
    start_ns: int = 0

    @property
    def counted_rates(self) -> pl.DataFrame:
        """The rates that are goodput: the receiver's; the sender's of a watched connection with that end alone."""
        received = self.rates.filter(pl.col("role") == "receiver")
        return self.rates if received.is_empty() else received


def courses_of(inputs: Inputs, trials: Sequence[str]) -> list[Course]:
    """The courses of some trials, in their order; trials without intervals have none."""
    # Each course looks through the tables; of many trials, only those that are wanted.
    here = pl.col("trial").is_in(trials)
    names = ("intervals", "datagrams", "tcp_info", "transactions", "ends", "cpu")
    fewer = replace(inputs, **{name: getattr(inputs, name).filter(here) for name in names})
    return [found for trial in trials if (found := course(fewer, trial)) is not None]


def course(inputs: Inputs, trial: str) -> Course | None:
    """The course of `trial`; None when it has no intervals."""
    rows = inputs.intervals.filter(pl.col("trial") == trial)
    if rows.is_empty():
        return None
    start = int(rows["start_mono_ns"].min())  # type: ignore[arg-type]
    sends = inputs.datagrams.filter(pl.col("trial") == trial).is_empty()
    roles = ("sender", "receiver") if sends else ("receiver",)
    transactions = inputs.transactions.filter(pl.col("trial") == trial)
    return Course(
        trial=trial,
        phases=_phases(rows, start),
        rates=pl.concat([_rates(rows.filter(pl.col("role") == role), role, start) for role in roles]),
        transport=_transport(inputs.tcp_info.filter(pl.col("trial") == trial), start),
        cpu=_cpu(inputs, trial, start),
        transactions=_transactions(transactions, start, int(rows["end_mono_ns"].max())),  # type: ignore[arg-type]
        arrived=_arrived(transactions, start),
        start_ns=start,
    )


def _transactions(rows: pl.DataFrame, start: int, end: int) -> pl.DataFrame:
    """Rates of what ended. `end` is when the load ended: what ends later are only the last transactions under way."""
    seconds = (pl.col("end_mono_ns") - pl.col("start_mono_ns")) / 1e9
    is_under_load = pl.col("start_mono_ns") + pl.col("end_mono_ns") <= 2 * end
    # What is left of the load after its last whole interval is too short for a rate.
    return (
        rows.filter(IS_NEAR & (seconds > 0))
        .filter((seconds >= seconds.median() / 2) & is_under_load)
        .group_by("end_mono_ns")
        .agg((pl.col("transactions_count") / seconds).sum().alias("per_s"))
        .select(((pl.col("end_mono_ns") - start) / 1e9).alias("at_s"), "per_s")
        .sort("at_s")
    )


def _arrived(transactions: pl.DataFrame, start: int) -> pl.DataFrame:
    """Rates of the payload that arrived at the near side (`sender`) and at the far side; see `Course`."""
    read = transactions.with_columns(
        pl.col("host").rank("dense").alias("connection"), pl.col("received_bytes").alias("payload_bytes")
    )
    sides = {"sender": read.filter(IS_NEAR), "receiver": read.filter(~IS_NEAR)}
    if not all(int(rows["payload_bytes"].sum()) for rows in sides.values()):
        sides = dict.fromkeys(sides, read.clear())
    return pl.concat([_rates(rows, role, start) for role, rows in sides.items()])


def _phases(rows: pl.DataFrame, start: int) -> pl.DataFrame:
    seconds = (pl.col("start_mono_ns").min() - start) / 1e9, (pl.col("end_mono_ns").max() - start) / 1e9
    spans = rows.filter(is_counted(rows)).group_by("phase")
    return spans.agg(seconds[0].alias("from_s"), seconds[1].alias("to_s")).sort("from_s")


def _rates(rows: pl.DataFrame, role: str, start: int) -> pl.DataFrame:
    schema = {"role": pl.String(), "at_s": pl.Float64(), "bps": pl.Float64()}
    if rows.is_empty():
        return pl.DataFrame(schema=schema)
    first, last = int(rows["start_mono_ns"].min()), int(rows["end_mono_ns"].max())  # type: ignore[arg-type]
    edges, rates = _whole_spans(*series(rows, first, last))
    return pl.DataFrame(
        {"role": [role] * rates.size, "at_s": (edges[1:] + first - start) / 1e9, "bps": rates}, schema=schema
    )


def _whole_spans(edges: Floats, rates: Floats) -> tuple[Floats, Floats]:
    """The same with a short last span as part of the one before: a few reads would decide its rate."""
    spans = np.diff(edges)
    if spans.size < 2 or spans[-1] >= np.median(spans) / 2:
        return edges, rates
    together = np.average(rates[-2:], weights=spans[-2:])
    return np.delete(edges, -2), np.append(rates[:-2], together)


def _sum(value: pl.Expr) -> pl.Expr:
    """The sum of the known values; null without any."""
    return pl.when(value.is_not_null().any()).then(value.sum())


def _transport(samples: pl.DataFrame, start: int) -> pl.DataFrame:
    """The k-th samples of all connections belong together: the sampler takes them in one go."""
    numbered = samples.sort("sample_mono_ns").with_columns(
        pl.int_range(pl.len()).over("role", "connection").alias("sample")
    )
    both = numbered.group_by("role", "sample").agg(
        ((pl.col("sample_mono_ns").min() - start) / 1e9).alias("at_s"),
        _sum(pl.col("cwnd_segments").cast(pl.Int64) * pl.col("send_mss_bytes")).alias("cwnd_bytes"),
        _sum(pl.col("peer_window_bytes").cast(pl.Int64)).alias("peer_window_bytes"),
        _sum(pl.col("own_window_bytes").cast(pl.Int64)).alias("own_window_bytes"),
        (pl.col("rtt_ns").median() / 1e6).alias("rtt_ms"),
    )
    sender = pl.col("role") == "sender"
    return both.select(
        "role",
        "at_s",
        pl.when(sender).then(pl.col("cwnd_bytes")).alias("cwnd_bytes"),
        pl.when(sender).then(pl.col("peer_window_bytes")).otherwise(pl.col("own_window_bytes")).alias("window_bytes"),
        pl.when(sender).then(pl.col("rtt_ms")).alias("rtt_ms"),
    ).sort("role", "at_s")


def _cpu(inputs: Inputs, trial: str, start: int) -> pl.DataFrame:
    alone = inputs.ends.filter((pl.col("trial") == trial) & pl.col("exclusive")).select("host", "role")
    rows = inputs.cpu.filter((pl.col("trial") == trial) & pl.col("own")).join(alone, on="host", how="inner")
    busy = pl.sum_horizontal(pl.col(f"{kind}_ns").sum() for kind in BUSY)
    # In an interval of ten ticks the kernel easily counts one too many: then its ticks are the whole.
    ticked = pl.sum_horizontal(pl.col(f"{kind}_ns").sum() for kind in KINDS)
    wall = pl.max_horizontal((pl.col("end_mono_ns") - pl.col("start_mono_ns")).sum(), ticked)
    return (
        rows.group_by("role", "end_mono_ns")
        .agg((busy / wall).alias("busy_ratio"))
        .select("role", ((pl.col("end_mono_ns") - start) / 1e9).alias("at_s"), "busy_ratio")
        .sort("role", "at_s")
    )
