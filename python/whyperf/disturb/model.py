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


class Place(BaseModel):
    """Where a side is: the process of its agent, which is in the side's namespace, its CPUs, its IPv4 address."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    process: int
    cpus: tuple[int, ...]
    address: str = ""


class Orders(BaseModel):
    """What a keeper is to do: the disturbances, and the sides by name."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    disturbances: tuple[Firewall, ...]
    places: dict[str, Place]
