"""Counts of the application itself: transactions that ask and are answered, and datagrams that no TCP carries.

Where data goes in both directions: how long requests and their answers take, and what lies between.
"""

import polars as pl

from whyperf.analyze.flow import FlowTrial
from whyperf.explain.gather.table import first, read_columns
from whyperf.explain.path_facts import RequestCycle
from whyperf.explain.trial_facts import DatagramFacts, ExchangeFacts, RequestedLoad


def request_cycle(sent: pl.DataFrame) -> RequestCycle:
    """Lengths of requests and answers by the sender's log; `sent` has time_ns, connection, direction, payload_bytes."""
    data = sent.filter((pl.col("payload_bytes") > 0) & (pl.col("time_ns") >= 0))
    both = data.select("time_ns", "connection", pl.col("direction").cast(pl.String))
    if both.filter(pl.col("direction") == "in").is_empty():
        return RequestCycle()
    span = both.group_by("connection").agg(pl.col("time_ns").max() - pl.col("time_ns").min())
    life = int(span["time_ns"].sum())
    if life <= 0:
        return RequestCycle()
    steps = both.with_columns(
        pl.col("direction").shift(1).over("connection").alias("before"),
        pl.col("time_ns").diff().over("connection").alias("gap_ns"),
    )
    answers = steps.filter((pl.col("before") == "out") & (pl.col("direction") == "in"))
    thinks = steps.filter((pl.col("before") == "in") & (pl.col("direction") == "out"))
    starts = pl.when((pl.col("direction") == "out") & (pl.col("before") != "out").fill_null(value=True)).then("time_ns")
    exchanges = steps.with_columns(starts.forward_fill().over("connection").alias("begin_ns"))
    exchanges = exchanges.filter((pl.col("before") == "out") & (pl.col("direction") == "in"))
    return RequestCycle(
        answer_ratio=float(answers["gap_ns"].sum()) / life,
        think_ratio=float(thinks["gap_ns"].sum()) / life,
        cycle_ns=life / thinks.height if thinks.height else None,
        exchange_ns=first(exchanges, (pl.col("time_ns") - pl.col("begin_ns")).median()),
        answer_ns=first(answers, pl.col("gap_ns").median()),
        think_ns=first(thinks, pl.col("gap_ns").median()),
    )


AS_FAST_AS_POSSIBLE = RequestedLoad()
_ASKER = "near"
"""The end that begins a workload's transactions, and so times them."""
_SPAN = ("phase", "start_mono_ns", "end_mono_ns")
_TRANSACTIONS = (
    *("group", "transaction", *_SPAN, "transactions_count", "calls_count", "sent_bytes", "received_bytes"),
)
_DATAGRAMS = ("connection", "interval", *_SPAN, "sent_count", "received_count", "payload_bytes", "kernel_drops_count")
_LATENCIES = ("group", "transaction", "phase", "kind", "latency_ns_low", "latency_ns_high", "latency_count")


def exchanges(trial: FlowTrial) -> ExchangeFacts | None:
    """The transactions that both write and read, as the near side counted them while it measured; None without any.

    Raises:
        RecordError: a table cannot be read.
    """
    rows = read_columns(trial, "transactions", _ASKER, _TRANSACTIONS)
    if rows is None:
        return None
    rows = rows.filter(pl.col("phase") == "measure")
    sums = rows.group_by("group", "transaction").agg(
        pl.col("transactions_count", "calls_count", "sent_bytes", "received_bytes").cast(pl.Int64).sum()
    )
    counts = pl.col("transactions_count", "sent_bytes", "received_bytes")
    both = sums.filter(pl.all_horizontal(counts > 0))
    count, span = int(both["transactions_count"].sum()), _length_ns(rows)
    if not count or span <= 0:
        return None
    return ExchangeFacts(
        count=count,
        per_s=count * 1e9 / span,
        calls_each=float(both["calls_count"].sum()) / count,
        latency_ns=_median_latency(trial, both, "service"),
        connect_ns=_median_latency(trial, both, "connect"),
        payload_ratio=_payload(both) / max(1, _payload(sums)),
    )


def _payload(sums: pl.DataFrame) -> int:
    """Payload of both directions."""
    return int(sums["sent_bytes"].sum()) + int(sums["received_bytes"].sum())


def _median_latency(trial: FlowTrial, of: pl.DataFrame, kind: str) -> float | None:
    """The median of one of their times, to the center of a histogram's bucket."""
    rows = read_columns(trial, "latencies", _ASKER, _LATENCIES)
    if rows is None:
        return None
    rows = rows.filter((pl.col("phase") == "measure") & (pl.col("kind") == kind))
    rows = rows.join(of.select("group", "transaction"), on=["group", "transaction"], how="semi")
    rows = rows.sort("latency_ns_low")
    reached = pl.col("latency_count").cast(pl.Int64).cum_sum()
    rows = rows.filter(reached * 2 >= pl.col("latency_count").cast(pl.Int64).sum())
    return None if rows.is_empty() else (int(rows["latency_ns_low"][0]) + int(rows["latency_ns_high"][0])) / 2


def datagrams(trial: FlowTrial, asked: RequestedLoad = AS_FAST_AS_POSSIBLE) -> DatagramFacts | None:
    """Count of what was sent, dropped by the receiving socket and arrived while it was measured; None without
    datagrams.

    Raises:
        RecordError: a table cannot be read.
    """
    sender, receiver = trial.end("sender"), trial.end("receiver")
    sent = None if sender is None else read_columns(trial, "datagrams", sender.host, _DATAGRAMS)
    taken = None if receiver is None else read_columns(trial, "datagrams", receiver.host, _DATAGRAMS)
    if sent is None or taken is None:
        return None
    measured = pl.col("phase") == "measure"
    span = _length_ns(taken.filter(measured))
    if span <= 0:
        return None
    # The kernel counts from the start on: what had been dropped before the measured phase is not of it.
    so_far = pl.col("kernel_drops_count").cast(pl.Int64)
    before = taken.filter(pl.col("phase") == "warm-up").group_by("connection").agg(so_far.max().alias("before"))
    until = taken.filter(measured).group_by("connection").agg(so_far.max().alias("until"))
    both = until.join(before, on="connection", how="left").with_columns(pl.col("before").fill_null(0))
    sent_count = int(sent.filter(measured)["sent_count"].cast(pl.Int64).sum())
    taken_count = int(taken.filter(measured)["received_count"].cast(pl.Int64).sum())
    dropped = max(0, int((both["until"] - both["before"]).sum()))
    return DatagramFacts(
        sent_count=sent_count,
        taken_count=taken_count,
        taken_bytes=int(taken.filter(measured)["payload_bytes"].cast(pl.Int64).sum()),
        # The kernel counts what it merged as one.
        dropped_count=max(dropped, min(dropped * asked.merged_count, sent_count - taken_count)),
        span_ns=span,
        asked_bps=asked.bps,
        batch_count=asked.batch_count,
        steps=_steps(taken.filter(measured)),
    )


def _steps(taken: pl.DataFrame) -> tuple[float, ...]:
    """Datagrams that all connections together read in each interval, as if all were as long as the mean one."""
    start, end = pl.col("start_mono_ns").cast(pl.Int64).min(), pl.col("end_mono_ns").cast(pl.Int64).max()
    each = taken.group_by("interval").agg(pl.col("received_count").cast(pl.Int64).sum(), (end - start).alias("span"))
    each = each.filter(pl.col("span") > 0).sort("interval")
    counts = pl.col("received_count") * pl.col("span").mean() / pl.col("span")
    return tuple(each.select(counts)["received_count"].to_list())


def _length_ns(rows: pl.DataFrame) -> int:
    """From the first row's start to the last row's end; 0 without rows."""
    if rows.is_empty():
        return 0
    bounds = rows.select(pl.col("end_mono_ns").max().cast(pl.Int64) - pl.col("start_mono_ns").min().cast(pl.Int64))
    return int(bounds.item())
