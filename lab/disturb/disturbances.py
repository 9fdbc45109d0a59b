"""The disturbances, as data: each names the side that it acts on, and when.

Times count from the first progress of the trial's load. Without `after_s` and `every_s` a disturbance is there before
the connections are opened, so it affects the handshake, too.
"""

from typing import Annotated, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

from whyperf.disturb.orders import Place, Side

MAX_PAUSE_S = 2.0
"""A side that is stopped for longer counts as gone: its agent sends no heartbeat."""


INSTRUCTIONS = 2000
"""Of a program of `Classifiers`: a message of tc(8) has 16 KB, and an instruction 8 bytes."""


class Timed(BaseModel):
    """When a disturbance acts: from `after_s` on for `for_s`, again every `every_s`; without `for_s` until the end."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    host: Side
    after_s: float = Field(default=0.0, ge=0, le=600)
    for_s: float | None = Field(default=None, gt=0, le=600)
    every_s: float | None = Field(default=None, gt=0, le=600)

    @model_validator(mode="after")
    def _has_times_that_fit(self) -> Self:
        if self.every_s is not None and (self.for_s is None or self.for_s >= self.every_s):
            raise ValueError("every_s needs a for_s that is shorter")
        return self


class Burn(Timed):
    """Programs that only compute, so many on each CPU of the side."""

    kind: Literal["burn"] = "burn"
    programs: int = Field(ge=1, le=64)


class CpuQuota(Timed):
    """The side's agent may use so many CPUs on average (CFS bandwidth control, `cpu.cfs_quota_us`)."""

    kind: Literal["cpu_quota"] = "cpu_quota"
    cpus: float = Field(gt=0, le=64)
    period_ms: int = Field(default=100, ge=1, le=1000)


class MemoryLimit(Timed):
    """The sockets of the side's agent may use so much memory (`memory.kmem.tcp.limit_in_bytes`)."""

    kind: Literal["memory_limit"] = "memory_limit"
    tcp_bytes: int = Field(ge=4096, le=1 << 40)


class Pause(Timed):
    """The side's load is stopped (SIGSTOP) and continued."""

    kind: Literal["pause"] = "pause"

    @model_validator(mode="after")
    def _ends(self) -> Self:
        if self.for_s is None or self.for_s > MAX_PAUSE_S:
            raise ValueError(f"a pause needs for_s, at most {MAX_PAUSE_S} s")
        if not self.after_s and self.every_s is None:
            raise ValueError("a pause starts while the load runs: give after_s")
        return self


class Firewall(Timed):
    """Rules of nftables in the side's namespace, at a hook of the family `inet`; all of them `repeat` times."""

    kind: Literal["firewall"] = "firewall"
    hook: Literal["input", "output"]
    rules: tuple[str, ...] = Field(min_length=1)
    repeat: int = Field(default=1, ge=1, le=10_000)


class Queue(Timed):
    """A queueing discipline as root of the side's device, in the words of tc-qdisc(8)."""

    kind: Literal["queue"] = "queue"
    discipline: str = Field(min_length=1)


class Route(Timed):
    """Options of the side's route to the other side's address, in the words of ip-route(8), such as `initcwnd 2`."""

    kind: Literal["route"] = "route"
    options: str = Field(min_length=1)


class Classifiers(Timed):
    """BPF programs at the side's device, which look at each packet that arrives and let it pass (tc-bpf(8)).

    Each executes all of its `INSTRUCTIONS`.
    """

    kind: Literal["classifiers"] = "classifiers"
    programs: int = Field(ge=1, le=1000)


class Sysctl(Timed):
    """Kernel parameters of the side's network namespace."""

    kind: Literal["sysctl"] = "sysctl"
    settings: dict[str, str] = Field(min_length=1)


class Traffic(Timed):
    """Connections of another program, which this side sends over to the other side.

    `rate_bps` bounds each connection of TCP, and is the rate of all datagrams of UDP.
    """

    kind: Literal["traffic"] = "traffic"
    protocol: Literal["tcp", "udp"] = "tcp"
    connections: int = Field(default=1, ge=1, le=256)
    rate_bps: int | None = Field(default=None, ge=1000)

    @model_validator(mode="after")
    def _has_a_rate(self) -> Self:
        if self.protocol == "udp" and self.rate_bps is None:
            raise ValueError("traffic over UDP needs rate_bps")
        return self


Disturbance = Annotated[
    Burn | CpuQuota | MemoryLimit | Pause | Firewall | Queue | Route | Classifiers | Sysctl | Traffic,
    Field(discriminator="kind"),
]


class Orders(BaseModel):
    """The orders of a keeper: the disturbances, and the sides by name."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    disturbances: tuple[Disturbance, ...]
    places: dict[str, Place]
