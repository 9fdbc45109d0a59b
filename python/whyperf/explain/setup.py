"""Setup of a trial: the factors of its cell, where it ran, and its hosts.

No limit sees any of it. It names changes and bounds predicted gains, once the verdicts stand.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from whyperf.explain.explanation import Level
from whyperf.plan import WATCHED
from whyperf.plan.on_model import KNOWN, NEUTRAL
from whyperf.profile import BY_NAME, Factors, ProfileError, Schedule, Workload, resolve
from whyperf.profile.combination import PHASES
from whyperf.profile.path import has_path, packet_bytes, queue_bytes, rates_bps
from whyperf.profile.path_factors import PATH_FACTORS
from whyperf.profile.path_levels import loss_of
from whyperf.profile.schedule import NO_SCHEDULE

Kind = Literal["veth", "loopback", "network", "model", "watched"]
Facts = Mapping[str, Any]
LINUX, SUNOS = "linux", "sunos-4.1"


@dataclass(frozen=True)
class Setup:
    """Known facts of a trial in addition to its evidence.

    Attributes:
        factors: of the cell, as the plan resolved them; one that is not there is at its default.
        testbed: where it ran.
        hosts: the record's facts of each host by near and far, and `devices` those of the device that carried most
            packets there.
        workloads: the profile's own, and `schedules` likewise.
        command: what a watch started and watched, as for a shell; "" where it is none, cannot be printed in a line, or
            is somebody else's.
        knows_path_rate: whether the rate of the emulated path bounds a predicted gain.
    """

    factors: Mapping[str, Level] = field(default_factory=dict)
    testbed: Kind = "veth"
    hosts: Mapping[str, Facts] = field(default_factory=dict)
    devices: Mapping[str, Facts] = field(default_factory=dict)
    workloads: Mapping[str, Workload] = field(default_factory=dict)
    schedules: Mapping[str, Schedule] = field(default_factory=dict)
    command: str = ""
    knows_path_rate: bool = True

    def level(self, name: str) -> Level:
        """The factor's level in the cell."""
        return self.factors.get(name, BY_NAME[name].default)

    def has(self, name: str, level: Level) -> bool:
        """True where the cell has what the level asks for: the same, the same in other words, or a larger queue."""
        now = self.level(name)
        if BY_NAME[name].kind == "loss" and _is_lossless(level):
            return _is_lossless(now)
        if name == "path_queue" and (rate := rates_bps(self._path())[0]) is not None:
            held, wanted = (queue_bytes({**self._path(), name: queue}, rate) for queue in (now, level))
            return held >= wanted
        return now == level

    def possible(self, change: Mapping[str, Level]) -> dict[str, Level]:
        """The part of a change that the planner takes for this cell, and that changes it. No plan changes another
        program.
        """
        if self.testbed == WATCHED:
            return {}
        part = {name: level for name, level in change.items() if self._can_set(name) and not self.has(name, level)}
        while part:
            try:
                part = {name: BY_NAME[name].check(level) for name, level in part.items()}
                self.stated(part)
            except ProfileError as error:
                if error.key not in part:
                    return {}
                del part[error.key]
            else:
                break
        return part

    def stated(self, change: Mapping[str, Level]) -> Factors:
        """The factors to state for a cell that is this one with the change.

        The plan resolved those of a cell, and some may not be stated though they have a level: those of a probe
        that is not there, or, with a change, of a path that is no longer there. They follow from the others.

        Raises:
            ProfileError: the change is not possible here.
        """
        stated = {**self.factors, **change}
        if stated.get("schedule", NO_SCHEDULE) != NO_SCHEDULE:
            stated = {name: level for name, level in stated.items() if name not in PHASES}
        if self.testbed == "model":
            stated = {name: level for name, level in stated.items() if self._is_of_model(name, level)}
        while True:
            try:
                resolve(
                    stated,
                    testbed=self.testbed == "veth",
                    model=self.testbed == "model",
                    own=self.workloads,
                    schedules=self.schedules,
                )
            except ProfileError as error:
                # Without its schedule it would be another load.
                if error.key not in stated or error.key in {*change, "schedule"}:
                    raise
                del stated[error.key]
            else:
                return stated

    def path_bps(self, *, is_turned: bool) -> float | None:
        """The rate of the emulated path in the payload's direction, Ethernet headers included; None without one."""
        if not self.knows_path_rate or not has_path(self._path()):
            return None
        return rates_bps(self._path())[1 if is_turned else 0]

    def _can_set(self, name: str) -> bool:
        """True where a plan can set the factor there."""
        if self.testbed == "model":
            return name in KNOWN and not (name == "quick_ack" and SUNOS in self._systems())
        return self.testbed == "veth" or not BY_NAME[name].testbed

    @property
    def has_linux_only(self) -> bool:
        """True where commands and limits of Linux are those of the hosts: the model has others, too."""
        return self._systems() <= {LINUX}

    def _systems(self) -> set[str]:
        """Operating systems of the model's hosts in this cell; Linux where nothing is simulated."""
        writer, _, reader = str(self.level("hosts")).partition(",")
        parameters = [facts.get("parameters", {}) for facts in self.hosts.values()]
        known = (of_host.get(name, {}) for of_host in parameters for name in (writer, reader))
        return {host["system"] for host in known if "system" in host} or {LINUX}

    @staticmethod
    def _is_of_model(name: str, level: Level) -> bool:
        """True where the model takes the level; others are in a cell because they follow, as epoll from connections."""
        return name in KNOWN or level in {BY_NAME[name].default, *NEUTRAL.get(name, ())}

    def bottleneck(self) -> tuple[int, int] | None:
        """Rate of the emulated path forward in bit/s, and the packets that its queue holds; None without one."""
        rate = rates_bps(self._path())[0]
        return None if rate is None else (rate, queue_bytes(self._path(), rate) // packet_bytes(self._path()))

    def _path(self) -> Factors:
        names = (*(factor.name for factor in PATH_FACTORS), "mtu_bytes")
        return {name: self.level(name) for name in names}


def _is_lossless(level: Level) -> bool:
    loss = loss_of(level)
    return loss is None or loss.share == 0 or (loss.bursts is not None and loss.bursts[0] == 0 == loss.bursts[3])
