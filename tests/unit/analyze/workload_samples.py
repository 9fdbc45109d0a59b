"""Synthetic trials of workloads with a known truth: transactions, histograms, datagrams."""

import itertools
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import polars as pl

from tests.unit.analyze import synthetic as made
from whyperf.analyze.read.assemble import assemble
from whyperf.analyze.read.inputs import Inputs
from whyperf.plan.plan_document import Plan, identify


def workload(arrivals: Mapping[str, Any], transaction: str = "rr") -> dict[str, Any]:
    """The workload of one group with one transaction."""
    own = {"name": transaction, "outstanding_count": 1, "steps": [], "arrivals": arrivals, "repeat": {"by": "trial"}}
    group = {"name": "clients", "is_connected": True, "strands_count": 1, "transactions": [own]}
    return {"name": "rr", "seed": 1, "groups": [group]}


RR: Mapping[str, Any] = {
    "name": "rr",
    "metric": "transactions",
    "workload": workload({"by": "closed"}),
    "datagrams": None,
}
OPEN: Mapping[str, Any] = {**RR, "workload": workload({"by": "poisson", "per_kilosecond": 1_000_000})}
UDP: Mapping[str, Any] = {"name": "udp-stream", "metric": "datagrams", "workload": None, "datagrams": {}}

U32, U64, TEXT = pl.UInt32(), pl.UInt64(), pl.String()
SPAN = {"host": TEXT, "group": TEXT, "transaction": TEXT, "interval": U32, "phase": TEXT}
TIMES = {"start_mono_ns": U64, "end_mono_ns": U64}
COUNTS = ("transactions", "intended", "begun", "failed")


@dataclass(frozen=True)
class Exchange:
    """A trial of an exchange: rates in transactions a second, bytes of a request and a response.

    `latencies` are rows of the histogram: kind, low, high, count; `skewed` is how much more happens in warm-up.
    """

    trial: made.Trial = field(default_factory=made.Trial)
    per_s: float = 1000.0
    intended_per_s: float = 1000.0
    begun_per_s: float = 1000.0
    failed_per_s: float = 0.0
    request_bytes: int = 100
    response_bytes: int = 300
    calls: int = 3
    names: tuple[tuple[str, str], ...] = (("clients", "rr"),)
    latencies: tuple[tuple[str, int, int, int], ...] = (("service", 1000, 1000, 10),)
    workload: Mapping[str, Any] = field(default_factory=lambda: RR)


def transactions(exchange: Exchange, host: str) -> pl.DataFrame:
    """What happens in warm-up and cool-down is ten times as much, so that nobody counts it unseen."""
    trial = exchange.trial
    base = trial.start_ns + (trial.far_offset_ns if host == "far" else 0)
    rates = (exchange.per_s, exchange.intended_per_s, exchange.begun_per_s, exchange.failed_per_s)
    rows = []
    for number, (phase, start, end) in enumerate(made._spans(trial)):
        seconds = (end - start) / 1e9 * (1 if phase == "measure" else 10)
        for group, transaction in exchange.names:
            counts = [round(rate * seconds) for rate in rates]
            sent, received = exchange.request_bytes, exchange.response_bytes
            if host == "far":
                sent, received = received, sent
            bytes_moved = (counts[0] * sent, counts[0] * received)
            rest = (*bytes_moved, counts[0] * exchange.calls, counts[0] * 2)
            rows.append((host, group, transaction, number, phase, base + start, base + end, *counts, *rest))
    named = [*(f"{name}_count" for name in COUNTS), "sent_bytes", "received_bytes", "calls_count", "operations_count"]
    return pl.DataFrame(rows, schema={**SPAN, **TIMES, **dict.fromkeys(named, U64)}, orient="row")


def latencies(exchange: Exchange) -> pl.DataFrame:
    """The histogram in every phase, and another on the far side, which does not count."""
    rows = []
    for host, factor in (("near", 1), ("far", 7)):
        for group, transaction in exchange.names:
            # In warm-up everything takes nine times as long, and on the far side seven times.
            for phase, slower in (("warm-up", 9), ("measure", 1)):
                for kind, low, high, count in exchange.latencies:
                    values = (low * factor * slower, high * factor * slower)
                    rows.append((host, group, transaction, phase, kind, *values, count))
    schema = {"host": TEXT, "group": TEXT, "transaction": TEXT, "phase": TEXT, "kind": TEXT}
    numbers = dict.fromkeys(("latency_ns_low", "latency_ns_high", "latency_count"), U64)
    return pl.DataFrame(rows, schema={**schema, **numbers}, orient="row")


def keyed(trial: made.Trial, frame: pl.DataFrame) -> pl.DataFrame:
    keys = {"trial": trial.name, "block": trial.block, "cell": trial.cell}
    return frame.select(*(pl.lit(value).alias(name) for name, value in keys.items()), pl.all())


def assembled(
    trials: Sequence[made.Trial], tables: Mapping[str, pl.DataFrame], workloads: Mapping[str, Mapping[str, Any]]
) -> Inputs:
    """Inputs whose cells have these workloads, by cell."""
    planned = made.plan(trials)
    planned["workloads"] = {f"key-{cell}": workload for cell, workload in workloads.items()}
    for cell in planned["cells"]:
        cell["workload"] = f"key-{cell['id']}"
    return assemble(planned, [made.manifest(trial) for trial in trials], {**made.all_tables(trials), **tables})


def inputs(*exchanges: Exchange) -> Inputs:
    """What the analysis gets of exchanges."""
    frames = {
        "transactions": [
            keyed(exchange.trial, transactions(exchange, host)) for exchange in exchanges for host in ("near", "far")
        ],
        "latencies": [keyed(exchange.trial, latencies(exchange)) for exchange in exchanges],
    }
    tables = {name: pl.concat(parts) for name, parts in frames.items()}
    return assembled(
        [exchange.trial for exchange in exchanges],
        tables,
        {exchange.trial.cell: exchange.workload for exchange in exchanges},
    )


def in_blocks(exchange: Exchange, rates: Sequence[float]) -> list[Exchange]:
    """One trial of the same cell for each rate."""
    return [
        replace(exchange, per_s=rate, trial=replace(exchange.trial, block=block))
        for block, rate in enumerate(rates, start=1)
    ]


def write(folder: Path, exchanges: Sequence[Exchange], profile: str = "synthetic") -> Path:
    """Writes a results folder of exchanges, planned as from this profile; returns it."""
    trials = [exchange.trial for exchange in exchanges]
    planned = made.plan(trials)
    planned["workloads"] = {f"key-{exchange.trial.cell}": dict(exchange.workload) for exchange in exchanges}
    for cell in planned["cells"]:
        cell["workload"] = f"key-{cell['id']}"
    planned["profile"] = profile
    planned["id"] = identify(Plan.model_validate_json(json.dumps(planned)))
    made.write(folder, trials, planned)
    for exchange in exchanges:
        home = folder / "trials" / exchange.trial.name
        for host in ("near", "far"):
            transactions(exchange, host).write_parquet(home / f"transactions.{host}.parquet")
            latencies(exchange).filter(pl.col("host") == host).write_parquet(home / f"latencies.{host}.parquet")
    return folder


def tail(median_ns: int, count: int = 200_000) -> tuple[tuple[str, int, int, int], ...]:
    """A histogram that looks like one: most around the median, each ten times slower a hundred times rarer."""
    rows = []
    left = count
    value = float(median_ns) / 2
    part = 0.02
    while left > 1:
        there = max(1, round(left * part))
        rows.append(("service", round(value), round(value * 1.05), there))
        left -= there
        value *= 1.12
        part = min(0.45, part * 1.7)
    return tuple(rows)


def rr_ack(blocks: int = 3) -> list[Exchange]:
    """Request and response by payload and deferred ACK, as the shipped profile asks."""
    exchanges = []
    payloads = (4, 40, 100, 250, 536, 1024, 1460)
    for number, (payload, quick) in enumerate(itertools.product(payloads, (True, False)), start=1):
        for block in range(1, blocks + 1):
            rate = 30_000 / (1 + payload / 1000) * (0.97 if quick else 1) * (1 + 0.01 * block)
            factors = {
                "workload": "rr",
                "request_size_bytes": payload,
                "response_size_bytes": payload,
                "quick_ack": quick,
            }
            trial = made.Trial(
                cell=f"c{number:04d}", block=block, duration_s=2, factors=factors, rate_bps=rate * payload * 8
            )
            exchanges.append(
                Exchange(
                    trial, per_s=rate, request_bytes=payload, response_bytes=payload, latencies=tail(round(1e9 / rate))
                )
            )
    return exchanges


def latency_load() -> list[Exchange]:
    """An open loop up to and over what the ends can do."""
    exchanges = []
    for number, offered in enumerate((1000 << power for power in range(9)), start=1):
        ended = min(offered, 90_000)
        slower = 1 + 20 * max(0.0, offered / 90_000 - 0.8)
        rows = tuple(("intended", low, high, count) for _, low, high, count in tail(round(30_000 * slower)))
        factors = {"workload": "rr", "offered_rate_per_s": float(offered), "request_size_bytes": 64}
        trial = made.Trial(cell=f"c{number:04d}", duration_s=2, factors=factors, rate_bps=ended * 1000)
        exchanges.append(Exchange(trial, ended, offered, offered, latencies=rows, workload=OPEN))
    return exchanges
