"""Grades explanations of truth experiments as if only one side of a foreign program's connection were watched.

    python -m lab.truth.calibration.grade_one_sided RECORD… [--only NAME …] [--json FILE] [--no-mid-life]

Each trial with a segment log is copied as a watch would have recorded it: without what the own load counts, attached
when the measured phase begins (the first packets are gone), and with the tables `watched` and `sockets`, whose queues
are computed from the log. It is explained with each view: one side or both, and with less and less evidence.

Trials in which other programs than the injected ones took the CPUs are left out: a verdict that names them is right.
"""

import argparse
import json
import shutil
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import NamedTuple

import numpy as np
import polars as pl

from lab.truth import FILES, load_catalog, roles_of
from lab.truth.catalog import Catalog
from lab.truth.design import CellKind
from lab.truth.levels import truth_of
from lab.truth.one_sided import OUTCOMES, Graded, WatchedView, counts_of, graded
from whyperf.analyze import summarize
from whyperf.analyze.flow import FlowTrial, open_trial
from whyperf.analyze.flow.view import Level
from whyperf.explain.budget.calls import Calls, last_at, read_calls_of
from whyperf.explain.budget.host import arrivals_of, read_by_calls
from whyperf.explain.causes import Cause
from whyperf.explain.experiment import TrialQuestion
from whyperf.explain.gather import by_payload
from whyperf.explain.segment_log import Ints, LoggedConnection, SegmentLogs, read_logs
from whyperf.plan import LOG_PREFIX
from whyperf.record import LOST, Experiment

DROPPED = ("transactions", "latencies", "datagrams", "path", "path_lateness", "round_trips", "transport_info")
#: Not causes that a watch of a connection can name: they are of the own load, or of another transport.
LEFT_OUT = frozenset({Cause.ASKED_RATE, Cause.CONNECTION_SETUP})


class Truth(NamedTuple):
    """The injection into a cell."""

    sweep: str
    accepted: tuple[str, ...]
    is_undisturbed: bool


def main(arguments: Sequence[str]) -> None:
    """See above."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("records", nargs="+", type=Path)
    parser.add_argument("--only", nargs="*", default=[])
    parser.add_argument("--json", type=Path)
    parser.add_argument("--no-mid-life", action="store_true")
    chosen = parser.parse_args(arguments)
    found: list[Graded] = []
    for record in chosen.records:
        experiment = Experiment.open(record)
        for file in FILES.values():
            found += _graded(experiment, load_catalog(file), set(chosen.only), is_mid_life=not chosen.no_mid_life)
    for view, counts in counts_of(found).items():
        if whole := sum(counts.values()):
            shares = ", ".join(f"{name} {counts[name]} ({counts[name] / whole:.0%})" for name in OUTCOMES)
            _say(f"{view}: {whole} explanations: {shares}")
    for grade in found:
        if grade.outcome in {"wrong", "not_known"}:
            _say(f"{grade.outcome} {grade.view} {grade.situation}: {grade.named} for {grade.accepted}")
    if chosen.json:
        chosen.json.write_text(json.dumps([asdict(grade) for grade in found], indent=1), encoding="utf-8")


def _graded(experiment: Experiment, catalog: Catalog, only: set[str], *, is_mid_life: bool) -> Iterator[Graded]:
    rates = {cell.id: cell.goodput_bps.median for cell in summarize(experiment).cells}
    plan = experiment.plan
    cells = {cell.sweep: cell.id for cell in plan.cells}
    by_sweep = {sweep: rates.get(cell) for sweep, cell in cells.items()}
    situations = {situation.name: situation for situation in catalog.situation}
    complete = {name for name, manifest in experiment.trials().manifests.items() if manifest.status not in LOST}
    for role in roles_of(catalog):
        cell = cells.get(role.sweep)
        if cell is None or not role.is_explained or (only and role.of not in only):
            continue
        accepted, counts, _ = truth_of(catalog, situations.get(role.of), role, by_sweep)
        if not counts or set(accepted) <= {str(cause) for cause in LEFT_OUT}:
            continue
        logged = [trial.id for trial in plan.trials() if trial.cell == cell and trial.id.startswith(LOG_PREFIX)]
        for trial in [name for name in logged if name in complete][:1]:
            if _is_disturbed(experiment, cell, trial, accepted):
                _say(f"left out {role.sweep}: other programs took the CPUs meanwhile")
                continue
            with tempfile.TemporaryDirectory() as folder:
                watched = _watched(experiment, trial, Path(folder), is_mid_life=is_mid_life)
                if watched is None:
                    continue
                truth = Truth(role.sweep, accepted, role.kind is CellKind.UNDISTURBED)
                for view in WatchedView:
                    yield _explained(watched, cell, trial, view, truth)


def _is_disturbed(experiment: Experiment, cell: str, trial: str, accepted: Sequence[str]) -> bool:
    """True if the evidence of both hosts shows that programs which nobody injected took the CPUs of the trial."""
    views: tuple[dict[str, Level], ...] = ({}, {"sender": "user", "receiver": "user"})
    found = [
        TrialQuestion(cell, trial, by_plan=False, levels=levels).answer(experiment).verdicts[:2] for levels in views
    ]
    named = {verdict.cause for verdicts in found for verdict in verdicts}
    return str(Cause.OTHER_LOAD) not in accepted and Cause.OTHER_LOAD in named


def _explained(experiment: Experiment, cell: str, trial: str, view: WatchedView, truth: Truth) -> Graded:
    hidden = [] if view.has_sockets else sorted((experiment.folder / "trials" / trial).glob("sockets.*"))
    for file in hidden:
        file.rename(file.with_name(f"hidden-{file.name}"))
    try:
        levels = dict.fromkeys(("sender", "receiver"), view.level)
        found = TrialQuestion(cell, trial, by_plan=False, levels=levels, watched=view.sides).answer(experiment)
    finally:
        for file in hidden:
            file.with_name(f"hidden-{file.name}").rename(file)
    return graded(truth.sweep, view, truth.accepted, found, is_undisturbed=truth.is_undisturbed)


def _watched(experiment: Experiment, name: str, folder: Path, *, is_mid_life: bool) -> Experiment | None:
    """The record with one trial alone, as a watch would have recorded it; None of what is not TCP."""
    target = folder / experiment.folder.name
    (target / "trials").mkdir(parents=True)
    for file in experiment.folder.iterdir():
        if file.is_file() and file.suffix in {".json", ".toml"} and file.name not in {"explain.json", "result.json"}:
            shutil.copy(file, target / file.name)
    copy = target / "trials" / name
    shutil.copytree(experiment.folder / "trials" / name, copy)
    trial = by_payload(open_trial(copy))
    logs = read_logs(trial)
    if logs.sender is None or logs.receiver is None or trial.window_ns is None:
        return None
    for end in trial.ends.values():
        flows = trial.table("flows", end.host)
        if trial.table("tcp_info", end.host) is None or flows is None:
            return None
        if not set(flows.rows.select("transport").collect()["transport"].cast(pl.String)) <= {"tcp", "tls"}:
            return None
        _write_sockets(trial, logs, end.host)
    for file in copy.glob("*.parquet"):
        if file.name.partition(".")[0] in DROPPED:
            file.unlink()
        elif is_mid_life:
            _cut(file, trial, trial.window_ns[0])
    return Experiment.open(target)


def _cut(file: Path, trial: FlowTrial, from_ns: int) -> None:
    """Without what was before the instant of attaching."""
    rows = pl.read_parquet(file)
    host = file.name.split(".")[1]
    if host not in trial.ends:
        return
    start = trial.zero_mono_ns + trial.ends[host].offset_ns + from_ns
    time = next((name for name in ("sample_mono_ns", "segment_mono_ns", "start_mono_ns") if name in rows.columns), None)
    if time is not None and file.name.partition(".")[0] not in {"flows", "host_counters", "watched"}:
        rows.filter(pl.col(time).is_null() | (pl.col(time).cast(pl.Int64) >= start)).write_parquet(file)


def _write_sockets(trial: FlowTrial, logs: SegmentLogs, host: str) -> None:
    """The tables `sockets` and `watched` of one side, of what sock_diag would have shown at each sample of TCP_INFO."""
    end = trial.ends[host]
    log = logs.sender if end.role == "sender" else logs.receiver
    assert log is not None
    info = pl.read_parquet(trial.folder / f"tcp_info.{host}.parquet").sort("connection", "sample_mono_ns")
    flows = pl.read_parquet(trial.folder / f"flows.{host}.parquet")
    shift = trial.zero_mono_ns + end.offset_ns
    calls = read_calls_of(trial, host, "read") or {}
    parts, own = [], []
    for (number,), rows in info.partition_by("connection", as_dict=True).items():
        segments = log.connection(int(str(number)))
        flow = flows.filter(pl.col("connection") == number)
        if segments is None or flow.is_empty():
            continue
        at = rows["sample_mono_ns"].cast(pl.Int64).to_numpy() - shift
        queue = _queue(segments, calls.get(int(str(number))), at) if end.role == "receiver" else np.zeros(at.size)
        carries = segments.payload_bytes > 0
        ago = {
            name: _ago(segments.time_ns[carries & (segments.is_out == is_out)], at)
            for name, is_out in (("last_data_sent_ns", True), ("last_data_received_ns", False))
        }
        in_flight = rows["unacked_segments"].cast(pl.Int64) * rows["send_mss_bytes"].cast(pl.Int64)
        parts.append(
            rows.select("host", "connection", "sample_mono_ns").with_columns(
                pl.Series("receive_queue_bytes", queue.astype(np.int64)),
                (in_flight + rows["not_sent_bytes"].cast(pl.Int64)).alias("send_queue_bytes"),
                *(pl.Series(name, values) for name, values in ago.items()),
                pl.lit(int(flow["receive_buffer_granted_bytes"][0])).alias("receive_buffer_bytes"),
                pl.lit(int(flow["send_buffer_granted_bytes"][0])).alias("send_buffer_bytes"),
            )
        )
        requested = {
            side: any(
                name in flow.columns and flow[name][0] is not None
                for name in (f"{side}_buffer_requested_bytes", "window_requested_bytes")
            )
            for side in ("send", "receive")
        }
        own.append({
            "host": host, "connection": number, "program": "load", "process": 1, "whole": False,
            "listens": host == "far",
            "send_buffer_fixed": requested["send"], "receive_buffer_fixed": requested["receive"],
        })  # fmt: skip
    if parts:
        pl.concat(parts).write_parquet(trial.folder / f"sockets.{host}.parquet")
        pl.DataFrame(own).write_parquet(trial.folder / f"watched.{host}.parquet")


JIFFY_NS = 4_000_000


def _ago(times: Ints, at: Ints) -> Ints:
    """The time since the last of some instants, in whole jiffies."""
    place = last_at(times, at)
    last = times[np.maximum(place, 0)] if times.size else at
    ago: Ints = np.where(place >= 0, (at // JIFFY_NS - last // JIFFY_NS) * JIFFY_NS, 10**12)
    return ago


def _queue(segments: LoggedConnection, calls: Calls | None, at: Ints) -> Ints:
    """Payload that waited to be read at each instant."""
    arrivals = arrivals_of(segments)
    row = last_at(segments.time_ns, at)
    has_row, place = row >= 0, np.maximum(row, 0)
    read = np.where(has_row, arrivals.read[place], 0)
    if calls is not None and calls.end.size:
        counted = np.concatenate(([0], read_by_calls(calls, segments, arrivals)))
        read = np.maximum(read, counted[last_at(calls.end, at) + 1])
    queue: Ints = np.maximum(np.where(has_row, arrivals.readable[place], 0) - read, 0)
    return queue


def _say(line: str) -> None:
    sys.stdout.write(f"{line}\n")


if __name__ == "__main__":
    main(sys.argv[1:])
