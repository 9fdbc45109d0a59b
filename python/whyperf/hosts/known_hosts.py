"""Known facts of hosts: their names, how ssh and data reach them, and their groups."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from ipaddress import ip_address

from whyperf.foreign import quoted

LOCAL = "local"
"""Names this host among those of near sides."""
MAX_HOSTS = 1024
"""Hosts that a set may have. Each takes an agent, and a process of ssh on this host."""
MAX_HOST_LENGTH = 320
MAX_KNOWN = 65_536
"""Different hosts of an inventory. It bounds memory: 200 bytes of a file can name as many, each with variables."""
MAX_NAMED = 500_000
"""Hosts that a file or a set may name in all its groups and terms together. It bounds time and memory."""
_HOST = re.compile(
    r"(?:[A-Za-z0-9_][A-Za-z0-9_.%+@-]*@)?(?:[A-Za-z0-9_:][A-Za-z0-9_.:%-]*|\[(?P<address>[A-Za-z0-9_.:%-]+)\])"
)
"""Form of a destination of ssh, with nothing that it could take for an option; brackets stand around an address."""
SHOWN_LENGTH = 60
"""Of a text of the user that a sentence quotes."""


class HostSetError(ValueError):
    """A set of hosts, a pattern or an inventory that cannot be used: one sentence, with what to do."""

    def __init__(self, where: str, problem: str) -> None:
        """`where` is an option, or a file and a place in it."""
        super().__init__(f"{quoted(where)}: {problem}")


def is_usable_host(host: str) -> bool:
    """True where ssh takes it as a destination, and can take it for nothing else."""
    if len(host) > MAX_HOST_LENGTH or (match := _HOST.fullmatch(host)) is None:
        return False
    return match["address"] is None or is_numeric(match["address"])


def is_numeric(address: str) -> bool:
    """True where it is a numeric address, IPv4 or IPv6."""
    try:
        ip_address(address)
    except ValueError:
        return False
    return True


def shown(text: str) -> str:
    """A text of the user or of a file, as a sentence has it."""
    return f'"{quoted(text, SHOWN_LENGTH)}"'


class NamedHosts:
    """Counts the hosts that a file or a set names, each time it names them."""

    def __init__(self, where: str) -> None:
        """`where` is named in the error."""
        self._where = where
        self._count = 0

    def add(self, count: int) -> None:
        """Counts `count` more.

        Raises:
            HostSetError: there are over `MAX_NAMED`.
        """
        self._count += count
        if self._count > MAX_NAMED:
            raise HostSetError(self._where, f"it names over {MAX_NAMED:,} hosts; leave out what is not measured")


@dataclass(frozen=True)
class KnownHost:
    """Entry of an inventory for a host.

    `destination` is what ssh is given in place of the name, `address` the numeric address for data connections; None:
    the name itself, and what ssh would connect to. `refused` says why whyperf cannot use the host, and what to do.
    """

    destination: str | None = None
    address: str | None = None
    refused: str | None = None


@dataclass(frozen=True)
class Inventory:
    """Hosts and groups of a file; `where` names the file, and is empty where there is none.

    A host that is a member of a group need not be among `hosts`.
    """

    groups: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    hosts: Mapping[str, KnownHost] = field(default_factory=dict)
    where: str = ""

    def destination(self, name: str) -> str:
        """Destination that ssh is given for a host.

        Raises:
            HostSetError: the inventory has something for the host that whyperf cannot do.
        """
        known = self.hosts.get(name, KnownHost())
        if known.refused is not None:
            raise HostSetError(self.where, f"{quoted(name, SHOWN_LENGTH)} has {known.refused}")
        return known.destination or name

    def address(self, name: str) -> str | None:
        """The numeric address for data connections to a host; None: what ssh would connect to."""
        return self.hosts.get(name, KnownHost()).address
