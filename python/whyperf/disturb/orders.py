"""The orders of a keeper, as data."""

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

Side = Literal["near", "far"]


class Firewall(BaseModel):
    """Rules of nftables in the side's namespace, at a hook of the family `inet`; all of them `repeat` times."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    kind: Literal["firewall"] = "firewall"
    host: Side
    hook: Literal["input", "output"]
    rules: tuple[str, ...] = Field(min_length=1)
    repeat: int = Field(default=1, ge=1, le=10_000)


class Namespace(BaseModel):
    """Settings of the network namespace that the keeper is in, and a congestion control of its routes to `peers`."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    kind: Literal["namespace"] = "namespace"
    settings: dict[str, str] = Field(default_factory=dict)
    control: str = ""
    peers: tuple[str, ...] = ()


class Place(BaseModel):
    """Where a side is: the process of its agent, which is in the side's namespace, its CPUs, its IPv4 address."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    process: int
    cpus: tuple[int, ...]
    address: str = ""


class Orders(BaseModel):
    """The orders of a keeper: the disturbances, and the sides by name."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    disturbances: tuple[Firewall | Namespace, ...]
    places: dict[str, Place]
