"""The model of a profile: the TOML file's structure, and the profile made from it."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Literal, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

from whyperf.hosts import MAX_HOSTS, Pattern
from whyperf.profile.factors import BY_NAME, Level
from whyperf.profile.levels import as_list
from whyperf.profile.schedule import NO_SCHEDULE, Schedule
from whyperf.profile.workload import Workload

TestbedKind = Literal["auto", "veth", "loopback"]
#: The kinds of pipes. A profile may be somebody else's, so it never has a command: `--via` takes one, too.
Pipe = Literal["ssh", "kubectl", "podman", "docker", "srun", "netns", "adapters"]
Factors = dict[str, Level]
#: The settings of a command line: one level for all cells, or several, which make cells.
Overrides = Mapping[str, Level | tuple[Level, ...]]

SWEEP_NAME = r"^[a-z0-9]([a-z0-9-]*[a-z0-9])?$"
MAX_TRIALS = 100_000
MAX_LOG_TRIALS = 99
#: Stack samples of a CPU in a second: the usual number, a prime, so that no other clock beats with it, and the highest:
#: at more of them a CPU would do little else.
PROFILE_HZ, MAX_PROFILE_HZ = 997, 20_000


class Table(BaseModel):
    """A table of the file: nothing is converted, nothing unknown passes."""

    model_config = ConfigDict(strict=True, extra="forbid", frozen=True)


class TestbedTable(Table):
    """`[testbed]`: where to measure when the command line names no host."""

    kind: TestbedKind = "auto"


class DesignTable(Table):
    """`[design]`: how often, and when it is enough."""

    trials: int | None = Field(default=None, ge=1, le=MAX_TRIALS)
    trials_min: int | None = Field(default=None, ge=3, le=MAX_TRIALS)
    trials_max: int | None = Field(default=None, ge=3, le=MAX_TRIALS)
    interval_width: float | None = Field(default=None, gt=0, le=10)
    pause_ms: int = Field(default=0, ge=0, le=3_600_000)
    log_trials: int = Field(default=0, ge=0, le=MAX_LOG_TRIALS)
    stage_trials: int = Field(default=0, ge=0, le=MAX_LOG_TRIALS)
    profile_hz: int = Field(default=0, ge=0, le=MAX_PROFILE_HZ)

    @model_validator(mode="after")
    def _one_rule(self) -> Self:
        sequential = (self.trials_min, self.trials_max, self.interval_width)
        if self.trials is not None:
            if sequential != (None, None, None):
                raise ValueError("give trials, or trials_min, trials_max and interval_width, not both")
        elif sequential != (None, None, None):
            if self.interval_width is None or self.trials_max is None:
                raise ValueError("a stop rule needs trials_max and interval_width")
            if self.trials_max < (self.trials_min or 3):
                raise ValueError("trials_max is below trials_min; swap them")
        return self


#: Where a sweep is measured: on hosts by `whyperf run`, or on their model by `whyperf model simulate`.
RunsOn = Literal["hosts", "model"]


class SweepTable(Table):
    """`[[sweep]]`: factors whose levels are combined."""

    name: str = Field(default="main", pattern=SWEEP_NAME, max_length=40)
    fixed: dict[str, object] = {}
    factors: dict[str, object] = {}
    trials: int | None = Field(default=None, ge=1, le=MAX_TRIALS)
    log_trials: int | None = Field(default=None, ge=0, le=MAX_LOG_TRIALS)
    stage_trials: int | None = Field(default=None, ge=0, le=MAX_LOG_TRIALS)
    on: RunsOn | None = None
    exclude: list[dict[str, object]] = []


class FleetTable(Table):
    """`[fleet]`: which hosts load which, where the command line does not say so, and what each does.

    `loads` has groups of the workload, or flows of the schedule, by sets of near hosts. `near_hosts` is how many near
    hosts the question is about.
    """

    from_: str | None = Field(default=None, alias="from", min_length=1)
    to: str | None = Field(default=None, min_length=1)
    pattern: Pattern | None = None
    via: Pipe | None = None
    loads: dict[str, list[str]] = {}
    near_hosts: int | None = Field(default=None, ge=1, le=MAX_HOSTS)


class ProfileTable(Table):
    """The whole file."""

    about: str = ""
    seed: int = Field(default=1995, ge=0, le=2**63 - 1)
    testbed: TestbedTable = TestbedTable()
    fixed: dict[str, object] = {}
    design: DesignTable = DesignTable()
    sweep: list[SweepTable] = []
    workload: dict[str, object] | None = None
    schedule: dict[str, object] | None = None
    fleet: FleetTable = FleetTable()


@dataclass(frozen=True)
class Design:
    """The number of times that each cell is measured: `trials`, or until its interval is narrow enough."""

    trials: int | None = 1
    trials_min: int = 3
    trials_max: int = 3
    interval_width: float = 0.05
    pause_ms: int = 0
    #: Trials of each cell, in addition to the others, in which every segment is logged.
    log_trials: int = 0
    #: Trials of each cell, in addition to the others, in which sampled segments have the time of each stage.
    stage_trials: int = 0
    #: Stack samples of each CPU in a second, in the trials without the log; 0: none.
    profile_hz: int = 0

    @property
    def most_trials(self) -> int:
        """Trials of a cell at most."""
        return self.trials if self.trials is not None else self.trials_max


@dataclass(frozen=True)
class Sweep:
    """Factors whose levels are combined; `levels` may hold references such as `=write_size_bytes`."""

    name: str
    fixed: Factors
    levels: dict[str, tuple[Level, ...]]
    trials: int | None = None
    #: A cell is left out when, in one of these, every factor has one of the levels given.
    exclude: tuple[dict[str, tuple[Level, ...]], ...] = ()
    log_trials: int | None = None
    stage_trials: int | None = None
    #: The only place where it is measured; None: anywhere.
    on: RunsOn | None = None


@dataclass(frozen=True)
class Profile:
    """A question, checked factor by factor; whether the factors go together is the plan's check."""

    name: str
    #: The file as the user would name it, for messages.
    where: str
    text: str
    about: str
    seed: int
    kind: TestbedKind
    fixed: Factors
    design: Design
    sweeps: tuple[Sweep, ...]
    #: Levels where nobody gave one, instead of the factors' defaults: those that the hosts do not allow.
    usual: Factors = field(default_factory=dict)
    #: Settings of the command line, already worked into `fixed` and `sweeps`; several levels as `--set` takes them.
    overrides: Factors = field(default_factory=dict)
    #: Workloads in addition to the shipped ones, by the name that the factor `workload` takes.
    workloads: Mapping[str, Workload] = field(default_factory=dict)
    #: Schedules in addition to the shipped ones, by the name that the factor `schedule` takes.
    schedules: Mapping[str, Schedule] = field(default_factory=dict)
    #: Sentences a user should know of how it was read.
    notes: tuple[str, ...] = ()
    #: Far hosts that it names by itself, as uperf's profiles do.
    far_hosts: tuple[str, ...] = ()
    #: Names of the groups of each of these hosts; empty where not each group has one of several.
    far_parts: tuple[tuple[str, ...], ...] = ()
    #: Variables of the environment that it took values from.
    variables: Mapping[str, str] = field(default_factory=dict)
    #: Hosts that load each other, and what each does.
    fleet: FleetTable = field(default_factory=FleetTable)

    @property
    def is_of_model(self) -> bool:
        """True where it names hosts of the model, so that it cannot be measured."""
        named = [*self.fixed, *(name for sweep in self.sweeps for name in (*sweep.fixed, *sweep.levels))]
        return "hosts" in named

    def with_workload(self, workload: Workload) -> "Profile":
        """The same question asked of another workload, which may be none of the shipped ones.

        A workload that ends by itself takes the place of the phases and of `transfer_bytes`.
        """
        changed = replace(self, workloads={**self.workloads, workload.name: workload})
        if workload.ends_itself:
            changed = changed._without({"transfer_bytes"} | {name for name, factor in BY_NAME.items() if factor.timed})
        return changed.with_overrides({"workload": workload.name})

    def with_overrides(self, overrides: Overrides) -> "Profile":
        """The same question with some factors set to one level, or varied over several, in every sweep.

        Setting `transfer_bytes` takes the place of `duration_s` and its phases, and the other way round; setting
        `schedule` takes the place of both.
        """
        dropped = set(overrides)
        if overrides.get("schedule", NO_SCHEDULE) != NO_SCHEDULE:
            ends = {"transfer_bytes"} | {name for name, factor in BY_NAME.items() if factor.timed}
            dropped |= ends - set(overrides)
        if overrides.get("transfer_bytes", "default") != "default":
            dropped |= {name for name, factor in BY_NAME.items() if factor.timed} - set(overrides)
        elif "duration_s" in overrides:
            dropped.add("transfer_bytes")
        kept = self._without(dropped)
        varied = {name: level for name, level in overrides.items() if isinstance(level, tuple)}
        fixed = {name: level for name, level in overrides.items() if not isinstance(level, tuple)}
        return replace(
            kept,
            fixed=kept.fixed | fixed,
            sweeps=tuple(replace(sweep, levels=sweep.levels | varied) for sweep in kept.sweeps),
            overrides=self.overrides | fixed | {name: as_list(levels) for name, levels in varied.items()},
        )

    def _without(self, dropped: set[str]) -> "Profile":
        """The same question without some factors."""
        sweeps = tuple(
            replace(
                sweep,
                fixed={name: level for name, level in sweep.fixed.items() if name not in dropped},
                levels={name: levels for name, levels in sweep.levels.items() if name not in dropped},
            )
            for sweep in self.sweeps
        )
        return replace(
            self, fixed={name: level for name, level in self.fixed.items() if name not in dropped}, sweeps=sweeps
        )
