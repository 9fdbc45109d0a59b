"""Many hosts on the command line: `--from`, `--to`, `--pattern`, `--hosts` and `--via`."""

from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from whyperf.cli.exits import UsageError
from whyperf.plan import LOCAL, HostPair, PlannedFleet
from whyperf.profile.profile_document import FleetTable
from whyperf.run import Kind, Target

_OF_SETS = frozenset("[@!&^")
"""Characters that only sets have (docs/reference/hosts.md)."""


@dataclass(frozen=True)
class AskedFleet:
    """The options about many hosts; `near` and `to` are sets as whyperf.hosts reads them."""

    near: str | None = None
    to: str | None = None
    pattern: str | None = None
    inventory: Path | None = None
    via: str | None = None
    #: The loads that the profile gives near hosts, by sets of them.
    loads: Mapping[str, Sequence[str]] = field(default_factory=dict)

    def with_defaults(self, table: FleetTable, host: str | None) -> "AskedFleet":
        """The same, with what the profile says where no option does; a host on the command line is the only far one."""
        if host is not None:
            return replace(self, loads=table.loads)
        return replace(
            self,
            near=table.from_ if self.near is None else self.near,
            to=table.to if self.to is None else self.to,
            pattern=self.pattern or table.pattern,
            # Another set of hosts is reached in another way.
            via=self.via or (table.via if self.near is None and self.to is None else None),
            loads=table.loads,
        )

    @property
    def is_meant(self) -> bool:
        """True if it is a fleet: a single far host by ssh needs none of these options, and no set of near hosts."""
        has_set = self.near is not None and (not self.near or bool(set(self.near) & _OF_SETS))
        return self.to is not None or self.via is not None or has_set

    def refuse_without_far_hosts(self) -> None:
        """Refuses options that say nothing without far hosts.

        Raises:
            UsageError: which one, and what to do.
        """
        given = {"--pattern": self.pattern, "--hosts": self.inventory}
        for option, value in given.items():
            if value is not None:
                raise UsageError(f"{option} {value} is for many far hosts; name them with --to")


def in_namespaces(text: str, asked: AskedFleet, host: str | None) -> tuple[AskedFleet, str]:
    """The fleet and the far host of `--netns NEAR:FAR`, or of `--netns FAR` from where the command runs.

    Raises:
        UsageError: it names none, or hosts are named in another way too.
    """
    near, colon, far = text.rpartition(":")
    if not far or (colon and not near):
        raise UsageError(f"--netns {text}: name two network namespaces (ip netns list), such as --netns near:far")
    given = {"--via": asked.via, "--from": asked.near, "--to": asked.to, "--host": host, "--hosts": asked.inventory}
    other = next((f"{option} {value}" for option, value in given.items() if value is not None), None)
    if other is not None:
        raise UsageError(f"--netns {text} and {other} both name the two sides; drop one of them")
    return replace(asked, near=near or None, via="netns"), far


def target_of(asked: AskedFleet, host: str | None, address: str | None, port: int) -> Target:
    """Where to measure: the pairs of hosts, and how each is reached.

    Raises:
        UsageError: a set, a pattern or a file that cannot be used, and what to do.
        RunError: a pipe that cannot be used.
    """
    # Imported here: other runs need none of it.
    from whyperf.hosts import (  # noqa: PLC0415
        HostSetError,
        choose_pattern,
        expand,
        fold,
        pair_hosts,
        read_inventory,
    )
    from whyperf.run.adapters import ADAPTERS, ADDRESSES, refuse_other_hosts  # noqa: PLC0415
    from whyperf.run.agents.pipes import by_name  # noqa: PLC0415

    for option, given in (("--from", asked.near), ("--to", asked.to)):
        if given is not None and not given.strip():
            raise UsageError(f"{option} is empty; name hosts such as node[1-4], or leave it out")
    if host is not None and asked.to is not None:
        raise UsageError(f"{host} and --to {asked.to} both name far hosts; drop one of them")
    far_set = asked.to if asked.to is not None else host
    if far_set is None:
        option = f"--via {asked.via}" if asked.via is not None else f"--from {asked.near}"
        raise UsageError(f"{option} needs a far host; name it, or a set of hosts with --to")
    via = asked.via or "ssh"
    by_name(via)
    try:
        inventory = read_inventory(asked.inventory)
        near = expand(asked.near or LOCAL, inventory, "--from")
        far = expand(far_set, inventory, "--to")
        pattern = choose_pattern(asked.pattern, near, far)
        pairs = pair_hosts(pattern, near, far)
        loads = {name: expand(name, inventory, "fleet.loads") for name in asked.loads}
        destinations = {name: inventory.destination(name) for name in (*near, *far)}
    except HostSetError as error:
        raise UsageError(str(error)) from None
    if address is not None and len(pairs) > 1:
        raise UsageError("--address is for one far host; name the addresses of many in a file of hosts (--hosts)")
    names = dict.fromkeys([*near, *far])
    if via == ADAPTERS:
        refuse_other_hosts(tuple(names))
    own = ADDRESSES if via == ADAPTERS else {}
    fleet = PlannedFleet(
        pattern=pattern,
        far=tuple(pair.far for pair in pairs),
        groups=_groups_of(names, inventory.groups),
        parts=_parts(pairs, {hosts: asked.loads[name] for name, hosts in loads.items()}),
        via=via,
        addresses={name: found for name in names if (found := inventory.address(name) or own.get(name)) is not None}
        | ({} if address is None else {far[0]: address}),
        destinations={name: found for name, found in destinations.items() if found != name},
    )
    return Target(
        Kind.NETWORK,
        fold(far),
        None,
        port,
        tuple(pair.near for pair in pairs),
        fleet,
    )


def _parts(pairs: Sequence[HostPair], loads: Mapping[tuple[str, ...], Sequence[str]]) -> tuple[tuple[str, ...], ...]:
    """The loads of each pair, by sets of near hosts; empty where no set says anything."""
    if not loads:
        return ()
    return tuple(
        tuple(dict.fromkeys(name for hosts, names in loads.items() if pair.near in hosts for name in names))
        for pair in pairs
    )


def _groups_of(names: Container[str], groups: Mapping[str, Sequence[str]]) -> dict[str, tuple[str, ...]]:
    """The groups that have hosts of the fleet, with these hosts alone."""
    kept = {group: tuple(host for host in hosts if host in names) for group, hosts in groups.items()}
    return {group: hosts for group, hosts in kept.items() if hosts}
