"""Which factors have a meaning in a cell, and what to say where one has none."""

from whyperf.profile.factor import Factor
from whyperf.profile.factors import FACTORS
from whyperf.profile.schedule import Schedule
from whyperf.profile.workload import STREAM, STREAM_RECEIVE, Workload

WITH_TCP = frozenset({"tcp", "mptcp"})
#: Carried by a library over UDP instead of a socket of the kernel.
BY_LIBRARY = frozenset({"udt", "quic", "srt"})
#: What both sides can bound by a window.
WITH_WINDOW = WITH_TCP | BY_LIBRARY
#: Whose congestion control can be chosen.
WITH_CONTROL = WITH_TCP | {"quic"}
#: How the calls to a socket of the kernel are made.
OF_SOCKETS = frozenset({"read_wait", "truncate", "send_call"})
#: What sockets of a transport lack although their kind has it, and a library's all of `OF_SOCKETS`. Of Multipath TCP:
#: mptcp_setsockopt (net/mptcp/sockopt.c) up to Linux 6.18.
LACKING = {
    "mptcp": frozenset({"window_bytes", "quick_ack", "zero_copy", "pacing_rate_bps"}),
    "unix": frozenset({"truncate"}),
    **dict.fromkeys(BY_LIBRARY, OF_SOCKETS),
}
#: What to set instead.
INSTEAD = {("mptcp", "window_bytes"): "set receive_buffer_bytes and send_buffer_bytes instead"}
#: Transports whose sends the kernel numbers in its notifications.
WITH_STAMPS = frozenset({"tcp", "udp"})
#: Scopes that only the transport decides.
OF_TRANSPORTS = frozenset({"tcp", "window", "control", "ip", "probe", "bytes"})
WITH_THREADS = frozenset({"epoll", "io_uring"})


#: Factors of a stream that a schedule may decide itself.
DECIDED_BY_SCHEDULES = frozenset({"connections", "direction"})


def applies(
    factor: Factor, workload: Workload, transport: str, io_model: str, schedule: Schedule | None = None
) -> bool:
    """Whether the factor has a meaning with this workload and schedule over this transport."""
    if schedule is not None and factor.name in DECIDED_BY_SCHEDULES:
        return factor.name in schedule.uses
    if factor.name in workload.uses:
        return True
    # The direction of stream-receive is in its name.
    is_stream = workload.name == STREAM or (workload.name == STREAM_RECEIVE and factor.name != "direction")
    if _lacks(factor, transport):
        return False
    holds = {
        "all": True,
        "workload": False,
        "stream": is_stream,
        "blocking stream": is_stream and io_model == "blocking",
        "schedule": schedule is not None and factor.name in schedule.uses,
        "tcp": transport in WITH_TCP,
        "window": transport in WITH_WINDOW,
        "control": transport in WITH_CONTROL,
        "ip": transport != "unix" and transport not in BY_LIBRARY,
        # A packet of its own, whatever the load is carried by.
        "probe": transport != "unix",
        "bytes": transport != "udp",
        "stamps": transport in WITH_STAMPS and workload.name not in (STREAM, STREAM_RECEIVE),
        "threads": io_model in WITH_THREADS,
        # Decided where the levels of the path are known (path.py).
        "path": False,
    }
    return holds[factor.scope]


def _lacks(factor: Factor, transport: str) -> bool:
    """Whether the transport has no such thing, whatever the workload."""
    return factor.name in LACKING.get(transport, frozenset())


def refusal(factor: Factor, workload: Workload, transport: str, io_model: str, schedule: Schedule | None = None) -> str:
    """Why it has none, and the remedy."""
    if factor.scope == "schedule" or (schedule is not None and factor.name in DECIDED_BY_SCHEDULES):
        return _refusal_by(schedule, factor)
    if _lacks(factor, transport) or factor.scope in OF_TRANSPORTS:
        instead = INSTEAD.get((transport, factor.name), "leave the factor out")
        return f"{transport} has no such setting; {instead}, or choose another transport"
    match factor.scope:
        case "stamps":
            without = (
                "a stream has no requests" if transport in WITH_STAMPS else f"the kernel stamps nothing of {transport}"
            )
            return f"{without}; leave the factor out, or choose a workload of requests over tcp or udp, such as rr"
        case "threads":
            return f'io_model "{io_model}" has a thread a connection; choose epoll or io_uring, or leave the factor out'
        case "blocking stream" if workload.name in (STREAM, STREAM_RECEIVE):
            return f"a stream in blocking calls has it, {io_model} has not; leave one of the two out"
    taken = [other.name for other in FACTORS if other.scope == "workload" and other.name in workload.uses]
    takes = f"; it takes {', '.join(taken)}" if taken else "; leave it out"
    return f"the workload {workload.name} has no such setting{takes}"


def _refusal_by(schedule: Schedule | None, factor: Factor) -> str:
    """Why a schedule, or none, has no use for the factor."""
    if schedule is None:
        return "it belongs to a schedule; set the factor schedule too, or leave this one out"
    if factor.name in DECIDED_BY_SCHEDULES:
        return f"the schedule {schedule.name} decides it for each flow; leave the factor out"
    return f"the schedule {schedule.name} has no use for it; leave the factor out"
