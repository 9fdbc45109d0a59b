"""Which factors have a meaning in a cell, and what to say where one has none."""

from whyperf.profile.factor import Factor
from whyperf.profile.factors import FACTORS
from whyperf.profile.options import OPTIONS, Rule
from whyperf.profile.schedule import Schedule
from whyperf.profile.workload import STREAM, STREAM_RECEIVE, Workload

#: Advice on what to set instead.
INSTEAD = {("mptcp", "window_bytes"): "set receive_buffer_bytes and send_buffer_bytes instead"}
#: Factors of a stream that a schedule may decide itself.
DECIDED_BY_SCHEDULES = frozenset({"connections", "direction"})


def applies(
    factor: Factor, workload: Workload, transport: str, io_model: str, schedule: Schedule | None = None
) -> bool:
    """True where the factor has a meaning with this workload and schedule over this transport."""
    if schedule is not None and factor.name in DECIDED_BY_SCHEDULES:
        return factor.name in schedule.uses
    rule = OPTIONS.get(factor.name)
    if factor.name in workload.uses and (rule is None or transport in rule.transports):
        return True
    if rule is not None:
        return transport in rule.transports and workload.load in rule.loads and io_model in rule.io_models
    holds = {
        "all": True,
        "workload": False,
        # The direction of stream-receive is in its name.
        "stream": workload.name == STREAM or (workload.name == STREAM_RECEIVE and factor.name != "direction"),
        "schedule": schedule is not None and factor.name in schedule.uses,
        # Decided where the levels of the path are known (path.py).
        "path": False,
    }
    return holds[factor.scope]


def refusal(factor: Factor, workload: Workload, transport: str, io_model: str, schedule: Schedule | None = None) -> str:
    """Why it has none, and the remedy."""
    if factor.scope == "schedule" or (schedule is not None and factor.name in DECIDED_BY_SCHEDULES):
        return _refusal_by(schedule, factor)
    rule = OPTIONS.get(factor.name)
    if rule is not None and (refused := _refusal_of(rule, workload, transport, io_model)):
        return refused
    taken = [other.name for other in FACTORS if other.scope == "workload" and other.name in workload.uses]
    takes = f"; it takes {', '.join(taken)}" if taken else "; leave it out"
    return f"the workload {workload.name} has no such setting{takes}"


def _refusal_of(rule: Rule, workload: Workload, transport: str, io_model: str) -> str:
    """Why an option does not apply; empty where the workload is to say so."""
    if transport not in rule.transports:
        instead = INSTEAD.get((transport, rule.factor), "leave the factor out")
        return f"{transport} has no such setting; {instead}, or choose another transport"
    if workload.load not in rule.loads:
        requests = "a stream has no requests; leave the factor out, or choose a workload of requests, such as rr"
        return requests if workload.load == "stream" else ""
    if rule.loads == ("stream",):
        return f"a stream in blocking calls has it, {io_model} has not; leave one of the two out"
    models = " or ".join(rule.io_models)
    return f'io_model "{io_model}" has no such setting; choose {models}, or leave the factor out'


def _refusal_by(schedule: Schedule | None, factor: Factor) -> str:
    """Why a schedule, or none, has no use for the factor."""
    if schedule is None:
        return "it belongs to a schedule; set the factor schedule too, or leave this one out"
    if factor.name in DECIDED_BY_SCHEDULES:
        return f"the schedule {schedule.name} decides it for each flow; leave the factor out"
    return f"the schedule {schedule.name} has no use for it; leave the factor out"
