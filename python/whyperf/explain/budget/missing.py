"""What evidence of the time budget is missing, in sentences."""

from collections.abc import Mapping

from whyperf.analyze.flow import FlowEnd
from whyperf.explain.budget.end import Evidence
from whyperf.explain.model import Value
from whyperf.explain.wording.catalog import render


def missing_evidence(ends: Mapping[str, FlowEnd], logged: Mapping[str, Evidence | None]) -> list[str]:
    """A sentence for each thing missing, by role; nothing when all is there."""
    found = []
    for role in ("sender", "receiver"):
        if role not in ends:
            found.append(render("missing", "no_role", {"role": role}))
            continue
        end, evidence = ends[role], logged[role]
        if evidence is None:
            found.append(render("missing", f"budget_log_{role}", {"host": end.host}))
            continue
        if evidence.calls is None:
            found.append(render("missing", f"calls_{role}", {"host": end.host}))
        if end.evidence.broken_off:
            broken: dict[str, Value | None] = {"role": role, "host": end.host, "reason": end.evidence.broken_off}
            found.append(render("missing", "log_breaks_off", broken))
    return found
