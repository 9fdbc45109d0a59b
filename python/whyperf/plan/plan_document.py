"""The model of a plan: cells, blocks, when to stop, and the identifier of all that."""

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any, Final, Literal, NamedTuple, Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from whyperf.foreign import parse_model, quoted
from whyperf.hosts import LOCAL, MAX_PAIRS, HostPair, Pattern
from whyperf.profile import BY_NAME, Factors, ProfileError
from whyperf.profile.workload import Metric
from whyperf.wire import DatagramStream, Workload

PLAN_VERSION: Literal[1] = 1


class PlanModel(BaseModel):
    """A part of plan.json: nothing is converted, nothing unknown passes."""

    model_config = ConfigDict(strict=True, extra="forbid", frozen=True, allow_inf_nan=False)


class StopRule(PlanModel):
    """When a cell has enough trials: after `trials`, or when its interval is narrow enough.

    `interval_width` is the width of the 95 % interval of the median over the median.
    `sweep_trials` names the sweeps with a fixed number of their own.
    """

    trials: int | None = None
    trials_min: int | None = None
    trials_max: int | None = None
    interval_width: float | None = None
    sweep_trials: dict[str, int] = {}


class PlannedFlow(PlanModel):
    """A flow of a cell's schedule: connections that carry payload from one instant after the start to another.

    `transport`, `congestion_control` and `dscp` are None where they are the cell's; `direction` is seen from the near
    side.
    """

    name: str
    start_ns: int
    stop_ns: int
    connections: int
    transport: str | None = None
    congestion_control: str | None = None
    direction: Literal["send", "receive"] = "send"
    dscp: int | None = None


class PlannedConnection(PlanModel):
    """The connection of another program that a cell of a watched result is about, as the `hosts` that were watched see
    it: the first of them has the `local` end. `direction` is that of most payload, seen from there.
    """

    program: str
    process: int | None
    local: str
    remote: str
    direction: Literal["send", "receive"]
    #: True where `local` accepted the connection; None where that is not known.
    listens: bool | None
    hosts: tuple[str, ...]
    #: True where both sockets are on one host.
    on_one_host: bool
    #: 2 is the second connection with these ends, which was opened when the first had closed.
    nth: int = 1

    @property
    def label(self) -> str:
        """It in a few words: `iperf3 10.0.0.1:40000 → 10.0.0.2:5201`; the arrow goes with the payload."""
        arrow = "→" if self.direction == "send" else "←"
        ends = f"{self.local} {arrow} {self.remote}" + (f" ({self.nth})" if self.nth > 1 else "")
        return f"{self.program} {ends}" if self.program else ends

    @property
    def service_port(self) -> str:
        """The port that stays the same when the program connects again: that of the end which accepted."""
        return (self.local if self.listens else self.remote).rpartition(":")[2]


class PlannedWatch(PlanModel):
    """The request of a watch: the `command`, and the `selection` of connections as the agent was asked for it
    (Selection in crates/schema/src/watch.rs). `far_host` is the host of the other side, where one was asked for.
    """

    command: str
    selection: dict[str, Any]
    started_realtime: str
    far_host: str | None = None


class PlannedFleet(PlanModel):
    """Many hosts that load each other at the same time: who connects to whom, and how their agents are reached.

    `far` is the far host of each pair, in the order of `Plan.near`. `groups` are the hosts by the names under which the
    user has them. `via` is the pipe to each host: `ssh`, `kubectl`, `podman`, `docker`, `srun`, or a command with
    {host}.
    """

    pattern: Pattern
    far: tuple[str, ...]
    groups: dict[str, tuple[str, ...]] = {}
    #: The work of each pair in a cell: groups of the workload or flows of the schedule; empty: all pairs do all of it.
    parts: tuple[tuple[str, ...], ...] = ()
    via: str = "ssh"
    #: Numeric addresses for data connections, and what the pipe is given in the place of a host's name: where the user
    #: has named them.
    addresses: dict[str, str] = {}
    destinations: dict[str, str] = {}


class Cell(PlanModel):
    """One combination of factor levels, all factors resolved, in the order of the factor table.

    Of a watched result it is one connection: `watched` names it. Its factors are at their defaults, and say nothing of
    a program that is not whyperf's.
    """

    id: str
    sweep: str
    factors: Factors
    #: Key of `Plan.workloads`; None where the sizes alone describe what is done.
    workload: str | None = None
    #: Flows in the order of their connections; None where all connections carry payload from start to end.
    schedule: tuple[PlannedFlow, ...] | None = None
    watched: PlannedConnection | None = None

    @property
    def setting(self) -> Factors:
        """The setting that distinguishes it from other cells: its factors, or the name of its connection."""
        return self.factors if self.watched is None else {CONNECTION: self.watched.label}


class PlannedWorkload(PlanModel):
    """The work of cells: `workload` or `datagrams` of a TrialSpec (crates/schema/src/trial.rs), seed 0."""

    name: str
    metric: Metric
    workload: Workload | None = None
    datagrams: DatagramStream | None = None

    @property
    def strands_count(self) -> int | None:
        """Virtual users of all groups; None for datagrams."""
        if self.workload is None:
            return None
        return sum(group["strands_count"] for group in self.workload["groups"])

    def part(self, groups: Sequence[str]) -> "PlannedWorkload":
        """The same of these groups alone."""
        if self.workload is None:
            return self
        kept = [group for group in self.workload["groups"] if group["name"] in groups]
        return self.model_copy(update={"workload": {**self.workload, "groups": kept}})


#: The target of a plan that is simulated.
MODEL = "model"
#: The target of a plan that was made of watched connections, and the kind of its testbed.
WATCHED: Final = "watched"
#: The testbeds of the targets that are no hosts.
_KINDS: Final[Mapping[str, Literal["veth", "loopback", "model"]]] = {
    "testbed": "veth",
    "loopback": "loopback",
    MODEL: "model",
}
#: The difference between the cells of such a plan, in the place of a factor.
CONNECTION: Final = "connection"
#: The prefix that names a trial with the segment log: its figures are never a throughput.
LOG_PREFIX = "log"
#: The prefix that names a trial with stage times: neither are its figures.
STAGES_PREFIX = "stages"
#: Trials that are not measured for their throughput.
EXTRA_PREFIXES = (LOG_PREFIX, STAGES_PREFIX)

Level = Literal["user", "counters", "segments"]


class PlannedStages(PlanModel):
    """Sampling of segments for stage times: of `one_in` blocks of the sequence space one; None: as many as cost
    little, see `whyperf.run.spec`.
    """

    one_in: int | None = Field(default=None, ge=1, le=65_536)


class PlannedTrial(NamedTuple):
    """One execution of a cell: `id` names it, `block` counts from 1, `cell` is the cell's id.

    `evidence` is what both sides are asked for (crates/schema/src/evidence.rs).
    """

    id: str
    block: int
    cell: str
    evidence: Level = "counters"
    #: Stack samples of each CPU in a second; None: none are taken.
    profile_hz: int | None = None
    #: Which segments have stage times; None: none have.
    stages: PlannedStages | None = None

    @property
    def is_log(self) -> bool:
        """True where it carries the segment log."""
        return self.evidence == "segments"

    @property
    def is_extra(self) -> bool:
        """True where its figures are never a throughput: it carries the segment log or stage times."""
        return self.is_log or self.stages is not None


class Testbed(PlanModel):
    """Where it is measured: `veth` (the embedded testbed), `loopback`, `network`, `model`: simulated, or `watched`:
    connections of other programs, wherever they were.
    """

    kind: Literal["veth", "loopback", "network", "model", "watched"]


def kind_of(target: str) -> Literal["veth", "loopback", "network", "model"]:
    """The kind of the testbed of a plan with that target."""
    return _KINDS.get(target, "network")


class Plan(PlanModel):
    """The design: what is measured, how often, in which order."""

    plan_version: Literal[1] = PLAN_VERSION
    id: str
    experiment: str
    profile: str
    about: str
    seed: int
    #: `testbed`, `loopback` or the name of the far host; of a fleet the set of far hosts, such as `node[1-4]`.
    target: str
    #: The near host of each pair; without a fleet, more than one load the far host together.
    near: tuple[str, ...] = (LOCAL,)
    fleet: PlannedFleet | None = None
    #: Groups of the workload by far host, in the order of the names in `target`; empty: all go to one far host.
    far_parts: tuple[tuple[str, ...], ...] = ()
    testbed: Testbed
    cells: tuple[Cell, ...]
    #: Factors with more than one level, in the order of the factor table.
    varied: tuple[str, ...]
    #: Each block is a random permutation of the cells that take part in it.
    blocks: tuple[tuple[str, ...], ...]
    stop: StopRule
    pause_ms: int = 0
    #: Evidence of the trials that are measured for their throughput; none in a plan from before there was a choice.
    #: A watched connection has one trial alone, and with `segments` that one carries the log.
    evidence: Level | None = None
    #: Stack samples of each CPU in a second in these trials; None: none are taken.
    profile_hz: int | None = None
    #: Like `blocks`, of trials with the segment log; they come last.
    log_blocks: tuple[tuple[str, ...], ...] = ()
    #: Like `log_blocks`, of trials with stage times, and how these are sampled.
    stage_blocks: tuple[tuple[str, ...], ...] = ()
    stages: PlannedStages | None = None
    #: The work of the cells in addition to plain streams, resolved.
    workloads: dict[str, PlannedWorkload] = Field(default_factory=dict)
    #: Changes by the command line: factors set, the parts of the profile kept, the number of trials.
    overrides: Factors = Field(default_factory=dict)
    only: tuple[str, ...] = ()
    asked_trials: int | None = None
    #: Variables of the environment that the profile took values from.
    variables: dict[str, str] = Field(default_factory=dict)
    #: Sentences a user should know about the plan, such as factors that the target cannot set.
    warnings: tuple[str, ...] = ()
    #: Where the cells are connections of other programs: what was asked for. None of an experiment of our own.
    watched: PlannedWatch | None = None

    def done_by(self, name: str, pair: int) -> tuple[PlannedWorkload | None, tuple[PlannedFlow, ...]]:
        """The work of a pair in the cell of that id: its part of the workload and of the schedule."""
        workload, schedule = self.workload(name), self.cell(name).schedule or ()
        parts = self.far_parts if self.fleet is None else self.fleet.parts
        if not parts:
            return workload, schedule
        own = parts[pair]
        return None if workload is None else workload.part(own), tuple(flow for flow in schedule if flow.name in own)

    @cached_property
    def pairs(self) -> tuple[HostPair, ...]:
        """The hosts of each pair of agents, in the order of their names in the record: near and far, near2 and far2."""
        if self.fleet is not None:
            return tuple(map(HostPair, self.near, self.fleet.far))
        far = self.target.split(",") if self.far_parts else [self.target] * len(self.near)
        return tuple(map(HostPair, self.near, far))

    @cached_property
    def _by_id(self) -> dict[str, Cell]:
        return {cell.id: cell for cell in self.cells}

    def cell(self, name: str) -> Cell:
        """The cell of that id; KeyError when there is none."""
        return self._by_id[name]

    def workload(self, name: str) -> PlannedWorkload | None:
        """The work of the cell of that id; None for a plain stream."""
        key = self.cell(name).workload
        return None if key is None else self.workloads[key]

    def trials(self) -> Iterator[PlannedTrial]:
        """Every trial, in the order of execution."""
        for number, block in enumerate(self.blocks, start=1):
            for cell in block:
                yield PlannedTrial(f"{number:03d}-{cell}", number, cell, self.evidence or "user", self.profile_hz)
        for number, block in enumerate(self.log_blocks, start=1):
            for cell in block:
                yield PlannedTrial(f"{LOG_PREFIX}{number:02d}-{cell}", number, cell, "segments")
        for number, block in enumerate(self.stage_blocks, start=1):
            for cell in block:
                name = f"{STAGES_PREFIX}{number:02d}-{cell}"
                yield PlannedTrial(name, number, cell, self.evidence or "user", stages=self.stages)

    @property
    def differing(self) -> tuple[str, ...]:
        """The differences between cells: the varied factors, or their connections."""
        return self.varied if self.watched is None or len(self.cells) == 1 else (CONNECTION,)

    @property
    def trials_count(self) -> int:
        """Trials at most; a stop rule may need fewer."""
        return sum(len(block) for block in (*self.blocks, *self.log_blocks, *self.stage_blocks))

    @property
    def log_trials_count(self) -> int:
        """Trials with the segment log among them."""
        return sum(len(block) for block in self.log_blocks)

    @property
    def stage_trials_count(self) -> int:
        """Trials with stage times among them."""
        return sum(len(block) for block in self.stage_blocks)

    @property
    def measured_trials_count(self) -> int:
        """Trials that are measured for their throughput among them."""
        return sum(len(block) for block in self.blocks)

    @property
    def is_single(self) -> bool:
        """True where a single trial is measured, trials with the segment log or stage times apart."""
        return self.measured_trials_count == 1

    def named(self, experiment: str) -> Self:
        """The same plan under another experiment's name."""
        return self.model_copy(update={"experiment": experiment})

    def to_json(self) -> str:
        """plan.json: the same plan gives the same bytes; a line a cell and a block."""
        document = self.model_dump(mode="json", exclude={"stop"})
        for part in (document, *document["cells"]):
            if part["watched"] is None:
                del part["watched"]
        if self.fleet is None:
            del document["fleet"]
        # A plan without stage times has the same bytes as one from before there were any.
        if not self.stage_blocks:
            del document["stage_blocks"], document["stages"]
        document["stop"] = self.stop.model_dump(mode="json", exclude_none=True, exclude_defaults=True)
        lines = [f'"{key}": {_listed(key, value)}' for key, value in document.items()]
        return "{\n" + ",\n".join(lines) + "\n}\n"

    @classmethod
    def from_json(cls, text: str, where: str) -> "Plan":
        """Reads plan.json.

        Raises:
            ProfileError: naming `where`, when it is damaged or of another version.
        """
        try:
            plan = parse_model(cls, text)
        except ValidationError as error:
            finding = error.errors()[0]
            key = quoted(".".join(str(part) for part in finding["loc"]))
            if key == "plan_version":
                theirs = quoted(str(finding["input"]), 40)
                problem = (
                    f"the plan is of version {theirs}, this is whyperf for version {PLAN_VERSION}; "
                    "use the whyperf that made it"
                )
                raise ProfileError(where, "", problem) from None
            problem = f"this is not a plan of version {PLAN_VERSION}: {quoted(finding['msg'])}; "
            problem += "copy the result whole, or measure into another folder"
            raise ProfileError(where, key, problem) from None
        if (contradiction := _contradiction(plan)) is not None:
            key, problem = contradiction
            raise ProfileError(where, key, f"{problem}; copy the result whole, or measure into another folder")
        if identify(plan) != plan.id:
            problem = f"its content does not have the identifier {quoted(plan.id, 40)}, so it was changed or damaged"
            raise ProfileError(where, "id", problem)
        return plan


def _contradiction(plan: Plan) -> tuple[str, str] | None:
    """Finds what no command plans, as key and sentence: a plan that would be measured elsewhere than it says, or for
    hosts that it does not have. None where all goes together.
    """
    kind, fleet, pairs_count = plan.testbed.kind, plan.fleet, len(plan.near)
    if kind != (kind_of(plan.target) if plan.watched is None else WATCHED):
        return "testbed.kind", f"a plan of the target {quoted(plan.target, 40)} is not of the kind {kind}"
    if kind != "network" and fleet is not None:
        return "fleet", f"a plan of the kind {kind} has no fleet"
    if kind not in {"network", WATCHED} and {*plan.near} != {LOCAL}:
        return "near", f"a plan of the kind {kind} has no other near host than {LOCAL}"
    if not 1 <= pairs_count <= MAX_PAIRS:
        return "near", f"it has {pairs_count:,} pairs of hosts, and a plan has 1 to {MAX_PAIRS:,}"
    if fleet is not None and (len(fleet.far) != pairs_count or len(fleet.parts) not in {0, pairs_count}):
        return "fleet", f"it does not say for each of the {pairs_count:,} near hosts what its far host is"
    return None


def identify(plan: Plan) -> str:
    """12 hexadecimal digits of the SHA-256 over everything that decides what is measured.

    Names, texts and warnings do not count, and the seed only through the order it gave.
    """
    decides = plan.model_dump(
        mode="json", include={"plan_version", "target", "testbed", "cells", "blocks", "stop", "pause_ms"}
    )
    # What a plan of an earlier version did not have counts only where it is not as usual, so that the same command
    # finds the experiment that it began.
    decides["cells"] = [_deciding(cell) for cell in decides["cells"]]
    if plan.near != (LOCAL,):
        decides["near"] = list(plan.near)
    if plan.fleet is not None:
        decides["fleet"] = plan.fleet.model_dump(mode="json", exclude={"groups", "addresses", "destinations"})
    if plan.far_parts:
        decides["far_parts"] = [list(part) for part in plan.far_parts]
    if plan.workloads:
        decides["workloads"] = plan.model_dump(mode="json", include={"workloads"})["workloads"]
    if plan.evidence == "user":
        decides["evidence"] = plan.evidence
    if plan.profile_hz is not None:
        decides["profile_hz"] = plan.profile_hz
    if plan.log_blocks:
        decides["log_blocks"] = plan.model_dump(mode="json", include={"log_blocks"})["log_blocks"]
    if plan.stage_blocks:
        decides |= plan.model_dump(mode="json", include={"stage_blocks", "stages"})
    if plan.watched is not None:
        decides["watched"] = plan.watched.model_dump(mode="json")
    canonical = json.dumps(decides, sort_keys=True, separators=(",", ":"), ensure_ascii=True)
    return hashlib.sha256(canonical.encode()).hexdigest()[:12]


def _deciding(cell: Mapping[str, Any]) -> dict[str, object]:
    """A cell without what plans of earlier versions did not have, where it is as it was then."""
    factors = {
        name: level
        for name, level in cell["factors"].items()
        if name not in BY_NAME
        or not BY_NAME[name].later
        or level not in {BY_NAME[name].default, _AUTO_BEFORE.get(name)}
    }
    kept = {key: value for key, value in cell.items() if value is not None}
    for flow in kept.get("schedule", ()):
        if flow["dscp"] is None:
            del flow["dscp"]
    return kept | {"factors": factors}


#: The level that a word stood for before it was a factor.
_AUTO_BEFORE = {"io_model": "blocking"}


def _listed(key: str, value: object) -> str:
    if key in {"cells", "blocks", "log_blocks", "stage_blocks"} and isinstance(value, list) and value:
        return "[\n " + ",\n ".join(json.dumps(entry, ensure_ascii=False) for entry in value) + "\n]"
    return json.dumps(value, ensure_ascii=False)
