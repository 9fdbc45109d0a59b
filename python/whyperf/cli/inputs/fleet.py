"""Many hosts on the command line: `--from`, `--to`, `--pattern`, `--hosts` and `--via`."""

from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from whyperf.cli.exits import UsageError
from whyperf.plan import LOCAL, PlannedFleet
from whyperf.run import Kind, Target


@dataclass(frozen=True)
class AskedFleet:
    """What the options say of many hosts; `near` and `to` are sets as whyperf.hosts reads them."""

    near: str | None = None
    to: str | None = None
    pattern: str | None = None
    inventory: Path | None = None
    via: str | None = None

    @property
    def is_meant(self) -> bool:
        """Whether it is a fleet: a single far host by ssh needs none of these options."""
        return self.to is not None or self.via is not None

    def refuse_without_far_hosts(self) -> None:
        """Refuses options that say nothing without far hosts.

        Raises:
            UsageError: which one, and what to do.
        """
        given = {"--pattern": self.pattern, "--hosts": self.inventory}
        for option, value in given.items():
            if value is not None:
                raise UsageError(f"{option} {value} is for many far hosts; name them with --to")


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

    if host is not None and asked.to is not None:
        raise UsageError(f"{host} and --to {asked.to} both name far hosts; drop one of them")
    far_set = asked.to if asked.to is not None else host
    if far_set is None:
        raise UsageError(f"--via {asked.via} needs a host to reach; name it, or a set of hosts with --to")
    if address is not None:
        raise UsageError("--address is for one far host; name the addresses of many in a file of hosts (--hosts)")
    via = asked.via or "ssh"
    try:
        inventory = read_inventory(asked.inventory)
        near = expand(asked.near or LOCAL, inventory, "--from")
        far = expand(far_set, inventory, "--to")
        pattern = choose_pattern(asked.pattern, near, far)
        pairs = pair_hosts(pattern, near, far)
    except HostSetError as error:
        raise UsageError(str(error)) from None
    names = dict.fromkeys([*near, *far])
    fleet = PlannedFleet(
        pattern=pattern,
        far=tuple(pair.far for pair in pairs),
        groups=_groups_of(names, inventory.groups),
        via=via,
        addresses={name: found for name in names if (found := inventory.address(name)) is not None},
        destinations={name: found for name in names if (found := inventory.destination(name)) != name},
    )
    return Target(
        Kind.NETWORK,
        fold(far),
        None,
        port,
        tuple(pair.near for pair in pairs),
        fleet,
    )


def _groups_of(names: Container[str], groups: Mapping[str, Sequence[str]]) -> dict[str, tuple[str, ...]]:
    """The groups that have hosts of the fleet, with these hosts alone."""
    kept = {group: tuple(host for host in hosts if host in names) for group, hosts in groups.items()}
    return {group: hosts for group, hosts in kept.items() if hosts}
