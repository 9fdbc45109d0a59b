"""What a trial's manifest says of its ends: roles, clocks, and what their evidence is worth."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

LEVELS = ("user", "counters", "segments")
"""Levels of evidence, each with those before it."""


@dataclass(frozen=True)
class EndEvidence:
    """What one end says of its evidence (`EvidenceReport` in `crates/schema/src/evidence.rs`).

    `missing` are the hooks this level wants and did not find: name and reason. A record made before
    there was evidence has level "user" and nothing else.
    """

    asked: str = "user"
    got: str = "user"
    reason: str | None = None
    missing: tuple[tuple[str, str], ...] = ()
    logged_events_count: int = 0
    lost_events_count: Mapping[int, int] = field(default_factory=dict)
    missed_runs_count: int = 0
    broken_off: str | None = None


@dataclass(frozen=True)
class FlowEnd:
    """One end: `host` is near or far, `role` sender or receiver, `offset_ns` its clock minus the controller's."""

    host: str
    role: str
    offset_ns: int
    evidence: EndEvidence


@dataclass(frozen=True)
class FlowTrial:
    """A trial whose segment flow is asked for.

    `ends` by host. `zero_mono_ns` is the start of the load on the controller's clock; `window_ns`
    the measured phase as (start, end) in ns after it, None without intervals.
    """

    folder: Path
    trial: str
    cell: str
    status: str
    ends: Mapping[str, FlowEnd]
    zero_mono_ns: int
    window_ns: tuple[int, int] | None

    def end(self, role: str) -> FlowEnd | None:
        """The end with this role; None when the trial failed before it was known."""
        return next((end for end in self.ends.values() if end.role == role), None)

    def file(self, table: str, host: str) -> Path | None:
        """The file of a table; None when that end did not write it."""
        path = self.folder / f"{table}.{host}.parquet"
        return path if path.exists() else None


def open_trial(folder: Path) -> FlowTrial:
    """Reads the manifest of `trials/<trial>` and where its load begins.

    Raises:
        RecordError: there is no such trial, or its manifest or intervals cannot be read.
    """
    raise NotImplementedError(folder)
