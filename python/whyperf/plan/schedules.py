"""When the flows of each cell start and stop.

The work of each cell: its workload, resolved, kept once for all cells that do the same.
"""

import hashlib
import json
from collections.abc import Sequence

from whyperf.plan.plan_document import Cell, PlannedFlow, PlannedWorkload
from whyperf.profile import Profile, ProfileError, checked_flows, is_plain, schedule_of, workload_of
from whyperf.profile.workload import STREAM, STREAM_RECEIVE


def with_workloads(profile: Profile, cells: Sequence[Cell]) -> tuple[tuple[Cell, ...], dict[str, PlannedWorkload]]:
    """The cells, each with the key of its workload, and the workloads by key.

    Raises:
        ProfileError: a workload that the factors of a cell make impossible.
    """
    planned: dict[str, PlannedWorkload] = {}
    keyed = []
    for cell in cells:
        if is_plain(cell.factors):
            keyed.append(cell)
            continue
        try:
            workload = _planned(profile, cell)
        except ProfileError as error:
            raise error.at(profile.where, f"sweep.{cell.sweep}") from None
        key = _key(workload)
        planned[key] = workload
        keyed.append(cell.model_copy(update={"workload": key}))
    return tuple(keyed), planned


def _planned(profile: Profile, cell: Cell) -> PlannedWorkload:
    factors = cell.factors
    # A stream that is not plain is sent operation by operation, so its direction chooses which one it is.
    if factors["workload"] == STREAM and factors["direction"] == "receive":
        factors = factors | {"workload": STREAM_RECEIVE}
    workload = workload_of(factors, profile.workloads)
    return PlannedWorkload(
        name=workload.name,
        metric=workload.metric,
        workload=workload.document(factors),
        datagrams=workload.datagrams(factors),
    )


def _key(workload: PlannedWorkload) -> str:
    """Its name with a part of the SHA-256 of what it does."""
    content = json.dumps(workload.model_dump(mode="json"), sort_keys=True)
    return f"{workload.name}-{hashlib.sha256(content.encode()).hexdigest()[:8]}"


NS_PER_S = 1_000_000_000


def with_schedules(profile: Profile, cells: Sequence[Cell]) -> tuple[Cell, ...]:
    """The cells, those with a schedule with its flows."""
    return tuple(_with_schedule(profile, cell) for cell in cells)


def _with_schedule(profile: Profile, cell: Cell) -> Cell:
    schedule = schedule_of(cell.factors, profile.schedules)
    if schedule is None:
        return cell
    flows = tuple(
        PlannedFlow(
            name=flow.name,
            start_ns=round(flow.start_s * NS_PER_S),
            stop_ns=round(flow.stop_s * NS_PER_S),
            connections=flow.connections,
            transport=flow.transport,
            congestion_control=flow.congestion_control,
            direction=flow.direction,
            dscp=flow.dscp,
        )
        for flow in checked_flows(schedule, cell.factors)
    )
    return cell.model_copy(update={"schedule": flows})
