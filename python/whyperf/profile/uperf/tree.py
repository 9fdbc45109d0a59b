"""The content of a uperf profile, element by element."""

from dataclasses import dataclass, field

from whyperf.profile.uperf.options import Options


@dataclass
class Flowop:
    """A flowop: its type as written, lower-cased; empty until one is given."""

    line: int
    type: str = ""
    options: Options = field(default_factory=Options)


@dataclass
class Transaction:
    """Flowops and how often they are executed."""

    line: int
    iterations: int = 1
    #: Takes the place of `iterations`.
    duration_ns: int | None = None
    #: Executions a second of each virtual user; 0: as fast as it can.
    rate: int = 0
    flowops: list[Flowop] = field(default_factory=list)


@dataclass
class Group:
    """Virtual users that execute the same transactions."""

    line: int
    name: str
    strands: int = 0
    are_processes: bool = False
    transactions: list[Transaction] = field(default_factory=list)


@dataclass
class Tree:
    """The whole profile, and what should be known of how it was read."""

    name: str = ""
    groups: list[Group] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
