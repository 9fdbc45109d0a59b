"""Flow schedules: flows that start and stop at set times."""

from whyperf.profile.schedule.check import checked_flows
from whyperf.profile.schedule.model import NO_SCHEDULE, Flow, Region, Schedule, regions
from whyperf.profile.schedule.read import read_schedule
from whyperf.profile.schedule.shipped import SHIPPED

__all__ = ["NO_SCHEDULE", "SHIPPED", "Flow", "Region", "Schedule", "checked_flows", "read_schedule", "regions"]
