"""Puts plan, manifests and tables of an experiment together, with all times on the controller's CLOCK_MONOTONIC."""

from collections.abc import Container, Iterator, Mapping, Sequence
from typing import Any

import polars as pl

from whyperf.analyze.fleet.inputs import FleetInputs
from whyperf.analyze.measures.goodput import measure
from whyperf.analyze.measures.transactions import trial_transactions
from whyperf.analyze.read.inputs import ENDS, NOTES, SCHEDULE, TRIALS, Cell, Inputs
from whyperf.analyze.read.tables import TABLES, shaped
from whyperf.analyze.read.watched import watched_frames
from whyperf.analyze.transports.schedule import scheduled_connections
from whyperf.analyze.warnings.evidence import evidence_rows
from whyperf.plan import CONNECTION, PlannedConnection
from whyperf.record import LOST, RecordError, busiest_process, router_ratios

Document = Mapping[str, Any]


def assemble(
    plan: Document,
    manifests: Sequence[Document],
    tables: Mapping[str, pl.DataFrame],
    damaged: Sequence[tuple[str, str]] = (),
    *,
    logs: Sequence[Document] = (),
    probe_cost: Document | None = None,
    stage_notes: Sequence[str] = (),
    fleet: FleetInputs | None = None,
    hosts: Mapping[str, Document] | None = None,
) -> Inputs:
    """The analysis' view of an experiment.

    `plan` and `manifests` are the record's JSON documents; `tables` maps a table's name to its rows
    over all trials, with `trial`, `block`, `cell`. Trials without a result keep their manifest, and of their rows only
    the rate observed until they ended; all instants move to the controller's clock. `damaged` names trials that cannot
    be read, with the reason; they are left out completely and reported. `logs` are the manifests of the trials with
    the segment log, whose figures are never a throughput. `probe_cost` is what the evidence costs, if known.
    `stage_notes` are sentences about trials with stage times, `fleet` is what only a fleet has. `hosts` are the
    record's facts of each host.
    """
    broken = dict(damaged)
    manifests = [manifest for manifest in manifests if manifest["trial"] not in broken]
    cells = tuple(_cell(cell, plan.get("workloads") or {}) for cell in plan["cells"])
    is_watched = any(cell.watched is not None for cell in cells)
    # Nobody warms a watched program up: all of the time that it was watched counts.
    whole_phase = {cell.id for cell in cells if cell.metric == "transactions" or cell.watched is not None}
    trials = pl.DataFrame([_trial(manifest, whole_phase) for manifest in manifests], schema=dict(TRIALS))
    ends = pl.DataFrame([end for manifest in manifests for end in _ends(manifest)], schema=dict(ENDS))
    notes = pl.DataFrame([note for manifest in manifests for note in _notes(manifest)], schema=dict(NOTES))
    is_lost = pl.col("status").is_in(LOST)
    ran, lost = trials.filter(~is_lost).select("trial"), trials.filter(is_lost)

    def rows(name: str, of: pl.DataFrame) -> pl.DataFrame:
        return _numbered(
            on_controller_clock(shaped(name, tables.get(name)).join(of, on="trial", how="semi"), ends), ends
        )

    if any(manifest.get("lost_pairs") for manifest in manifests):
        # A pair that was lost may have left tables of one side.
        tables = {
            name: table.join(ends, on=["trial", "host"], how="semi") if "host" in table.columns else table
            for name, table in tables.items()
        }
    frames = {name: rows(name, ran) for name in TABLES}
    if is_watched:
        frames = watched_frames(frames, ends)
    first = manifests[0] if manifests else {}
    parts = (plan.get("fleet") or {}).get("parts") or ()
    names = {cell["id"]: [flow["name"] for flow in cell.get("schedule") or ()] for cell in plan["cells"]}
    return Inputs(
        experiment=str(plan["experiment"]),
        origin=str(first.get("origin", "host")),
        profile=str(plan["profile"]),
        plan_id=str(plan["id"]),
        seed=int(plan["seed"]),
        testbed=str(first.get("testbed") or plan.get("testbed", {}).get("kind", "network")),
        varied=(CONNECTION,) if is_watched and len(cells) > 1 else tuple(plan.get("varied", ())),
        cells=cells,
        damaged=tuple(sorted(broken.items())),
        trials=trials.sort("trial"),
        ends=ends,
        notes=notes,
        evidence=evidence_rows([*manifests, *logs]),
        observed=_observed(lost, rows("flows", lost), rows("intervals", lost), rows("transactions", lost)),
        probe_cost=probe_cost,
        stage_notes=tuple(stage_notes),
        fleet=fleet,
        hosts=hosts or {},
        schedule=_schedule(manifests, names, parts),
        **frames,
    )


MAX_SCHEDULED = 10_000_000
"""Connections of schedules in all trials: they take 1.3 GB in memory."""


def _schedule(
    manifests: Sequence[Document], names: Mapping[str, Sequence[str]], parts: Sequence[Sequence[str]]
) -> pl.DataFrame:
    """The rows of all trials. A short manifest may name any number of connections."""
    found = [pl.DataFrame(schema=dict(SCHEDULE))]
    left = MAX_SCHEDULED
    for manifest in manifests:
        rows = list(scheduled_connections(manifest, names.get(manifest["cell"], ()), parts))
        left -= len(rows)
        if left < 0:
            raise RecordError(f"the schedules of its trials have over {MAX_SCHEDULED:,} connections")
        if rows:
            found.append(pl.DataFrame(rows, schema=dict(SCHEDULE)))
    return pl.concat(found)


def _observed(
    lost: pl.DataFrame, flows: pl.DataFrame, intervals: pl.DataFrame, transactions: pl.DataFrame
) -> pl.DataFrame:
    """Data moved by trials without a result until they ended; `in_warmup` where that was before the measurement."""
    measured = measure(lost, flows, intervals, transactions)
    early = measured.filter(pl.col("goodput_bps").is_null())["trial"].to_list()
    begun = pl.when(pl.col("phase") == "warmup").then(pl.lit("measure")).otherwise(pl.col("phase")).alias("phase")
    warming = measure(lost.filter(pl.col("trial").is_in(early)), flows, intervals.with_columns(begun), transactions)
    found = pl.concat(
        [
            measured.filter(~pl.col("trial").is_in(early)).with_columns(pl.lit(value=False).alias("in_warmup")),
            warming.with_columns(pl.lit(value=True).alias("in_warmup")),
        ],
        how="diagonal_relaxed",
    )
    executed = trial_transactions(transactions, found).select("trial", "transactions_per_s")
    return found.join(executed, on="trial", how="left")


_PAYLOAD = {"write", "read", "send_file"}
"""Operations that move payload."""


def _cell(cell: Document, workloads: Mapping[str, Any]) -> Cell:
    planned = workloads.get(cell.get("workload") or "")
    if cell.get("watched") is not None:
        connection = PlannedConnection.model_validate(cell["watched"], strict=False)
        return Cell(cell["id"], cell["sweep"], cell["factors"], watched=connection)
    if planned is None:
        return Cell(cell["id"], cell["sweep"], cell["factors"], str(cell["factors"].get("workload", "stream")))
    groups = (planned.get("workload") or {}).get("groups", ())
    transactions = [transaction for group in groups for transaction in group["transactions"]]
    steps = [step["operation"]["operation"] for transaction in transactions for step in transaction.get("steps", ())]
    return Cell(
        cell["id"],
        cell["sweep"],
        cell["factors"],
        planned["name"],
        planned["metric"],
        is_open_loop=any(transaction["arrivals"]["by"] != "closed" for transaction in transactions),
        has_payload=not steps or bool(_PAYLOAD & set(steps)),
        places=sum(_places(group) for group in groups),
        counted_as=_counted_as(planned["metric"], transactions),
        has_idle=any(not group["transactions"] for group in groups),
    )


def _counted_as(metric: str, transactions: Sequence[Document]) -> str | None:
    """The name of executions: an exchange is a transaction, a write of a stream is nothing that was asked about."""
    if metric == "transactions" or any(is_exchange(transaction) for transaction in transactions):
        return "transactions"
    return "messages" if {transaction.get("name") for transaction in transactions} == {"message"} else None


def is_exchange(transaction: Mapping[str, Any]) -> bool:
    """True where a transaction asks and is answered."""
    return {"write", "read"} <= {step["operation"]["operation"] for step in transaction.get("steps", ())}


def _places(group: Document) -> int:
    """Number of executions of a group that can be under way at the same time, where it begins them by a schedule."""
    outstanding = [
        int(transaction.get("outstanding_count", 1))
        for transaction in group["transactions"]
        if transaction["arrivals"]["by"] != "closed"
    ]
    return int(group.get("strands_count", 1)) * max(outstanding, default=0)


def _trial(manifest: Document, whole_phase: Container[str]) -> dict[str, object]:
    clocks = [host.get("clock") or {} for host in manifest.get("hosts", {}).values()]
    factors = manifest.get("factors", {})
    transfer = factors.get("transfer_bytes")
    return {
        "trial": manifest["trial"],
        "block": int(manifest["block"]),
        "cell": manifest["cell"],
        "status": manifest["status"],
        "reason": manifest.get("reason"),
        "transfer_bytes": transfer if isinstance(transfer, int) else None,
        "scheduled": factors.get("schedule", "none") != "none",
        "lead_ns": _lead_ns(manifest),
        "uncertainty_ns": max((int(clock.get("uncertainty_ns") or 0) for clock in clocks), default=0),
        "is_whole_phase": manifest["cell"] in whole_phase,
    }


def _lead_ns(manifest: Document) -> int:
    """The time before the first flow of a schedule."""
    specs = [host.get("spec") or {} for host in manifest.get("hosts", {}).values()]
    return min((int(flow["start_ns"]) for spec in specs for flow in spec.get("schedule") or ()), default=0)


def _ends(manifest: Document) -> Iterator[dict[str, object]]:
    routers = router_ratios(manifest.get("path") or {})
    for label, host in manifest.get("hosts", {}).items():
        yield {
            "trial": manifest["trial"],
            "host": label,
            "role": host.get("role"),
            "cpus": list(host.get("own_cpus", ())),
            "exclusive": bool(host.get("own_cpus_exclusive", False)),
            "tsc_hz": host.get("tsc_hz"),
            **_clock(host.get("clock") or {}),
            "cpus_of": host.get("cpus_of") or label,
            "first_connection": int(host.get("first_connection") or 0),
            "payload_ratio": float(host.get("payload_ratio", 1.0)),
            "router_cpus": sum(ratio for cpu, ratio in routers.items() if cpu in host.get("own_cpus", ())),
        }


def _clock(clock: Document) -> dict[str, object]:
    """An end's clock against the controller's. A drift within the uncertainty of both comparisons is none."""
    pairs = clock.get("pairs") or []
    offset_ns, drift_ns = int(clock.get("offset_ns") or 0), int(clock.get("drift_ns") or 0)
    known = {"offset_ns": offset_ns, "drift_ratio": 0.0, "compared_mono_ns": pairs[0]["mono_ns"] if pairs else 0}
    if len(pairs) < 2 or abs(drift_ns) <= 2 * int(clock.get("uncertainty_ns") or 0):
        return known
    return known | {"drift_ratio": drift_ns / (pairs[-1]["mono_ns"] - pairs[0]["mono_ns"])}


def _numbered(table: pl.DataFrame, ends: pl.DataFrame) -> pl.DataFrame:
    """Connections of all pairs of ends numbered through; each agent begins at 0."""
    several = ends.filter(pl.col("first_connection") > 0)
    if "connection" not in table.columns or several.is_empty():
        return table
    first = several.select("trial", "host", "first_connection").unique(["trial", "host"])
    number = pl.col("connection") + pl.col("first_connection").fill_null(0).cast(table.schema["connection"])
    return table.join(first, on=["trial", "host"], how="left").with_columns(number).drop("first_connection")


def _notes(manifest: Document) -> Iterator[dict[str, object]]:
    for pair in manifest.get("lost_pairs", ()):
        yield {
            "trial": manifest["trial"],
            "cell": manifest["cell"],
            "host": f"{pair['near']} → {pair['far']}",
            "note": "lost_pair",
            "text": pair["reason"],
            "value": pair["pair"],
            "limit": None,
        }
    for label, host in manifest.get("hosts", {}).items():
        for note in host.get("notes", ()):
            yield {
                "trial": manifest["trial"],
                "cell": manifest["cell"],
                "host": label,
                "note": note["note"],
                "text": note.get("buffer") or note.get("reason") or busiest_process([note]) or None,
                "value": note.get("requested_bytes") or note.get("count") or note.get("worst_ns") or note.get("cpu_ns"),
                "limit": note.get("limit_bytes") or note.get("wall_ns"),
            }


def on_controller_clock(table: pl.DataFrame, ends: pl.DataFrame) -> pl.DataFrame:
    """Moves every `*_mono_ns` column of `table` to the controller's clock.

    `ends` gives `offset_ns` (agent minus controller, at `compared_mono_ns` on the agent's clock) and
    `drift_ratio` (how much faster the agent's clock runs) for each `trial` and `host`. The result has
    the same rows and columns; instants become Int64. Rows of a host without offset are kept with
    offset 0, which is right on one host, where all ends read the same clock.
    """
    instants = [name for name in table.columns if name.endswith("_mono_ns")]
    if not instants:
        return table
    names = ("offset_ns", "drift_ratio", "compared_mono_ns")
    offsets = ends.select("trial", "host", *(pl.col(name).alias(f"end_{name}") for name in names))
    drift, compared = pl.col("end_drift_ratio").fill_null(0.0), pl.col("end_compared_mono_ns").fill_null(0)

    def moved(name: str) -> pl.Expr:
        instant = pl.col(name).cast(pl.Int64)
        # In 64-bit floats the product is right to far below a nanosecond: the drift is small.
        drifted = ((instant - compared) * drift).round().cast(pl.Int64)
        return (instant - pl.col("end_offset_ns").fill_null(0) - drifted).alias(name)

    together = table.join(offsets.unique(["trial", "host"]), on=["trial", "host"], how="left")
    return together.with_columns(moved(name) for name in instants).drop(f"end_{name}" for name in names)
