"""Figures of the application: its calls, the rate that it was asked for, its exchanges, and its program."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import Any

import polars as pl

from whyperf.analyze.flow import FlowEnd, FlowTrial
from whyperf.analyze.flow.trial import manifest_of
from whyperf.explain.gather.read import first, read_columns
from whyperf.explain.host_facts import Calls, HostFacts
from whyperf.explain.path_facts import RequestCycle
from whyperf.explain.trial_facts import DatagramFacts, ExchangeFacts, Facts, RequestedLoad
from whyperf.record import Experiment

_COLUMNS = (
    *("thread", "call", "start_mono_ns", "end_mono_ns", "moved_bytes", "outcome", "blocked_ns", "preempted_ns"),
    *("softirq_ns", "waited_before_ns", "runnable_before_ns", "softirq_before_ns"),
)
_SPENT = ("blocked_ns", "preempted_ns", "softirq_ns", "waited_before_ns", "runnable_before_ns", "softirq_before_ns")


def calls(trial: FlowTrial, end: FlowEnd) -> Calls:
    """Reads what the table `calls` has of the host; nothing where it has none."""
    table = read_columns(trial, "calls", end.host, _COLUMNS)
    if table is None:
        return Calls()
    rows = table.filter(pl.col("start_mono_ns").is_not_null()).with_columns(
        pl.col("start_mono_ns", "end_mono_ns", "moved_bytes").cast(pl.Int64),
        pl.col(*_SPENT).cast(pl.Int64).fill_null(0),
    )
    rows = _of_the_load(rows.sort("thread", "end_mono_ns"), trial, end)
    own = rows.filter(pl.col("call") == ("write" if end.role == "sender" else "read"))
    moved = own.filter(pl.col("moved_bytes") > 0)
    if moved.is_empty():
        return Calls()
    threads = rows.group_by("thread").agg(pl.col("end_mono_ns").max() - pl.col("start_mono_ns").min())
    life = max(1, int(threads["end_mono_ns"].sum()))
    in_call = pl.col("end_mono_ns") - pl.col("start_mono_ns") - pl.sum_horizontal("blocked_ns", "preempted_ns")
    between = (pl.col("start_mono_ns") - pl.col("end_mono_ns").shift(1).over("thread")) - pl.sum_horizontal(
        "waited_before_ns", "runnable_before_ns", "softirq_before_ns"
    )
    asleep = pl.col("waited_before_ns").sum() / life
    slept = (pl.col("blocked_ns") + pl.col("waited_before_ns")) > 0
    return Calls(
        count=moved.height,
        bytes_mean=first(moved, pl.col("moved_bytes").mean()),
        ns_mean=first(moved, in_call.mean()),
        in_call_ratio=first(rows, in_call.clip(0).sum() / life),
        asleep_ratio=first(own, asleep),
        computing_ratio=first(rows, between.clip(0).sum() / life),
        runnable_ratio=first(rows, (pl.col("preempted_ns") + pl.col("runnable_before_ns")).sum() / life),
        in_softirqs_ratio=first(rows, pl.col("softirq_ns").sum() / life),
        wakeups_per_s=first(rows, slept.sum() * 1e9 / life),
    )


def _of_the_load(rows: pl.DataFrame, trial: FlowTrial, end: FlowEnd) -> pl.DataFrame:
    """Without the calls before the load began: token and welcome."""
    start = trial.zero_mono_ns + end.offset_ns
    return rows.filter(pl.col("end_mono_ns") >= start)


Spec = Mapping[str, Any]
NEAR = "near"
_STARTED = (*("group", "transaction", "phase", "start_mono_ns", "end_mono_ns", "transactions_count", "intended_count"),)


def asked(trial: FlowTrial) -> RequestedLoad:
    """The rates that the trial was asked for; None each where it was to be as fast as possible.

    Raises:
        RecordError: the manifest or a table cannot be read.
    """
    hosts = manifest_of(trial).get("hosts", {})
    specs = {name: host.get("spec") or {} for name, host in hosts.items()}
    connecting = {name: spec for name, spec in specs.items() if spec.get("opening") == "connect"}
    workload = (connecting.get(NEAR) or {}).get("workload")
    stops = [spec.get("stop") or {} for spec in connecting.values()]
    sockets = [spec.get("socket") or {} for spec in specs.values()]
    found = RequestedLoad(
        bps=_sum(_stream_bps(spec) for spec in connecting.values()),
        is_greedy=all(_is_greedy(spec) for spec in connecting.values()),
        batch_count=sum(_batch(spec) * int(spec.get("connections_count", 1)) for spec in connecting.values()),
        merged_count=max((_batch(spec) for spec in connecting.values() if _is_merged(spec)), default=1),
        transfer_bytes=next((int(stop["payload_bytes"]) for stop in stops if stop.get("by") == "bytes"), None),
        pacing_bps=next(
            (8.0 * rate for socket in sockets if (rate := socket.get("pacing_rate_bytes_per_second"))), None
        ),
        paces_itself=any(str(socket.get("congestion_control")).startswith("bbr") for socket in sockets),
    )
    return found if workload is None else _with_transactions(found, trial, workload)


def _stream_bps(spec: Spec) -> float | None:
    """Payload of all connections of a stream or of datagrams; a schedule switches them on and off."""
    if spec.get("workload") is not None or spec.get("schedule"):
        return None
    rate = (spec.get("datagrams") or spec).get("write_rate_bps" if spec.get("datagrams") is None else "rate_bps")
    return float(rate) * int(spec.get("connections_count", 1)) if rate else None


def _is_greedy(spec: Spec) -> bool:
    """True where a stream's sender always has more to write."""
    if any(spec.get(name) for name in ("datagrams", "write_rate_bps", "reply_size_bytes")):
        return False
    groups = (spec.get("workload") or {}).get("groups", ())
    is_one_way = all(_is_one_way(part) for group in groups for part in group["transactions"])
    return is_one_way and (spec.get("stop") or {}).get("by") == "duration"


def _is_one_way(transaction: Spec) -> bool:
    """True where it only writes, or only reads, and begins again at once."""
    steps = {step["operation"]["operation"] for step in transaction.get("steps", ())}
    return transaction["arrivals"]["by"] == "closed" and steps in ({"write"}, {"read"})


def _batch(spec: Spec) -> int:
    """Datagrams that a connection hands over at once; 0 without datagrams."""
    return int((spec.get("datagrams") or {}).get("batch_count", 0))


def _is_merged(spec: Spec) -> bool:
    return bool((spec.get("datagrams") or {}).get("is_merged"))


def _sum(rates: Iterable[float | None]) -> float | None:
    """All together; None where one of them has no bound."""
    known = list(rates)
    return sum(rate or 0.0 for rate in known) if known and all(known) else None


def _with_transactions(found: RequestedLoad, trial: FlowTrial, workload: Spec) -> RequestedLoad:
    """With how many transactions were to start and ended, where all of them start at their own times."""
    transactions = [(group, part) for group in workload["groups"] for part in group["transactions"]]
    slots = sum(int(group["strands_count"]) * int(part["outstanding_count"]) for group, part in transactions)
    found = replace(found, slots=slots)
    rows = read_columns(trial, "transactions", NEAR, _STARTED)
    rows = None if rows is None else rows.filter(pl.col("phase") == "measure")
    if rows is None or rows.is_empty():
        return found
    if any(part["arrivals"]["by"] == "closed" for _, part in transactions):
        return _with_pauses(found, transactions, rows)
    sums = rows.select(
        pl.col("transactions_count", "intended_count").cast(pl.Int64).sum(),
        (pl.col("end_mono_ns").cast(pl.Int64).max() - pl.col("start_mono_ns").cast(pl.Int64).min()).alias("span"),
    ).row(0, named=True)
    return replace(
        found, intended_count=sums["intended_count"], ended_count=sums["transactions_count"], span_ns=sums["span"]
    )


def _with_pauses(found: RequestedLoad, transactions: Sequence[tuple[Spec, Spec]], rows: pl.DataFrame) -> RequestedLoad:
    """With the pauses of transactions that ask, are answered and begin again at once. Those in which a CPU works are no
    pauses."""
    pausing = [
        (group, part, pause)
        for group, part in transactions
        if part["arrivals"]["by"] == "closed" and (pause := _pause_ns(part))
    ]
    if not pausing:
        return found
    ended = rows.group_by("group", "transaction").agg(pl.col("transactions_count").cast(pl.Int64).sum())
    counts = {(group, name): count for group, name, count in ended.iter_rows()}
    paused, count, slots = 0, 0, 0
    for group, part, pause in pausing:
        number = counts.get((group["name"], part["name"]), 0)
        paused, count = paused + pause * number, count + number
        slots += int(group["strands_count"]) * int(part["outstanding_count"]) if number else 0
    span = rows.select(pl.col("end_mono_ns").cast(pl.Int64).max() - pl.col("start_mono_ns").cast(pl.Int64).min()).item()
    if not count or not span:
        return found
    return replace(found, pause_ns=paused / count, paused_ratio=min(1.0, paused / (span * slots)))


def _pause_ns(transaction: Spec) -> int:
    """The pauses of an execution; 0 where it does not both write and read."""
    steps = [(step["operation"], int(step.get("count", 1))) for step in transaction.get("steps", ())]
    if not {"write", "read"} <= {operation["operation"] for operation, _ in steps}:
        return 0
    return sum(
        count * int(operation["duration_ns"])
        for operation, count in steps
        if operation["operation"] == "think" and not operation["is_busy"]
    )


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


def with_program(facts: Facts, experiment: Experiment, trial: FlowTrial) -> Facts:
    """The facts with how many connections of the same process moved payload, on each host that was watched.

    Raises:
        RecordError: a table cannot be read.
    """
    trials = experiment.folder / "trials"
    folders = tuple(folder for planned in experiment.plan.trials() if (folder := trials / planned.id).exists())

    def counted(end: HostFacts) -> HostFacts:
        if end.watched is None or (process := _process(trial, end.host)) is None:
            return end
        return replace(end, watched=replace(end.watched, program_connections=_counts(folders, end.host)[process]))

    return replace(facts, sender=counted(facts.sender), receiver=counted(facts.receiver))


@lru_cache(maxsize=4)
def _counts(folders: tuple[Path, ...], host: str) -> Counter[int]:
    """Connections that moved payload, by process."""
    found: Counter[int] = Counter()
    for folder in folders:
        trial = FlowTrial(folder, "", "", "", ends={}, zero_mono_ns=0, window_ns=None)
        moved = first(read_columns(trial, "flows", host, ("payload_bytes",)), pl.col("payload_bytes").sum())
        process = _process(trial, host) if moved else None
        if process is not None:
            found[process] += 1
    return found


def _process(trial: FlowTrial, host: str) -> int | None:
    """The one process that holds a trial's connections; None where it is not known."""
    known = read_columns(trial, "watched", host, ("process",))
    process = first(known, pl.when(pl.col("process").n_unique() == 1).then(pl.col("process").first()))
    return None if process is None else int(process)
