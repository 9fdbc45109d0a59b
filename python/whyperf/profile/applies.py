"""Which factors have a meaning in a cell, and what to say where one has none."""

from whyperf.profile.factor import Factor
from whyperf.profile.factors import FACTORS
from whyperf.profile.workload import STREAM, STREAM_RECEIVE, Workload

WITH_TCP = frozenset({"tcp", "mptcp"})
WITH_THREADS = frozenset({"epoll", "io_uring"})


def applies(factor: Factor, workload: Workload, transport: str, io_model: str) -> bool:
    """Whether the factor has a meaning with this workload over this transport."""
    if factor.name in workload.uses:
        return True
    # The direction of stream-receive is in its name.
    is_stream = workload.name == STREAM or (workload.name == STREAM_RECEIVE and factor.name != "direction")
    # Cork is TCP's own, whatever the workload.
    if factor.name == "cork" and transport not in WITH_TCP:
        return False
    holds = {
        "all": True,
        "workload": False,
        "stream": is_stream,
        "blocking stream": is_stream and io_model == "blocking",
        "tcp": transport in WITH_TCP,
        "ip": transport != "unix",
        "threads": io_model in WITH_THREADS,
    }
    return holds[factor.scope]


def refusal(factor: Factor, workload: Workload, transport: str, io_model: str) -> str:
    """Why it has none, and the way out."""
    if factor.name == "cork" and transport not in WITH_TCP:
        return f"{transport} has no such setting; leave the factor out, or choose another transport"
    match factor.scope:
        case "tcp" | "ip":
            return f"{transport} has no such setting; leave the factor out, or choose another transport"
        case "threads":
            return f'io_model "{io_model}" has a thread a connection; choose epoll or io_uring, or leave the factor out'
        case "blocking stream" if workload.name in (STREAM, STREAM_RECEIVE):
            return f"a stream in blocking calls has it, {io_model} has not; leave one of the two out"
    taken = [other.name for other in FACTORS if other.scope == "workload" and other.name in workload.uses]
    takes = f"; it takes {', '.join(taken)}" if taken else "; leave it out"
    return f"the workload {workload.name} has no such setting{takes}"
