"""The work of each pair of a fleet in each cell."""

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
