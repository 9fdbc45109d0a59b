"""When the flows of each cell start and stop."""

from collections.abc import Sequence

from whyperf.plan.plan_document import Cell, PlannedFlow
from whyperf.profile import Profile, checked_flows, schedule_of

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
