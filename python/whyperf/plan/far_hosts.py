"""The fate of the far hosts that a profile names by itself, as uperf's profiles do by `remotehost=`."""

from collections.abc import Sequence

#: Targets that are no host.
HERE = {"testbed": "the embedded testbed", "loopback": "the loopback"}


def names_of(target: str) -> list[str]:
    """The far hosts of a target: several where a profile's groups connect to different ones."""
    return target.split(",")


def parts_of(parts: Sequence[tuple[str, ...]], target: str) -> tuple[tuple[str, ...], ...]:
    """The groups of each far host, where the target has one for each part."""
    return tuple(parts) if len(parts) == len(names_of(target)) > 1 else ()


def far_host_notes(named: Sequence[str], target: str) -> list[str]:
    """A sentence where the far side is not the one host that the profile names.

    Args:
        named: the hosts that the profile names.
        target: `testbed`, `loopback`, or the far host of the command line.
    """
    if not named or list(named) == names_of(target):
        return []
    there = HERE.get(target, target)
    if len(names_of(target)) > 1:
        return [f"{there} (--host) stand for {', '.join(named)}, the profile's far hosts."]
    if len(named) > 1:
        listed = ", ".join(named)
        return [f"The profile names {len(named)} far hosts ({listed}); all connections go to one far host, {there}."]
    if target in HERE:
        opening = f"{there.capitalize()} stands for {named[0]}, the profile's far host"
        return [f"{opening}; --host {named[0]} measures the path to it."]
    return [f"{there} (--host) stands for {named[0]}, the profile's far host."]
