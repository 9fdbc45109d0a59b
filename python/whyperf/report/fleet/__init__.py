"""The section on the hosts of a fleet: heat map, pairs, hosts, and which host is slow."""

from whyperf.report.fleet.section import FleetSection, fleet_section

__all__ = ["FleetSection", "fleet_section"]
