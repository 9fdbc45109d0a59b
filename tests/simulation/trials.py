"""A trial on the simulated hosts: what each side does, and the connections between them. And a watch of one host."""

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from tests.simulation.virtual_time import SECOND_NS

if TYPE_CHECKING:
    from tests.simulation.hosts import SimulatedAgent

MS = 1_000_000
#: ARCHITECTURE.md: an agent never outlives its pipe by more than this.
OUTLIVES_NS = 2 * SECOND_NS
#: docs/reference/protocol.md and END_GRACE_NS: when the pipe closes the load stops, if it does not hang.
STOPS_NS = SECOND_NS
#: ARCHITECTURE.md: a living agent is never silent for longer.
SILENT_NS = SECOND_NS
#: How long a process runs at most with which a watch ends.
MAX_PROCESS_S = 4


class InvariantError(AssertionError):
    """An invariant of ARCHITECTURE.md does not hold."""


@dataclass
class Link:
    """The data connections of one trial: what both sides did over them, by the label of their agent."""

    serial: int
    trial: str
    sides: dict[str, "HostTrial"]
    planned_ns: dict[str, int] = field(default_factory=dict)
    started_ns: dict[str, int] = field(default_factory=dict)
    outcomes: dict[str, dict[str, Any]] = field(default_factory=dict)
    tables: dict[tuple[str, str], bytes] = field(default_factory=dict)
    broken: str | None = None

    @property
    def payload_bytes(self) -> int:
        """Different in every trial."""
        return 1_000_000 + self.serial


@dataclass
class HostTrial:
    """A trial on one host."""

    agent: "SimulatedAgent"
    spec: dict[str, Any]
    number: int = 0
    port: int = 0
    link: Link | None = None
    is_opening: bool = False
    is_loading: bool = False
    is_aborted: bool = False
    is_over: bool = False
    request: int = 0


@dataclass
class HostWatch:
    """A watch on one host. Nothing is under way any more once `is_over`."""

    spec: dict[str, Any]
    number: int
    request: int
    #: Reports without connections, before the first one that has some.
    empty_reports: int
    reports: int = 0
    is_over: bool = False
    finished: dict[str, Any] | None = None
    tables: dict[str, bytes] = field(default_factory=dict)
