"""The content of a trial's manifest, checked when it is written and when it is read."""

import re
from collections.abc import Iterable, Mapping
from typing import Any, Final, Literal, NamedTuple, Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from whyperf.foreign import parse_model, quoted
from whyperf.profile import Factors

TRIAL_NAME = re.compile(r"(\d{3,}|log\d{2,}|stages\d{2,})-c\d{4,}")
TABLE_OF_END = re.compile(r"\w+\.(?:far|near)\d*\.parquet")
"""The name of a table's file in the folder of a trial or of a pack."""
RECORD_VERSION: Literal[1] = 1
#: `void`: the emulated path was not carried well enough to say anything about it, or connections of others than
#: the two ends kept those of the trial from opening. `interrupted`: the user stopped the
#: only trial of a run; what it measured until then is kept, and the trial is still to be made.
Status = Literal["complete", "deadline", "failed", "void", "interrupted"]
INTERRUPTED: Final = "interrupted"
#: The origin of trials that are connections of other programs.
WATCHED: Final = "watched"
#: Statuses of trials that have no result.
LOST: Final = ("failed", "void", INTERRUPTED)
#: Number of times that a void trial is run again.
MAX_RERUNS = 2
MIN_VALUE_BYTES = 8
"""Bytes of a manifest for each of its values, at least; those in tests/records have 18 and more."""
MAX_SHORT_VALUES = 500
"""Values that a manifest may have whatever its length: as many as that of a usual trial."""


class FrozenModel(BaseModel):
    """A part of the manifest. Keys of a later version pass unread and are kept."""

    model_config = ConfigDict(strict=True, extra="allow", frozen=True, allow_inf_nan=False)


class ClockPair(FrozenModel):
    """CLOCK_MONOTONIC and CLOCK_REALTIME of one host, read together."""

    mono_ns: int
    realtime_ns: int


class Clock(FrozenModel):
    """A host's CLOCK_MONOTONIC minus the controller's, with the bound of its error."""

    offset_ns: int
    uncertainty_ns: int
    #: The change of `offset_ns` from the first of `pairs`, before the load, to the last, after it.
    drift_ns: int = 0
    pairs: list[ClockPair] = []


class End(FrozenModel):
    """One side's part of a trial. A trial that failed early may lack all but the role."""

    role: Literal["sender", "receiver"]
    outcome: dict[str, Any] | None = None
    payload_bytes: int | None = None
    notes: list[dict[str, Any]] = []
    clock: Clock | None = None
    own_cpus: list[int] = []
    own_cpus_exclusive: bool = False
    #: The end whose CPU times are this one's too, because both run on the same CPUs of one machine.
    cpus_of: str | None = None
    #: Where several pairs of ends ran together, the connections of the pairs before this one.
    first_connection: int = 0
    tsc_hz: int | None = None
    spec: dict[str, Any] = {}
    #: The worth of the evidence (EvidenceReport in crates/schema/src/evidence.rs).
    evidence: dict[str, Any] = {}
    #: Of a watched connection: which part its payload is of all that its program's watched connections moved there, in
    #: both directions. The program's CPU time is divided by that.
    payload_ratio: float = Field(default=1.0, ge=0.0, le=1.0)


class LostPair(FrozenModel):
    """A pair of a fleet that was not part of a trial to its end: its number, its hosts, and why."""

    pair: int = Field(ge=0)
    near: str
    far: str
    reason: str


class Manifest(FrozenModel):
    """One trial: what was asked, how it ended, and the files it should have."""

    record_version: Literal[1] = RECORD_VERSION
    trial: str
    cell: str
    block: int = Field(ge=1)
    status: Status
    reason: str | None = None
    #: `host`: whyperf's own load, `sim`: the model's, `watched`: a connection of another program.
    origin: Literal["host", "sim", "watched"] = "host"
    testbed: str
    started_realtime: str
    versions: dict[str, str | None] = {}
    factors: Factors
    #: The evidence asked of both sides; a record from before there was more than one level has user only.
    evidence_asked: Literal["user", "counters", "segments"] = "user"
    hosts: dict[str, End] = {}
    #: Pairs of a fleet that are not among the hosts, because they were lost. Tables of theirs say nothing.
    lost_pairs: list[LostPair] = []
    warnings: list[Any] = []
    #: The emulated path: what was `asked`, the `audit` of how it was carried, and the `cpu` of its router, which an
    #: older record does not have; empty without one.
    path: dict[str, Any] = {}
    #: Length in bytes of every table written, by file name; the writer fills it in.
    tables: dict[str, int] = {}

    @property
    def lacks_log(self) -> bool:
        """True where it was made for the segment log, and an end has none, or none to the end."""
        reports = [end.evidence for end in self.hosts.values()]
        return self.evidence_asked == "segments" and any(
            report.get("got") != "segments" or report.get("broken_off") is not None for report in reports
        )

    @property
    def lacks_stages(self) -> bool:
        """True where an end has no stage times; of a trial that was made for them."""
        reports = [end.evidence.get("stages") or {"reason": ""} for end in self.hosts.values()]
        return any(report.get("reason") is not None for report in reports)

    @property
    def is_watched(self) -> bool:
        """True where the connection was another program's."""
        return self.origin == WATCHED

    @model_validator(mode="after")
    def _complete_trials_have_both_sides(self) -> Self:
        if self.status == "complete":
            # Of a watched connection usually one side is visible.
            some = self.is_watched or self.lost_pairs
            for host in tuple(self.hosts) or ("near",) if some else ("near", "far"):
                end = self.hosts.get(host)
                if end is None or end.outcome is None or end.clock is None:
                    raise ValueError(f"the trial is complete but lacks the outcome or clock of {host}")
        return self


def read_manifest(text: bytes | str) -> Manifest:
    """The manifest in a text.

    Raises:
        ValidationError: it is none, or has too many values for its length: there may be any number of manifests.
    """
    return parse_model(Manifest, text, MAX_SHORT_VALUES + len(text) // MIN_VALUE_BYTES)


def wrong_in(error: ValidationError) -> str:
    """The fault in a manifest."""
    finding = error.errors()[0]
    key = ".".join(str(part) for part in finding["loc"])
    if key == "record_version":
        return f"its record is of version {quoted(str(finding['input']))}, this is whyperf for version {RECORD_VERSION}"
    return f"its manifest is damaged: {quoted(key)} {quoted(finding['msg'])}".replace("  ", " ")


def busiest_process(notes: Iterable[Mapping[str, Any]]) -> str:
    """The process that used most CPU time during a trial, and how much, from the agents' notes; empty without one."""
    busy = [note for note in notes if note.get("note") == "busy_process" and note.get("wall_ns")]
    if not busy:
        return ""
    most = max(busy, key=lambda note: float(note["cpu_ns"] / note["wall_ns"]))
    return f"{most['name']} (process {most['pid']}) used {100 * most['cpu_ns'] / most['wall_ns']:.0f} % of a CPU"


def router_ratios(path: Mapping[str, Any]) -> dict[int, float]:
    """By CPU the part of it that the router of an emulated path used, from a manifest's `path`: one CPU, or none where
    the kernel carried the path or the record does not name the CPU.
    """
    audit, cpu = path.get("audit") or {}, path.get("cpu")
    if cpu is None or not audit.get("wall_ns"):
        return {}
    return {int(cpu): min(1.0, float(audit["cpu_ns"] / audit["wall_ns"]))}


class Damaged(NamedTuple):
    """A trial that cannot be read: its name and why, in a sentence."""

    trial: str
    reason: str
