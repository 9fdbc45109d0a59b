"""The statements of a trial's manifest on its ends: roles, clocks, and what their evidence is worth."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple

import polars as pl

from whyperf.analyze.fleet.inputs import label
from whyperf.foreign import parse_json, read_bytes, refuse_link
from whyperf.record import RecordError, WrongFolderError, router_ratios
from whyperf.record.errors import failure
from whyperf.record.kinds import UNREADABLE
from whyperf.record.parquet import scan

LEVELS = ("user", "counters", "segments")
"""Levels of evidence, each with those before it."""
WATCHED = "watched"
"""The origin of a trial that is a connection of another program, which was watched."""


class TableOfEnd(NamedTuple):
    """A table that is fit to be read: `rows` are those of the file that was checked, whatever takes its place."""

    path: Path
    rows: pl.LazyFrame


@dataclass(frozen=True)
class EndEvidence:
    """The report of one host on its evidence (`EvidenceReport` in `crates/schema/src/evidence.rs`).

    `missing` are the hooks this level wants and did not find: name and reason. A record made before
    there was evidence has level "user" and nothing else.
    """

    asked: str = "user"
    got: str = "user"
    reason: str | None = None
    missing: tuple[tuple[str, str], ...] = ()
    logged_events_count: int = 0
    lost_events_count: Mapping[int, int] = field(default_factory=dict)
    logged_calls_count: int = 0
    lost_calls_count: Mapping[int, int] = field(default_factory=dict)
    missed_runs_count: int = 0
    broken_off: str | None = None


@dataclass(frozen=True)
class FlowEnd:
    """One side: `host` is near or far, `role` sender or receiver, `offset_ns` its clock minus the controller's.

    `window_ns` is the measured phase as this end had it, which a late sampler shifts. The offset of the clock is right
    within `uncertainty_ns`.
    """

    host: str
    role: str
    offset_ns: int
    evidence: EndEvidence
    window_ns: tuple[int, int] | None = None
    uncertainty_ns: int = 0


@dataclass(frozen=True)
class FlowTrial:
    """A trial whose segment flow is asked for.

    `ends` by host. `moves_both_ways` says that a workload's steps, and not a stream alone, moved the payload, so that
    the load counts both directions. `zero_mono_ns` is the start of the load on the controller's clock; `window_ns` the
    measured phase as (start, end) in ns after it, from the first end's start to the last one's end; None without
    intervals. `is_turned`: the roles are not those that the trial gave its ends, but the payload's. `hidden` are
    tables by name and host that are treated as if they had not been written (`view`). `origin` is where the payload
    came from: the own load (host), the model (sim), or another program (watched), of which `ends` may have one side
    only. `router_ratios` are by CPU what an emulated path's router used of it.
    """

    folder: Path
    trial: str
    cell: str
    status: str
    ends: Mapping[str, FlowEnd]
    zero_mono_ns: int
    window_ns: tuple[int, int] | None
    moves_both_ways: bool = False
    is_turned: bool = False
    hidden: frozenset[tuple[str, str]] = frozenset()
    origin: str = "host"
    pair: int | None = None
    router_ratios: Mapping[int, float] = field(default_factory=dict)

    @property
    def is_watched(self) -> bool:
        """True where it is a connection of another program."""
        return self.origin == WATCHED

    def end(self, role: str) -> FlowEnd | None:
        """The end with this role; None when the trial failed before it was known."""
        return next((end for end in self.ends.values() if end.role == role), None)

    def table(self, table: str, host: str) -> TableOfEnd | None:
        """A table, nothing of it read yet; None when that end did not write it, or it is hidden.

        Raises:
            RecordError: it is there and is no table, or one that would take far more memory than its size.
        """
        if (table, host) in self.hidden:
            return None
        return read_lazily(self.folder / f"{table}.{label(host, self.pair or 0)}.parquet")


def open_trial(folder: Path) -> FlowTrial:
    """Reads the manifest of `trials/<trial>` and where its load begins.

    Raises:
        RecordError: there is no such trial, or its manifest or intervals cannot be read.
    """
    manifest = read_manifest(folder)
    ends = {host: _end(host, found) for host, found in manifest.get("hosts", {}).items()}
    spans = {host: _span(folder / f"intervals.{host}.parquet", end.offset_ns) for host, end in ends.items()}
    zero = min((span.start for span in spans.values() if span is not None), default=None)
    if zero is None:
        zero = min((_first_segment(folder, end) for end in ends.values()), default=0)
    windows = {
        host: (span.measured[0] - zero, span.measured[1] - zero)
        for host, span in spans.items()
        if span is not None and span.measured is not None
    }
    ends = {host: replace(end, window_ns=windows.get(host)) for host, end in ends.items()}
    bounds = [*windows.values()]
    window = (min(start for start, _ in bounds), max(end for _, end in bounds)) if bounds else None
    return FlowTrial(
        folder=folder,
        trial=str(manifest.get("trial", folder.name)),
        cell=str(manifest.get("cell", "")),
        status=str(manifest.get("status", "")),
        ends=ends,
        zero_mono_ns=zero,
        window_ns=window,
        moves_both_ways=any(_has_workload(found) for found in manifest.get("hosts", {}).values()),
        origin=str(manifest.get("origin", "host")),
        router_ratios=router_ratios(manifest.get("path") or {}),
    )


def of_pair(trial: FlowTrial, pair: int) -> FlowTrial:
    """One pair of a trial with several, as if it had been alone: its ends are `near` and `far`.

    `pair` counts from 0. An end that the trial lacks is missing here, too.
    """
    found = {side: trial.ends[label(side, pair)] for side in ("near", "far") if label(side, pair) in trial.ends}
    ends = {side: replace(end, host=side) for side, end in found.items()}
    spans = [end.window_ns for end in ends.values() if end.window_ns is not None]
    window = (min(start for start, _ in spans), max(stop for _, stop in spans)) if spans else None
    return replace(trial, ends=ends, window_ns=window, pair=pair)


def manifest_of(trial: FlowTrial) -> Mapping[str, Any]:
    """The manifest of a trial; of a pair only its ends, as `near` and `far`.

    Raises:
        RecordError: it is not there or damaged.
    """
    manifest = read_manifest(trial.folder)
    if trial.pair is None:
        return manifest
    hosts = manifest.get("hosts", {})
    own = {side: hosts[label(side, trial.pair)] for side in ("near", "far") if label(side, trial.pair) in hosts}
    return {**manifest, "hosts": {side: {**end, "first_connection": 0} for side, end in own.items()}}


def _has_workload(end: Mapping[str, Any]) -> bool:
    return (end.get("spec") or {}).get("workload") is not None


class _Span(NamedTuple):
    """When an end's load ran, on the controller's clock, and its measured phase."""

    start: int
    measured: tuple[int, int] | None


def read_manifest(folder: Path) -> Mapping[str, Any]:
    """The manifest of a trial, of whatever version.

    Raises:
        RecordError: it is not there or damaged.
    """
    path = folder / "manifest.json"
    try:
        refuse_link(folder)
        found = parse_json(read_bytes(path))
    except FileNotFoundError:
        text = f"{folder} is not a trial: it has no manifest.json; look into the result's trials/"
        raise WrongFolderError(text) from None
    except OSError as error:
        raise failure("read", path, error) from None
    except ValueError:
        raise RecordError(f"{path} is damaged; run the experiment again, and the trial is measured anew") from None
    if not isinstance(found, dict):
        raise RecordError(f"{path} is damaged; run the experiment again, and the trial is measured anew")
    return found


def _end(host: str, found: Mapping[str, Any]) -> FlowEnd:
    clock = found.get("clock") or {}
    return FlowEnd(
        host=host,
        role=str(found.get("role", "")),
        offset_ns=int(clock.get("offset_ns") or 0),
        evidence=_evidence(found.get("evidence") or {}),
        uncertainty_ns=int(clock.get("uncertainty_ns") or 0),
    )


def _evidence(report: Mapping[str, Any]) -> EndEvidence:
    return EndEvidence(
        asked=str(report.get("asked", "user")),
        got=str(report.get("got", "user")),
        reason=report.get("reason"),
        missing=tuple((str(hook["name"]), str(hook["reason"])) for hook in report.get("missing", ())),
        logged_events_count=int(report.get("logged_events_count", 0)),
        lost_events_count=_by_cpu(report, "lost_events_count"),
        logged_calls_count=int(report.get("logged_calls_count", 0)),
        lost_calls_count=_by_cpu(report, "lost_calls_count"),
        missed_runs_count=int(report.get("missed_runs_count", 0)),
        broken_off=report.get("broken_off"),
    )


def _by_cpu(report: Mapping[str, Any], name: str) -> dict[int, int]:
    return {int(lost["cpu"]): int(lost["count"]) for lost in report.get(name, ())}


def _span(path: Path, offset_ns: int) -> _Span | None:
    table = read_lazily(path)
    if table is None:
        return None
    start, end = pl.col("start_mono_ns"), pl.col("end_mono_ns")
    measured = pl.col("phase") == "measure"
    bounds = (start.min(), start.filter(measured).min().alias("from"), end.filter(measured).max().alias("to"))
    with reported_unreadable(path):
        row = table.rows.select(pl.col("phase"), start, end).select(bounds).collect().row(0)
    if row[0] is None:
        return None
    first, start_ns, stop_ns = (None if value is None else int(value) - offset_ns for value in row)
    assert first is not None
    return _Span(first, None if start_ns is None or stop_ns is None else (start_ns, stop_ns))


def _first_segment(folder: Path, end: FlowEnd) -> int:
    """The first instant of a log without intervals, on the controller's clock; 0 without a log."""
    table = read_lazily(folder / f"segments.{end.host}.parquet")
    if table is None:
        return 0
    with reported_unreadable(table.path):
        first = table.rows.select(pl.col("segment_mono_ns").min()).collect().item()
    return 0 if first is None else int(first) - end.offset_ns


def read_lazily(path: Path) -> TableOfEnd | None:
    """A table of a trial, nothing of it read yet; None without the file.

    Raises:
        RecordError: it is there and is no table, or one that would take far more memory than its size.
    """
    try:
        return TableOfEnd(path, scan(path))
    except FileNotFoundError:
        return None
    except OSError as error:
        raise failure("read", path, error) from None
    except ValueError as error:
        raise RecordError(f"the table {path} cannot be read: {error}") from None


@contextmanager
def reported_unreadable(path: Path) -> Iterator[None]:
    """Makes a table that cannot be read a RecordError."""
    try:
        yield
    except UNREADABLE as error:
        reason = str(error).partition("\n")[0]
        raise RecordError(f"the table {path} cannot be read: {reason}") from None
