"""The behavior of a tool call by call: the log of strace of one side, read."""

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator

from lab.tools.tool_runs import Side, SideLook

WAITS = ("select", "pselect6", "poll", "ppoll", "epoll_wait", "epoll_pwait", "epoll_pwait2")
"""System calls that wait for a socket."""
SENDS = ("write", "writev", "send", "sendto", "sendmsg", "sendmmsg", "sendfile")
RECEIVES = ("read", "readv", "recv", "recvfrom", "recvmsg", "recvmmsg")
TRACE = (*WAITS, *SENDS, *RECEIVES, "setsockopt", "splice")
SHOWN_OPTIONS = 8
OPTIONS = {
    *("TCP_NODELAY", "TCP_CORK", "TCP_CONGESTION", "TCP_MAXSEG", "TCP_QUICKACK", "TCP_WINDOW_CLAMP"),
    *("SO_SNDBUF", "SO_RCVBUF", "SO_SNDBUFFORCE", "SO_RCVBUFFORCE", "SO_MAX_PACING_RATE", "SO_ZEROCOPY"),
    *("SO_BUSY_POLL", "TCP_NOTSENT_LOWAT", "UDP_SEGMENT", "UDP_GRO", "SO_PRIORITY", "IP_TOS"),
}
"""Socket options that may change a rate; others are not shown."""

_CALL = re.compile(r"^\d+\s+(?:<\.\.\. )?(?P<name>\w+)(?P<rest>[ (].*)\s= (?P<result>-?\d+)")
_ASKED = re.compile(r'"(?:\.\.\.)?, (?P<asked>\d+)[,)]')
_OPTION = re.compile(r"setsockopt\(\d+, \w+, (?P<name>\w+), (?P<value>\[?[^,\]]*\]?), \d+\)")


def started_under_strace(argv: Iterable[str], log: str) -> tuple[str, ...]:
    """The command with all its processes and threads under strace, which writes a line for each call to `log`."""
    return ("strace", "-f", "-qq", "-s", "0", "-e", f"trace=?{',?'.join(TRACE)}", "-o", log, *argv)


def look_of(lines: Iterable[str], side: Side, *, are_messages: bool = False) -> SideLook | None:
    """The behavior of one side; None where no call moved payload.

    The data calls are those of the name that moved most bytes in the direction of the side; of small messages, those of
    which there are most. Calls that were interrupted and resumed count once, by the line that has their result.
    """
    wanted = SENDS if side == "sender" else RECEIVES
    moved: Counter[str] = Counter()
    calls: Counter[str] = Counter()
    asked: dict[str, Counter[int]] = defaultdict(Counter)
    waits: Counter[str] = Counter()
    options: list[str] = []
    for line in lines:
        if "setsockopt(" in line:
            options += _options(line)
            continue
        found = _CALL.match(line)
        if found is None:
            continue
        name, result = found["name"], int(found["result"])
        if name in WAITS:
            waits[name] += 1
        elif name in wanted and result > 0:
            weight = 1 if are_messages else result
            moved[name] += weight
            calls[name] += 1
            size = _ASKED.search(found["rest"])
            if size is not None:
                asked[name][int(size["asked"])] += weight
    if not moved:
        return None
    name = moved.most_common(1)[0][0]
    sizes = asked[name].most_common(1)
    return SideLook(
        data_call=name,
        asked_bytes=sizes[0][0] if sizes else None,
        data_calls_count=calls[name],
        waits_count=waits.total(),
        waits=waits.most_common(1)[0][0] if waits else "",
        options=tuple(dict.fromkeys(options))[:SHOWN_OPTIONS],
    )


def _options(line: str) -> Iterator[str]:
    found = _OPTION.search(line)
    if found is not None and found["name"] in OPTIONS:
        yield f"{found['name']} {found['value'].strip('[]')}"
