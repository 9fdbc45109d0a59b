"""What evidence of the time budget there is none of, in sentences."""

from collections.abc import Mapping

from whyperf.analyze.flow import FlowEnd
from whyperf.explain.budget.end import Evidence

_WITHOUT_LOG = {
    "sender": "its budget is the kernel's own clocks: receive window, send buffer and idle; the rest is not known",
    "receiver": "it has no budget, and a full receive window is taken for a small buffer",
}
_WITHOUT_CALLS = {
    "sender": "when the application wrote and when it waited for room is told by the segments alone",
    "receiver": "whether payload lay unread because of the application is not known",
}


def missing_evidence(ends: Mapping[str, FlowEnd], logged: Mapping[str, Evidence | None]) -> list[str]:
    """A sentence for each thing missing, by end; nothing when all is there."""
    found = []
    for role in ("sender", "receiver"):
        if role not in ends:
            found.append(f"The {role} is not known: the trial failed before.")
            continue
        end, evidence = ends[role], logged[role]
        if evidence is None:
            found.append(f"There is no segment log of the {role} ({end.host}): {_WITHOUT_LOG[role]}.")
            continue
        if evidence.calls is None:
            found.append(f"There is no log of the calls of the {role} ({end.host}): {_WITHOUT_CALLS[role]}.")
        if end.evidence.broken_off:
            found.append(f"The segment log of the {role} ({end.host}) breaks off: {end.evidence.broken_off}")
    return found
