"""A schedule's flows at the scale of a cell, and which schedules cannot be."""

from collections.abc import Mapping
from dataclasses import replace

from whyperf.profile.errors import ProfileError
from whyperf.profile.factor import Level
from whyperf.profile.schedule.flow_schedule import Flow, Schedule, regions

NS_PER_S = 1_000_000_000
NS_PER_MS = 1_000_000
#: Fewer samples than this say nothing of a region.
FEWEST_SAMPLES = 10


def checked_flows(schedule: Schedule, factors: Mapping[str, Level]) -> tuple[Flow, ...]:
    """The flows as the factors of a cell scale them.

    Raises:
        ProfileError: with the factor at fault as key: a flow that stops before it starts, regions too short for the
            samples, flows of two directions with a window.
    """
    scale = float(factors["schedule_scale"])
    flows = tuple(
        replace(flow, start_s=flow.start_s * scale, stop_s=flow.stop_s * scale) for flow in schedule.make(factors)
    )
    name = schedule.name
    for flow in flows:
        if flow.stop_s <= flow.start_s:
            problem = (
                f'flow "{flow.name}" of {name} stops at {flow.stop_s:g} s, not after it starts at {flow.start_s:g} s'
            )
            raise ProfileError("", "schedule", f"{problem}; give it a later stop_s")
    _refuse_short_regions(name, flows, int(factors["interval_ms"]))
    if len({flow.direction for flow in flows}) > 1:
        for buffer in ("window_bytes", "send_buffer_bytes", "receive_buffer_bytes"):
            if factors.get(buffer, "default") != "default":
                problem = f"flows of {name} go both ways, and an end's buffers are set for one; leave the factor out"
                raise ProfileError("", buffer, problem)
    return flows


def _refuse_short_regions(name: str, flows: tuple[Flow, ...], interval_ms: int) -> None:
    spans = [(round(flow.start_s * NS_PER_S), round(flow.stop_s * NS_PER_S)) for flow in flows]
    for region in regions(spans):
        if region.flows and region.stop_ns - region.start_ns < FEWEST_SAMPLES * interval_ms * NS_PER_MS:
            length_s = (region.stop_ns - region.start_ns) / NS_PER_S
            raise ProfileError(
                "",
                "schedule",
                f"region {region.number} of {name} lasts {length_s:g} s, less than {FEWEST_SAMPLES} samples of "
                f"{interval_ms} ms; raise schedule_scale or lower interval_ms",
            )
