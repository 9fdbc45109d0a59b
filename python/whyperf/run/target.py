"""Where an experiment runs."""

from dataclasses import dataclass
from enum import StrEnum

from whyperf.plan import LOCAL, PlannedFleet


class Kind(StrEnum):
    """The way that the two ends are joined."""

    VETH = "veth"
    LOOPBACK = "loopback"
    NETWORK = "network"


@dataclass(frozen=True)
class Target:
    """Which ends: the embedded testbed (or the loopback), or this host and another.

    ``kind`` None on the embedded testbed takes the veth testbed where the host allows it and the loopback where not.
    ``address`` is the far host's numeric address for data connections, found by its ssh name when absent; ``port`` is
    the port it listens on, 0 for any. `near` are the near hosts, each with an agent of its own and a far
    agent for it: several load the far host together. The embedded testbed and the loopback have local ones only.
    With a `fleet` each near host has a far host of its own, and `host` names all of them together.
    """

    kind: Kind | None = None
    host: str | None = None
    address: str | None = None
    port: int = 0
    near: tuple[str, ...] = (LOCAL,)
    fleet: PlannedFleet | None = None

    @property
    def hosts(self) -> list[str | None]:
        """The hosts of all ends as for ssh, each once; None for this one."""
        names = [None if near == LOCAL else near for near in self.near]
        far: list[str | None] = [None] if self.host is None else [*self.host.split(",")]
        if self.fleet is not None:
            far = [None if name == LOCAL else name for name in self.fleet.far]
        return list(dict.fromkeys([*names, *far]))

    @property
    def destinations(self) -> list[str | None]:
        """The same as their pipe names them."""
        names = {} if self.fleet is None else self.fleet.destinations
        return [host if host is None else names.get(host, host) for host in self.hosts]

    @property
    def is_by_ssh(self) -> bool:
        """True where other hosts are reached by ssh."""
        return self.fleet is None or self.fleet.via == "ssh"

    @property
    def name(self) -> str:
        """The target as the plan names it."""
        if self.host is not None:
            return self.host
        return "loopback" if self.kind is Kind.LOOPBACK else "testbed"
