"""What an open loop was asked for: the rate of a stream, of datagrams or of transactions."""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

import polars as pl

from whyperf.analyze.flow import FlowTrial
from whyperf.analyze.flow.trial import read_manifest
from whyperf.explain.gather.table import read_columns
from whyperf.explain.trial_facts import RequestedLoad

Spec = Mapping[str, Any]
NEAR = "near"
_TRANSACTIONS = ("phase", "start_mono_ns", "end_mono_ns", "transactions_count", "intended_count")


def asked(trial: FlowTrial) -> RequestedLoad:
    """The rates that the trial was asked for; None each where it was to be as fast as possible.

    Raises:
        RecordError: the manifest or a table cannot be read.
    """
    hosts = read_manifest(trial.folder).get("hosts", {})
    specs = {name: host.get("spec") or {} for name, host in hosts.items()}
    connecting = {name: spec for name, spec in specs.items() if spec.get("opening") == "connect"}
    workload = (connecting.get(NEAR) or {}).get("workload")
    stops = [spec.get("stop") or {} for spec in connecting.values()]
    found = RequestedLoad(
        bps=_sum(_stream_bps(spec) for spec in connecting.values()),
        transfer_bytes=next((int(stop["payload_bytes"]) for stop in stops if stop.get("by") == "bytes"), None),
    )
    return found if workload is None else replace(found, **_transactions(trial, workload))


def _stream_bps(spec: Spec) -> float | None:
    """Payload of all connections of a stream or of datagrams; a schedule switches them on and off."""
    if spec.get("workload") is not None or spec.get("schedule"):
        return None
    rate = (spec.get("datagrams") or spec).get("write_rate_bps" if spec.get("datagrams") is None else "rate_bps")
    return float(rate) * int(spec.get("connections_count", 1)) if rate else None


def _sum(rates: Iterable[float | None]) -> float | None:
    """All together; None where one of them has no bound."""
    known = list(rates)
    return sum(rate or 0.0 for rate in known) if known and all(known) else None


def _transactions(trial: FlowTrial, workload: Spec) -> dict[str, int]:
    """Of transactions, all of which start at their own times: how many were to start in a second, and ended."""
    transactions = [(group, part) for group in workload["groups"] for part in group["transactions"]]
    slots = sum(int(group["strands_count"]) * int(part["outstanding_count"]) for group, part in transactions)
    if any(part["arrivals"]["by"] == "closed" for _, part in transactions):
        return {"slots": slots}
    rows = read_columns(trial, "transactions", NEAR, _TRANSACTIONS)
    rows = None if rows is None else rows.filter(pl.col("phase") == "measure")
    if rows is None or rows.is_empty():
        return {"slots": slots}
    sums = rows.select(
        pl.col("transactions_count", "intended_count").cast(pl.Int64).sum(),
        (pl.col("end_mono_ns").cast(pl.Int64).max() - pl.col("start_mono_ns").cast(pl.Int64).min()).alias("span"),
    ).row(0, named=True)
    return {
        "slots": slots,
        "intended_count": sums["intended_count"],
        "ended_count": sums["transactions_count"],
        "span_ns": sums["span"],
    }
