"""Prints a trial in the layout of uperf, for programs that read its output.

The layout is that of `uperf -R -a -i 1` (uperf 1.0.8, src/print.c and src/master.c): a raw line per
interval and transaction with the counts since the start of the transaction, then the totals.
The numbers are from whyperf: the times are those of the transaction, and received datagrams count.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl

NS_PER_S = 1_000_000_000
NS_PER_MS = 1_000_000
#: Width where standard output is no terminal.
RULE = "-" * 79
NEAR, FAR = "near", "far"
#: Operations with payload, and all operations of completed executions: uperf counts those without payload, too.
_OPERATIONS = ("operations_count", "executed_count")
_COUNTED = ("begun_count", "transactions_count", "failed_count", "sent_bytes", "received_bytes", *_OPERATIONS)


@dataclass(frozen=True)
class Run:
    """The data of a trial in addition to its table `transactions`."""

    #: The name of the profile, which wrappers read.
    profile: str
    strands_count: int
    far_host: str
    #: CLOCK_REALTIME minus CLOCK_MONOTONIC of the near side.
    realtime_offset_ns: int
    #: True where datagrams may be lost, so that only received ones count.
    is_lossy: bool
    #: Transactions in the order of the groups, each with its duration where the profile gives one.
    durations_ns: Mapping[str, int | None]
    #: Flowops per execution, by group and transaction.
    flowops_count: Mapping[tuple[str, str], int]


@dataclass(frozen=True)
class Span:
    """The counts of a host in a time range."""

    begin_ns: int
    end_ns: int
    octets: int
    operations: int
    failed: int = 0

    @property
    def seconds(self) -> float:
        """The duration."""
        return (self.end_ns - self.begin_ns) / NS_PER_S


def lines(run: Run, transactions: pl.DataFrame, interval_ns: int = NS_PER_S) -> Iterator[str]:
    """The lines of a trial.

    Args:
        run: the data that the table lacks.
        transactions: rows of the table `transactions` of one trial, both hosts.
        interval_ns: time between raw lines of a transaction.
    """
    yield f"Starting {run.strands_count} threads running profile:{run.profile} ...   0.00 seconds"
    near = _by_interval(transactions, NEAR, run)
    spans: dict[str, Span] = {}
    for name, duration_ns in run.durations_ns.items():
        rows = _active(near.filter(transaction=name))
        if rows.is_empty():
            continue
        yield from _raw(run, name, rows, interval_ns)
        yield ""
        spans[name] = _span(rows, duration_ns)
    yield RULE
    total = _total(list(spans.values()))
    yield _raw_line(run, "Total", total.end_ns, total.octets, total.operations)
    yield ""
    for name, span in [*spans.items(), ("Total", total)]:
        yield _summary(name, span)
    yield from _run_statistics(run, total, _host_total(transactions, FAR, run))


def _by_interval(transactions: pl.DataFrame, host: str, run: Run) -> pl.DataFrame:
    """The rows of a host over all groups, with `octets`."""
    keys = ["transaction", "interval"]
    flowops = pl.DataFrame(
        [(*names, count) for names, count in run.flowops_count.items()],
        schema={"group": pl.String, "transaction": pl.String, "flowops_count": pl.Int64},
        orient="row",
    )
    # Of a failed execution the rest is skipped: what it moved before is in `operations_count`.
    completed = pl.col("transactions_count").cast(pl.Int64) - pl.col("failed_count").cast(pl.Int64)
    executed = completed * pl.col("flowops_count").fill_null(0)
    sums = (
        transactions.filter(host=host)
        .join(flowops, on=["group", "transaction"], how="left")
        .with_columns(executed.alias("executed_count"))
        .group_by(keys)
        .agg(
            pl.col("start_mono_ns").min().cast(pl.Int64),
            pl.col("end_mono_ns").max().cast(pl.Int64),
            *(pl.col(name).sum().cast(pl.Int64) for name in _COUNTED),
        )
        .sort(keys)
    )
    if not run.is_lossy:
        return sums.with_columns((pl.col("sent_bytes") + pl.col("received_bytes")).alias("octets"))
    arrived = transactions.group_by(keys).agg(pl.col("received_bytes").sum().cast(pl.Int64).alias("octets"))
    return sums.join(arrived, on=keys, how="left").sort(keys)


def _active(rows: pl.DataFrame) -> pl.DataFrame:
    """The rows from the first to the last interval with counts."""
    counted = pl.sum_horizontal("octets", *_COUNTED) > 0
    first, last = rows.select(
        pl.col("interval").filter(counted).min().alias("first"), pl.col("interval").filter(counted).max().alias("last")
    ).row(0)
    return rows.clear() if first is None else rows.filter(pl.col("interval").is_between(first, last))


def _span(rows: pl.DataFrame, duration_ns: int | None = None) -> Span:
    """The time range of a transaction: the duration in the profile, or the intervals with executions."""
    begin_ns, end_ns = rows["start_mono_ns"][0], rows["end_mono_ns"][-1]
    if duration_ns is not None:
        end_ns = min(end_ns, begin_ns + duration_ns)
    octets, failed, *operations = rows.select(pl.col("octets", "failed_count", *_OPERATIONS).sum()).row(0)
    return Span(begin_ns, end_ns, octets, max(operations), failed)


def _raw(run: Run, name: str, rows: pl.DataFrame, interval_ns: int) -> Iterator[str]:
    begin_ns = rows["start_mono_ns"][0]
    yield _raw_line(run, name, begin_ns, 0, 0)
    marked = rows.select(
        "end_mono_ns",
        pl.col("octets").cum_sum(),
        pl.max_horizontal(pl.col(_OPERATIONS).cum_sum()).alias("operations_count"),
        # The sampler may end a row shortly after a mark; the row still belongs before the mark.
        ((pl.col("start_mono_ns") - begin_ns) // interval_ns).alias("mark"),
    )
    for end_ns, octets, operations in (
        marked.group_by("mark", maintain_order=True).last().select("end_mono_ns", "octets", "operations_count").rows()
    ):
        yield _raw_line(run, name, end_ns, octets, operations)


def _raw_line(run: Run, name: str, at_mono_ns: int, octets: int, operations: int) -> str:
    at_ns = at_mono_ns + run.realtime_offset_ns
    # Integers: a double cannot represent a time of day in ns.
    milliseconds, rest_ns = divmod(at_ns, NS_PER_MS)
    return f"timestamp_ms:{milliseconds}.{rest_ns // 100:04d} name:{name} nr_bytes:{octets} nr_ops:{operations}"


def _total(spans: Sequence[Span]) -> Span:
    if not spans:
        return Span(0, 0, 0, 0)
    return Span(
        min(span.begin_ns for span in spans),
        max(span.end_ns for span in spans),
        sum(span.octets for span in spans),
        sum(span.operations for span in spans),
        sum(span.failed for span in spans),
    )


def _host_total(transactions: pl.DataFrame, host: str, run: Run) -> Span:
    by_interval = _by_interval(transactions, host, run)
    return _total(
        [
            _span(rows, run.durations_ns[name])
            for name in run.durations_ns
            if not (rows := _active(by_interval.filter(transaction=name))).is_empty()
        ]
    )


def _summary(name: str, span: Span) -> str:
    """`Txn2   195.31MB /  30.00(s) =    52.08Mb/s       13201op/s `."""
    seconds = span.seconds
    rate_bps, operations_per_s = (span.octets * 8 / seconds, span.operations / seconds) if seconds > 0 else (0.0, 0.0)
    data, rate = _scaled(span.octets, 1024, "B"), _scaled(rate_bps, 1000, "b/s")
    return f"{name:<8.8} {data:>8} /{seconds:7.2f}(s) = {rate:>12}  {operations_per_s:10.0f}op/s "


def _run_statistics(run: Run, near: Span, far: Span) -> Iterator[str]:
    yield ""
    yield "Run Statistics"
    yield "Hostname            Time       Data   Throughput   Operations      Errors"
    yield RULE
    yield _host_line(run.far_host, far)
    yield _host_line("master", near)
    yield RULE
    pairs: list[tuple[float, float]] = [
        (near.seconds, far.seconds),
        (near.octets, far.octets),
        (_rate(near), _rate(far)),
        (near.operations, far.operations),
    ]
    time, data, rate, operations = (100.0 - 100.0 * there / here if here and there else 0.0 for here, there in pairs)
    errors = max(_errors(near), _errors(far))
    yield f"{'Difference(%)':<15} {time:7.2f}% {data:9.2f}% {rate:11.2f}% {operations:11.2f}% {errors:10.2f}%"
    yield ""


def _host_line(name: str, span: Span) -> str:
    time = _time(span.end_ns - span.begin_ns)
    data, rate = _scaled(span.octets, 1024, "B"), _scaled(_rate(span), 1000, "b/s")
    return f"{name:<15.15} {time:>8} {data:>10} {rate:>12} {span.operations:12d} {_errors(span):11.2f}"


def _rate(span: Span) -> float:
    return span.octets * 8 / span.seconds if span.seconds > 0 else 0.0


def _errors(span: Span) -> float:
    """Failures in percent of the operations."""
    return 100.0 * span.failed / span.operations if span.operations else 0.0


def _scaled(value: float, step: int, unit: str) -> str:
    if value == 0:
        return "0"
    prefixes = iter(("", *"KMGTPE"))
    prefix = next(prefixes)
    while value > step and prefix != "E":
        value, prefix = value / step, next(prefixes)
    return f"{value:.2f}{prefix}{unit}"


def _time(nanoseconds: float) -> str:
    value = float(nanoseconds)
    for unit in ("ns", "us", "ms"):
        if value < 1000:
            return f"{value:.2f}{unit}"
        value /= 1000
    return f"{value:.2f}s"


def flowops_count(workload: Mapping[str, Any]) -> dict[tuple[str, str], int]:
    """Flowops of one execution, by the names of group and transaction."""
    return {
        (group["name"], transaction["name"]): sum(step["count"] for step in transaction["steps"])
        for group in workload["groups"]
        for transaction in group["transactions"]
    }


def durations(workload: Mapping[str, Any]) -> dict[str, int | None]:
    """The names of the transactions in order, each with its duration where all groups have the same."""
    found: dict[str, int | None] = {}
    groups = [group["transactions"] for group in workload["groups"]]
    for place in range(max(map(len, groups), default=0)):
        here = [transactions[place] for transactions in groups if place < len(transactions)]
        lengths = {transaction["repeat"].get("duration_ns") for transaction in here}
        for transaction in here:
            found[transaction["name"]] = lengths.copy().pop() if len(lengths) == 1 else None
    return found
