"""Tells the segment flow of a trial: in plain values, in lines, and as a page that goes down to single segments."""

from whyperf.report.flow.summary import Told, flow_json, tell
from whyperf.report.flow.write import doubts, gaps, headline, write

__all__ = ["Told", "doubts", "flow_json", "gaps", "headline", "tell", "write"]
