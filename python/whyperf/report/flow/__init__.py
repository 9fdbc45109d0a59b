"""The segment flow of a trial: as values, as lines of text, and as a page with every single segment."""

from whyperf.report.flow.summary import FlowSummary, flow_json, summarize_flow
from whyperf.report.flow.write import gaps, headline, warnings, write

__all__ = ["FlowSummary", "flow_json", "gaps", "headline", "summarize_flow", "warnings", "write"]
