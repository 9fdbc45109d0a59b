"""The rate asked of an open loop: that of a stream, of datagrams or of transactions."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import polars as pl

from whyperf.analyze.flow import FlowTrial
from whyperf.analyze.flow.trial import manifest_of
from whyperf.explain.gather.table import read_columns
from whyperf.explain.trial_facts import RequestedLoad

Spec = Mapping[str, Any]
NEAR = "near"
_TRANSACTIONS = (
    *("group", "transaction", "phase", "start_mono_ns", "end_mono_ns", "transactions_count", "intended_count"),
)


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
    rows = read_columns(trial, "transactions", NEAR, _TRANSACTIONS)
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
