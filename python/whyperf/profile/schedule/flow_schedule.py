"""The model of a flow schedule, and the regions that it makes."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

from whyperf.profile.factor import Level

#: The level of the factor `schedule` of a trial whose connections all carry payload from start to end.
NO_SCHEDULE = "none"

Direction = Literal["send", "receive"]


@dataclass(frozen=True)
class Flow:
    """Connections that carry payload from `start_s` to `stop_s` after the start of the load.

    `transport`, `congestion_control` and `dscp` are None where they are the cell's. `direction` is seen from the near
    side. Both sides mark their packets with `dscp`.
    """

    name: str
    start_s: float
    stop_s: float
    connections: int = 1
    transport: str | None = None
    congestion_control: str | None = None
    direction: Direction = "send"
    dscp: int | None = None


@dataclass(frozen=True)
class Schedule:
    """A schedule: `make` gives its flows, unscaled, for the factors named in `uses`."""

    name: str
    about: str
    uses: frozenset[str]
    make: Callable[[Mapping[str, Level]], tuple[Flow, ...]]


@dataclass(frozen=True)
class Region:
    """A time in which the same flows are at work; `number` counts from 1, `flows` are positions in the schedule."""

    number: int
    start_ns: int
    stop_ns: int
    flows: tuple[int, ...]


def regions(active: Sequence[tuple[int, int]]) -> tuple[Region, ...]:
    """The regions between all starts and stops, `active` being the times in ns at which each flow is active.

    A time without any flow is a region too, so that the numbers cover the whole trial.
    """
    instants = sorted({instant for times in active for instant in times} | {0})
    spans = pairwise(instants)
    return tuple(
        Region(
            number,
            start,
            stop,
            tuple(flow for flow, (first, last) in enumerate(active) if first <= start and stop <= last),
        )
        for number, (start, stop) in enumerate(spans, start=1)
    )
