"""Flow schedules: flows that start and stop at set times."""

from whyperf.profile.schedule.check import checked_flows
from whyperf.profile.schedule.flow_schedule import NO_SCHEDULE, Flow, Region, Schedule, regions
from whyperf.profile.schedule.own_schedule import read_schedule
from whyperf.profile.schedule.shipped import SHIPPED

__all__ = ["NO_SCHEDULE", "SHIPPED", "Flow", "Region", "Schedule", "checked_flows", "read_schedule", "regions"]
