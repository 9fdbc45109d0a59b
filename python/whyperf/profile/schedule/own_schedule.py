"""Reads the table `[schedule]` of a profile: a schedule of its own."""

from collections.abc import Mapping
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError
from pydantic_core import ErrorDetails

from whyperf.profile.errors import ProfileError, joined, suggestion
from whyperf.profile.factor import CONGESTION_NAME, Level
from whyperf.profile.schedule.flow_schedule import NO_SCHEDULE, Flow, Schedule
from whyperf.profile.schedule.shipped import SHIPPED

NAME = r"^[a-z0-9]([a-z0-9-]*[a-z0-9])?$"
MAX_FLOWS = 64
MAX_CONNECTIONS = 1000
LONGEST_S = 604_800


class _Table(BaseModel):
    model_config = ConfigDict(strict=True, extra="forbid", frozen=True)


class FlowTable(_Table):
    """`[[schedule.flow]]`."""

    name: str | None = Field(default=None, min_length=1, max_length=40)
    start_s: float = Field(ge=0, le=LONGEST_S)
    stop_s: float = Field(ge=0, le=LONGEST_S)
    connections: int = Field(default=1, ge=1, le=MAX_CONNECTIONS)
    transport: str | None = None
    congestion_control: str | None = Field(default=None, pattern=f"^{CONGESTION_NAME.pattern}$")
    direction: Literal["send", "receive"] = "send"
    dscp: int | None = Field(default=None, ge=0, le=63)


class ScheduleTable(_Table):
    """`[schedule]`."""

    name: str = Field(pattern=NAME, max_length=40)
    about: str = ""
    flow: list[FlowTable] = Field(default=[], max_length=MAX_FLOWS)


def read_schedule(table: Mapping[str, Any]) -> Schedule:
    """The schedule that a profile carries.

    Raises:
        ProfileError: with the key inside the table, when it cannot be read or has no flow.
    """
    try:
        read = ScheduleTable.model_validate(table)
    except ValidationError as error:
        raise joined([_problem(finding) for finding in error.errors()]) from None
    if read.name in SHIPPED or read.name == NO_SCHEDULE:
        raise ProfileError("", "name", f"{read.name} is a shipped schedule; choose another name")
    if not read.flow:
        raise ProfileError("", "flow", "the schedule has no flow; add [[schedule.flow]] with start_s and stop_s")
    names = [flow.name or f"flow {number}" for number, flow in enumerate(read.flow, start=1)]
    for name in names:
        if names.count(name) > 1:
            raise ProfileError("", "flow", f'two flows have the name "{name}"; rename one')
    flows = tuple(Flow(name, **flow.model_dump(exclude={"name"})) for name, flow in zip(names, read.flow, strict=True))

    def make(_: Mapping[str, Level]) -> tuple[Flow, ...]:
        return flows

    return Schedule(read.name, read.about.strip(), frozenset({"schedule_scale"}), make)


def _problem(finding: ErrorDetails) -> ProfileError:
    parts = [str(part + 1) if isinstance(part, int) else part for part in finding["loc"]]
    key = ".".join(parts)
    match finding["type"]:
        case "extra_forbidden":
            tables = FlowTable if len(parts) > 1 else ScheduleTable
            problem = f"there is no such key{suggestion(parts[-1], tables.model_fields)}"
        case "missing":
            problem = "this key is missing; add it"
        case "too_long":
            problem = f"there are over {MAX_FLOWS} flows; have fewer, with more connections each"
        case _:
            message = finding["msg"]
            problem = f"{finding['input']!r} does not fit: {message[:1].lower()}{message[1:]}"
    return ProfileError("", key, problem)
