"""The behavior of flows that come and go: over time, as a table of transports, compared, and next to the study."""

from whyperf.report.transports.section import transports_section

__all__ = ["transports_section"]
