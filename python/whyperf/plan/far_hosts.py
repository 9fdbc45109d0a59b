"""The fate of the far hosts that a profile names by itself, as uperf's profiles do by `remotehost=`.

The work of each pair of a fleet in each cell.
"""

from collections.abc import Mapping, Sequence
from difflib import get_close_matches

from whyperf.plan.plan_document import Cell, PlannedFleet, PlannedWorkload
from whyperf.profile import Profile, ProfileError

KEY = "fleet.loads"


def refuse_unknown_loads(
    profile: Profile, fleet: PlannedFleet | None, cells: Sequence[Cell], workloads: Mapping[str, PlannedWorkload]
) -> None:
    """Refuses loads of a fleet that a cell does not have, and cells in which a pair would do nothing.

    Raises:
        ProfileError: which, and what there is.
    """
    if fleet is None or not fleet.parts:
        return
    for cell in cells:
        known = _names(cell, workloads)
        if not known:
            problem = f"cell {cell.id} has neither a workload with groups nor a schedule; remove the loads"
            raise ProfileError(profile.where, KEY, problem)
        for pair, own in enumerate(fleet.parts):
            for name in own:
                if name not in known:
                    near = get_close_matches(name, known, n=1)
                    remedy = f"did you mean {near[0]}?" if near else f"there are {', '.join(known)}"
                    raise ProfileError(profile.where, KEY, f"cell {cell.id} has no group or flow {name}; {remedy}")
            if not own:
                problem = f"pair {pair + 1} does nothing, because no set has its near host; add it to a set"
                raise ProfileError(profile.where, KEY, problem)


def _names(cell: Cell, workloads: Mapping[str, PlannedWorkload]) -> list[str]:
    """The groups of a cell's workload and the flows of its schedule."""
    names = [flow.name for flow in cell.schedule or ()]
    workload = None if cell.workload is None else workloads[cell.workload].workload
    return names if workload is None else [*names, *(group["name"] for group in workload["groups"])]


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
