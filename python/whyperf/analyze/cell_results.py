"""From the record of an experiment to its result."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import polars as pl

from whyperf.analyze.bootstrap import coverage_limit
from whyperf.analyze.cell_modes import cell_modes, mode_facts
from whyperf.analyze.fleet.summary import summarize_fleet
from whyperf.analyze.measures.adapters import cell_adapters
from whyperf.analyze.measures.costs import cell_calls
from whyperf.analyze.measures.cpu import cell_cpu
from whyperf.analyze.measures.goodput import MAX_SINGLE
from whyperf.analyze.measures.latency import cell_round_trips
from whyperf.analyze.measures.needed_window import with_needed_windows
from whyperf.analyze.measures.setup import start_skew, trial_setups
from whyperf.analyze.measures.shared_cpus import cell_shared_cpus
from whyperf.analyze.measures.streams import cell_rtts, cell_streams
from whyperf.analyze.measures.watched import cell_connections
from whyperf.analyze.measures.windows import cell_windows
from whyperf.analyze.read.inputs import Cell, Inputs
from whyperf.analyze.spread import Spread, spreads
from whyperf.analyze.summary import (
    Advice,
    Announced,
    Calls,
    CellResult,
    CellWarning,
    Connections,
    Cpu,
    Cut,
    Cycles,
    EndCalls,
    EndCpu,
    Evidence,
    Fact,
    Provisional,
    Retransmitted,
    Setup,
    SharedCpus,
    Start,
    Summary,
    Unfinished,
    Window,
)
from whyperf.analyze.text import count, percent
from whyperf.analyze.tracing_overhead import PROFILE, ProbeCost, cost_text
from whyperf.analyze.transports.result import Transports
from whyperf.analyze.transports.summary import summarize_transports, trial_indicators
from whyperf.analyze.trials import Measured, measure_trials
from whyperf.analyze.warnings import cell_rules, evidence_rules, watched_rules
from whyperf.analyze.warnings.catalog import OF_OWN_LOAD, RaisedWarning, merge_warnings
from whyperf.analyze.warnings.evidence import of_measured, summarize_evidence
from whyperf.analyze.warnings.workload_rules import closed_loop_fact, of_datagrams, of_transactions
from whyperf.analyze.workload_results import WorkloadResults
from whyperf.plan import WATCHED
from whyperf.profile.path import has_path
from whyperf.record import INTERRUPTED, LOST

Row = Mapping[str, Any]
Rows = Sequence[Row]

ENOUGH_TRIALS = 6
"""From here on an interval of the median can reach 95 %."""


def summarize_inputs(inputs: Inputs) -> Summary:
    """The result of `inputs`; cells without a trial are listed with 0 trials."""
    measured = measure_trials(inputs)
    tables = _Tables(inputs, measured)
    found = [tables.warnings(cell) for cell in inputs.cells]
    goodputs = [tables.goodputs(cell.id) for cell in inputs.cells]
    goodput_spreads = spreads(goodputs, inputs.seed)
    cycles = tables.cycles(inputs.cells, inputs.seed)
    cells = [
        tables.result(cell, spread, cost, raised)
        for cell, spread, cost, raised in zip(inputs.cells, goodput_spreads, cycles, found, strict=True)
    ]
    evidence = summarize_evidence(inputs.evidence)
    return Summary(
        experiment=inputs.experiment,
        origin=inputs.origin,
        profile=inputs.profile,
        plan_id=inputs.plan_id,
        testbed=inputs.testbed,
        varied=list(inputs.varied),
        evidence=evidence,
        cells=with_needed_windows(cells, inputs),
        unfinished=_unfinished(inputs),
        warnings=_advice(inputs, evidence, found, [len(values) for values in goodputs]),
        facts=[
            *_facts(inputs, cells),
            *mode_facts(cells, inputs.varied),
            *closed_loop_fact(cells),
            *watched_rules.watched_facts(cells),
            *_control_facts(inputs),
            *_unseen_facts(inputs.evidence),
            *_unsampled_facts(inputs.evidence),
            *(Fact(code="stage_times", text=text) for text in inputs.stage_notes),
            *_cost_facts(inputs, evidence),
        ],
    )


class _Tables:
    """The measured frames as rows by cell."""

    def __init__(self, inputs: Inputs, measured: Measured) -> None:
        self._testbed = inputs.testbed
        self._segment_rates = _by_cell(measured.segment_rates)
        done = WorkloadResults(inputs, measured)
        self._transactions = {cell.id: done.transactions(cell) for cell in inputs.cells}
        self._datagrams = {cell.id: done.datagrams(cell) for cell in inputs.cells}
        # An interrupted trial is still to be made.
        failed = inputs.trials.filter(pl.col("status").is_in(LOST) & (pl.col("status") != INTERRUPTED))
        self._trials = _by_cell(pl.concat([measured.trials, failed], how="diagonal"))
        self._observed = _by_cell(inputs.observed.drop_nulls("goodput_bps").sort("trial"))
        self._cpu = _by_cell(cell_cpu(measured.ends_cpu))
        self._shared = _by_cell(
            cell_shared_cpus(inputs.cpu, inputs.softirqs, inputs.ends, measured.ends_cpu, measured.trials)
        )
        self._adapters = cell_adapters(inputs.devices, inputs.ends, inputs.hosts)
        self._cycles = _by_cell(measured.cycles)
        self._windows = _by_cell(cell_windows(inputs.flows, inputs.tcp_info))
        self._calls = _by_cell(cell_calls(inputs.flows))
        self._starts = _by_cell(start_skew(inputs.flows, inputs.ends).join(measured.trials, on="trial"))
        self._round_trips = cell_round_trips(inputs, measured.trials)
        self._setups = _by_cell(trial_setups(inputs.flows).join(measured.trials, on="trial"))
        self._notes = _by_cell(inputs.notes)
        self._watched = cell_connections(inputs)
        self._indicators = trial_indicators(inputs)
        self._seed = inputs.seed
        self._evidence = _by_cell(inputs.evidence)
        self._again = _by_cell(measured.segments)
        self._fleets = summarize_fleet(inputs, measured)
        self._modes = cell_modes(inputs, measured.trials)
        self._streams = cell_streams(inputs, measured.trials, measured.connections)
        self._rtts = cell_rtts(inputs, measured.trials)
        shares = measured.connections.join(measured.trials.select("trial", "cell", "goodput_bps"), on="trial")
        self._connections = _by_cell(
            shares.group_by("cell").agg(
                pl.col("connection").n_unique().alias("count"),
                pl.col("goodput_bps").min().alias("min"),
                pl.col("goodput_bps").median().alias("median"),
                pl.col("goodput_bps").max().alias("max"),
            )
        )

    def goodputs(self, cell: str) -> list[float]:
        rows = self._trials.get(cell, [])
        return [row["goodput_bps"] for row in rows if row["goodput_bps"] is not None]

    def warnings(self, cell: Cell) -> list[RaisedWarning]:
        rows = {row["role"]: row for row in self._cpu.get(cell.id, [])}
        found = [
            *cell_rules.of_trials(self._trials.get(cell.id, []), cell.factors, cell.has_payload),
            *cell_rules.of_window(_first(self._windows.get(cell.id))),
            *self._lost_segments(cell),
            *cell_rules.of_notes(self._notes.get(cell.id, []), cell.factors),
            *cell_rules.of_cpu(rows, self._notes.get(cell.id, []), counts_ticks=self._testbed != "model"),
            *of_transactions(self._transactions[cell.id], cell.factors, self._ends_cpu(cell.id)),
            *of_datagrams(self._datagrams[cell.id]),
            *evidence_rules.of_cell(self._evidence.get(cell.id, [])),
        ]
        if cell.watched is None:
            return found
        return [
            *(warning for warning in found if warning.code not in OF_OWN_LOAD),
            *watched_rules.of_connection(self._evidence.get(cell.id, [])),
        ]

    def _lost_segments(self, cell: Cell) -> Iterator[RaisedWarning]:
        """Segments sent again; an emulated path that drops them is asked for and no cause for concern."""
        if not has_path({name: str(level) for name, level in cell.factors.items()}):
            yield from cell_rules.of_retransmissions(self.retransmitted(cell.id).ratio, self._testbed)

    def cycles(self, cells: Sequence[Cell], seed: int) -> list[Cycles]:
        """Cycles per KByte of all cells, their intervals taken together."""
        values = {
            role: [
                [
                    row["cycles_per_kbyte"]
                    for row in self._cycles.get(cell.id, [])
                    if row["role"] == role and row["cycles_per_kbyte"] is not None
                ]
                for cell in cells
            ]
            for role in ("sender", "receiver")
        }
        both = {role: spreads(samples, seed) for role, samples in values.items()}
        result = []
        for index, cell in enumerate(cells):
            sender, receiver = both["sender"][index], both["receiver"][index]
            first = _first(self._cycles.get(cell.id))
            result.append(
                Cycles(
                    sender=sender.median,
                    receiver=receiver.median,
                    unit=first["unit"] if first else None,
                    sender_low=sender.low,
                    sender_high=sender.high,
                    receiver_low=receiver.low,
                    receiver_high=receiver.high,
                )
            )
        return result

    def retransmitted(self, cell: str) -> Retransmitted:
        rows = self._again.get(cell, [])
        # Nobody sends a datagram again.
        if not rows or self._datagrams[cell] is not None:
            return Retransmitted()
        again = [row["retransmitted_segments"] for row in rows]
        data = sum(row["data_segments"] for row in rows)
        ratio = sum(again) / data if data else None
        unit = "packets" if any(row["is_packets"] for row in rows) else "segments"
        if any(row["is_sampled"] for row in rows):
            return Retransmitted(ratio=ratio, unit=unit)
        return Retransmitted(median=float(np.median(again)), max=max(again), ratio=ratio, unit=unit)

    def _ends_cpu(self, cell: str) -> Cpu:
        shared = _first(self._shared.get(cell))
        return Cpu(
            **{row["role"]: _end_cpu(row, self._adapters.get((cell, row["role"]))) for row in self._cpu.get(cell, [])},
            shared=None if shared is None else SharedCpus(**{name: shared[name] for name in SharedCpus.model_fields}),
        )

    def _segment_rate(self, cell: str) -> float | None:
        rates = [row["segments_per_s"] for row in self._segment_rates.get(cell, [])]
        return float(np.median(rates)) if rates else None

    def result(self, cell: Cell, spread: Spread, cycles: Cycles, raised: Sequence[RaisedWarning]) -> CellResult:
        trials = self._trials.get(cell.id, [])
        measured = [row for row in trials if row["goodput_bps"] is not None]
        failed = sum(row["status"] in LOST for row in trials)
        # Calls of another program, when it connected, and what it should do are not in its sockets.
        is_watched = cell.watched is not None
        return CellResult(
            id=cell.id,
            sweep=cell.sweep,
            factors=cell.setting,
            trials=len(measured),
            failed_trials=failed,
            deadline_trials=sum(row["status"] == "deadline" for row in trials),
            unusable_trials=len(trials) - failed - len(measured),
            unsteady_trials=0 if is_watched else sum(row["steady"] is False for row in measured),
            goodput_bps=spread,
            cut=_cut(measured, cell.factors),
            provisional=None if measured else _provisional(self._observed.get(cell.id, [])),
            connections=None if cell.is_scheduled else self._shares(cell, measured),
            streams=self._streams.get(cell.id, []),
            cpu=self._ends_cpu(cell.id),
            cycles_per_kbyte=cycles,
            window=_window(_first(self._windows.get(cell.id))),
            retransmitted_segments=self.retransmitted(cell.id),
            data_segments_per_s=self._segment_rate(cell.id),
            calls=Calls(**{row["role"]: _end_calls(row) for row in self._calls.get(cell.id, []) if not is_watched}),
            workload=cell.workload,
            metric=cell.metric,
            transactions=self._transactions[cell.id],
            datagrams=self._datagrams[cell.id],
            start=None if is_watched else _start(self._starts.get(cell.id, [])),
            setup=_setup(self._setups.get(cell.id, [])),
            transports=self._transports(cell),
            rtt_probe=self._round_trips.get(cell.id),
            watched=self._watched.get(cell.id),
            warnings=[CellWarning(code=warning.code, text=warning.text) for warning in raised],
            fleet=self._fleets.get(cell.id),
            modes=self._modes.get(cell.id),
            rtt=self._rtts.get(cell.id),
        )

    def _transports(self, cell: Cell) -> Transports | None:
        """The indicators of a cell with a schedule."""
        costs = self._cycles.get(cell.id, [])
        cycles = {
            role: [
                row["cycles_per_kbyte"] for row in costs if row["role"] == role and row["cycles_per_kbyte"] is not None
            ]
            for role in ("sender", "receiver")
        }
        unit = costs[0]["unit"] if costs else None
        return summarize_transports(cell, self._indicators.get(cell.id, []), cycles, unit, self._seed)

    def _shares(self, cell: Cell, measured: Rows) -> Connections | None:
        row = _first(self._connections.get(cell.id))
        # Connections that are only open have no share to compare.
        if row is None or cell.has_idle or not 2 <= row["count"] <= MAX_SINGLE:
            return None
        indices = [trial["fairness"] for trial in measured if trial["fairness"] is not None]
        fairness = float(np.median(indices)) if indices else None
        return Connections(min_bps=row["min"], median_bps=row["median"], max_bps=row["max"], fairness=fairness)


def _cut(measured: Rows, factors: Row) -> Cut | None:
    """The part that was cut off the trials of a cell; None where every window counts whole."""
    cut = [row for row in measured if row["cut_ns"] and not row["is_whole_phase"]]
    if not cut:
        return None
    most = max(cut, key=lambda row: int(row["cut_ns"]))
    from_s = float(factors.get("warmup_s") or 0)
    return Cut(
        trials=len(cut),
        from_s=from_s,
        to_s=from_s + most["cut_ns"] / 1e9,
        goodput_bps=most["cut_bps"],
        whole_window_bps=float(np.median([row["whole_bps"] for row in measured])),
    )


def _provisional(observed: Rows) -> Provisional | None:
    """The rate of a cell's last trial without a result."""
    if not observed:
        return None
    last = observed[-1]
    seconds = (last["window_end_ns"] - last["window_start_ns"]) / 1e9
    named = {name: last[name] for name in ("trial", "status", "goodput_bps", "transactions_per_s", "in_warmup")}
    return Provisional(**named, seconds=seconds)


def _start(rows: Rows) -> Start | None:
    """The worst start of a cell's trials."""
    if not rows:
        return None
    return Start(
        agents=max(row["agents"] for row in rows),
        skew_s=max(row["skew_ns"] for row in rows) / 1e9,
        spread_s=max(row["spread_ns"] for row in rows) / 1e9,
        uncertainty_s=max(row["uncertainty_ns"] for row in rows) / 1e9,
    )


def _setup(rows: Rows) -> Setup | None:
    """The set-up of the trial of median duration, the slower of two."""
    if not rows:
        return None
    row = sorted(rows, key=lambda row: float(row["seconds"]))[len(rows) // 2]
    seconds, connections = float(row["seconds"]), int(row["connections"])
    return Setup(connections=connections, seconds=seconds, per_s=connections / seconds)


def _end_cpu(row: Row, adapters: int | None) -> EndCpu:
    used = row["in_use_cpus"]
    return EndCpu(
        **{name: row[name] for name in EndCpu.model_fields if name in row},
        adapters_count=adapters,
        per_adapter_cpus=None if not adapters or used is None else used / adapters,
    )


def _end_calls(row: Row) -> EndCalls:
    return EndCalls(**{name: row[name] for name in EndCalls.model_fields})


def _window(row: Row | None) -> Window:
    if row is None:
        return Window()
    announced = None
    if row["announced_max"] is not None:
        announced = Announced(
            min=row["announced_min"],
            median=row["announced_median"],
            max=row["announced_max"],
            samples=row["announced_samples"],
        )
    return Window(
        requested_bytes=row["requested_bytes"],
        granted_bytes=row["granted_bytes"],
        clamp_bytes=row["clamp_bytes"],
        announced_bytes=announced,
    )


def _unfinished(inputs: Inputs) -> list[Unfinished]:
    """The trials that did not complete, damaged ones among them, by name."""
    columns = ("trial", "cell", "status", "reason")
    # The evidence has those with the segment log, too.
    trials = pl.concat([inputs.trials.select(columns), inputs.evidence.select(columns)]).unique("trial")
    known = [Unfinished(**row) for row in trials.filter(pl.col("status") != "complete").iter_rows(named=True)]
    broken = [
        Unfinished(trial=trial, cell=trial.partition("-")[2], status="damaged", reason=reason)
        for trial, reason in inputs.damaged
    ]
    return sorted(known + broken, key=lambda row: row.trial)


def _advice(
    inputs: Inputs, evidence: Evidence | None, found: Sequence[Sequence[RaisedWarning]], trials: Sequence[int]
) -> list[Advice]:
    """The warnings of the experiment: its own, then those of its cells, each code once."""
    own = []
    noun = "connection" if inputs.testbed == WATCHED else "cell"
    if inputs.testbed == "loopback":
        own.append(RaisedWarning("loopback_testbed"))
    if inputs.damaged:
        trial, reason = inputs.damaged[0]
        have = "is" if len(inputs.damaged) == 1 else "are"
        number = count(len(inputs.damaged), "trial")
        own.append(
            RaisedWarning("damaged_trials", {"count": number, "have": have, "trial": trial, "reason": f"{reason}."})
        )
    # A failed trial has a warning of its own: the same command does not make it again.
    failed = {trial.cell for trial in _unfinished(inputs) if trial.status == "failed"}
    missing = sum(number == 0 and cell.id not in failed for cell, number in zip(inputs.cells, trials, strict=True))
    if missing:
        own.append(RaisedWarning("unfinished", {"count": count(missing, noun)}))
    fewest = min((number for number in trials if number), default=0)
    if 3 <= fewest < ENOUGH_TRIALS:
        values = {"count": count(fewest, "trial"), "coverage": percent(coverage_limit(fewest))}
        own.append(RaisedWarning("wide_intervals", values))
    own += evidence_rules.of_experiment(evidence, inputs.evidence)
    merged = [(warning, warning.text) for warning in own] + merge_warnings(found, noun)
    return [Advice(code=warning.code, text=text, advice=warning.advice(inputs.testbed)) for warning, text in merged]


def _facts(inputs: Inputs, cells: Sequence[CellResult]) -> list[Fact]:
    facts = []
    reason = inputs.notes.filter(pl.col("note") == "no_pmu").head(1)
    if not reason.is_empty() and any(cell.cycles_per_kbyte.sender is not None for cell in cells):
        why = reason["text"][0] or "the host does not allow it"
        text = f"The PMU cannot count CPU cycles ({why}); costs are in TSC reference cycles instead."
        facts.append(Fact(code="no_pmu", text=text))
    return facts


def _control_facts(inputs: Inputs) -> list[Fact]:
    """Which congestion controls ran where the plan left them to the hosts."""
    left = [cell.id for cell in inputs.cells if cell.factors.get("congestion_control") == "default"]
    ran = inputs.flows.filter(pl.col("cell").is_in(left) & pl.col("congestion_control").is_not_null())
    names = {
        role: ", ".join(ran.filter(pl.col("role") == role)["congestion_control"].unique().sort())
        for role in ("sender", "receiver")
    }
    if not all(names.values()):
        return []
    ends = f"{names['sender']} at the sender, {names['receiver']} at the receiver"
    text = f"Congestion control was each host's own: {ends}."
    return [Fact(code="own_congestion_control", text=text)]


def _unseen_facts(evidence: pl.DataFrame) -> list[Fact]:
    """By how much counters are too small: programs do not run on top of processes that a kernel hides from them."""
    unseen = of_measured(evidence).group_by("trial").agg(pl.col("unseen").sum()).filter(pl.col("unseen") > 0)
    if unseen.is_empty():
        return []
    number, most = count(unseen.height, "trial"), count(int(unseen["unseen"].sort()[-1]), "segment")
    text = f"In {number} BPF missed up to {most}; its counts are low by that. Goodput is not affected."
    return [Fact(code="unseen_segments", text=text)]


def _unsampled_facts(evidence: pl.DataFrame) -> list[Fact]:
    """Sides whose stacks should be sampled and could not be."""
    refused = evidence.filter(pl.col("unsampled").is_not_null()).unique(["host", "unsampled"]).sort("host", "unsampled")
    return [
        Fact(code="not_sampled", text=f"The stacks of the {host} side could not be sampled: {reason}.")
        for host, reason in refused.select("host", "unsampled").iter_rows()
    ]


def _cost_facts(inputs: Inputs, evidence: Evidence | None) -> list[Fact]:
    """The cost of the levels in use, merged in every result that used one."""
    # The model looks for nothing.
    if evidence is None or inputs.origin == "sim":
        return []
    used = {end.level for end in evidence.ends.values()} | ({"segments"} if evidence.log_trials else set())
    used.discard("user")
    if inputs.evidence["sampled_hz"].is_not_null().any():
        used.add(PROFILE)
    if not used:
        return []
    cost = ProbeCost.model_validate(inputs.probe_cost) if inputs.probe_cost else None
    return [Fact(code="evidence_cost", text=cost_text(cost, sorted(used)))]


def _by_cell(frame: pl.DataFrame) -> dict[str, list[dict[str, Any]]]:
    rows: dict[str, list[dict[str, Any]]] = {}
    for row in frame.iter_rows(named=True):
        rows.setdefault(row["cell"], []).append(row)
    return rows


def _first(rows: Rows | None) -> Row | None:
    return rows[0] if rows else None
