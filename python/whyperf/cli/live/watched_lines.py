"""Watched connections as lines: plain text where nobody looks at a terminal, JSON with `--json`."""

import sys
from collections.abc import Callable, Mapping
from typing import Any, Final, Protocol

from whyperf.analyze.text import count, seconds, si
from whyperf.cli.exits import say
from whyperf.cli.streams import json_text, print_text
from whyperf.foreign.texts import visible
from whyperf.watch.live_limits import NS_PER_S, SHORT, ConnectionInterval
from whyperf.watch.tracker import Side, TakenReport
from whyperf.wire import Instead

#: include/net/tcp_states.h.
STATES: Final[Mapping[int, str]] = {
    1: "established",
    2: "syn_sent",
    3: "syn_received",
    4: "fin_wait_1",
    5: "fin_wait_2",
    6: "time_wait",
    7: "closed",
    8: "close_wait",
    9: "last_ack",
    10: "listen",
    11: "closing",
    12: "syn_received",
}
Write = Callable[[str], object]


class View(Protocol):
    """Shows reports as they come; is called from one thread at a time."""

    def on_report(self, report: TakenReport) -> None:
        """A report, and the intervals that it ended."""


class Silence:
    """Shows nothing: the terminal is that of the command which is watched."""

    def on_report(self, report: TakenReport) -> None:
        """Nothing."""


class PlainLines:
    """A line for each connection and interval."""

    def __init__(self, write: Write = print_text) -> None:
        """Lines go to `write`."""
        self._write = write

    def on_report(self, report: TakenReport) -> None:
        """The intervals that ended."""
        for each in report.ended:
            self._write(plain_line(each, report.first_ns, with_side="far" in report.tracker.last))
        sys.stdout.flush()


class JsonLines:
    """A JSON object for each connection and interval, each on a line of its own."""

    def __init__(self, write: Write = print) -> None:
        """Lines go to `write`."""
        self._write = write

    def on_report(self, report: TakenReport) -> None:
        """The intervals that ended."""
        for each in report.ended:
            recent = report.tracker.followed[report.side, each.connection].recent
            self._write(json_text(document(each, report.first_ns, recent)))
        sys.stdout.flush()


HIDDEN_FROM_USER = "it takes root to see processes of other users"
HIDDEN_FROM_ROOT = "it has ended, or is outside the PID namespace of this container, or the kernel itself has them"


class Announced:
    """Says once what the first reports show: the level, why it is not higher, that nothing is there yet, and that the
    process of a connection is not known.
    """

    def __init__(self, name: str, write: Callable[[str], None] = say, *, sees_all: bool = False) -> None:
        """`name` is what is watched; with `sees_all` the near agent may look at the processes of all users."""
        self._name = name
        self._sees_all = sees_all
        self._write = write
        self._sides: set[Side] = set()
        self._is_waiting = False
        self._has_said_unknown: set[Side] = set()

    def on_report(self, report: TakenReport) -> None:
        """A line or two at the first report of a side; one when connections come after all."""
        side, watched = report.side, report.watched
        if side not in self._sides:
            self._sides.add(side)
            if watched["reason"] is not None:
                where = "" if side == "near" else "The far host: "
                self._write(f"{where}Evidence level {watched['level']}: {visible(watched['reason'])}")
            if side == "near" and not watched["connections"]:
                self._is_waiting = True
                self._write(f"{nothing_yet(self._name, watched.get('instead'))}; waiting for one (Ctrl-C ends)")
            return
        if side == "near" and self._is_waiting and watched["connections"]:
            self._is_waiting = False
            self._write(f"Watching {count(len(watched['connections']), 'connection')}")
        # The first report comes before all processes were looked at.
        if (unknown := watched["unknown_owner_count"]) and side not in self._has_said_unknown:
            self._has_said_unknown.add(side)
            which = count(unknown, "connection")
            sees_all = self._sees_all and side == "near"
            self._write(f"The process of {which} is not known; {HIDDEN_FROM_ROOT if sees_all else HIDDEN_FROM_USER}")


def nothing_yet(name: str, instead: Instead | None) -> str:
    """The text in the place of connections: `No TCP connection of 4711 yet; it has 2 UDP sockets, …`."""
    if instead is not None and not instead["processes_count"]:
        return f"No process of {name} runs now"
    return f"No TCP connection of {name} yet{others_there(instead)}"


def others_there(instead: Instead | None) -> str:
    """`; it has 2 UDP sockets and 1 Unix socket, and only TCP connections are watched`; empty where there are none."""
    if instead is None:
        return ""
    kinds = (
        (instead["udp_sockets_count"], "UDP socket"),
        (instead["unix_sockets_count"], "Unix socket"),
        (instead["listening_sockets_count"], "listening TCP socket"),
    )
    found = [count(number, kind) for number, kind in kinds if number]
    if not found:
        return ""
    all_of_them = " and ".join(filter(None, [", ".join(found[:-1]), found[-1]]))
    return f"; it has {all_of_them}, and only TCP connections are watched"


def plain_line(each: ConnectionInterval, first_ns: int, *, with_side: bool = False) -> str:
    """`   2.0 s  iperf3 (4711) 10.0.0.1:5201 - 10.0.0.2:40000  sent 941 Mbit/s, network; …`."""
    end_s = (each.end_ns - first_ns) / NS_PER_S
    parts = [
        f"sent {si(each.send_bps, 'bit/s')}, {SHORT[each.sent.limit]}",
        f"received {si(each.receive_bps, 'bit/s')}, {SHORT[each.received.limit]}",
        f"RTT {seconds(each.last['rtt_ns'])}",
        f"cwnd {each.last['cwnd_segments']}",
        f"{each.retransmitted_segments} retransmitted",
    ]
    if each.is_closed:
        parts.append("closed")
    side = f"{each.host:<5}" if with_side else ""
    return f"{end_s:7.1f} s  {side}{program(each)} {ends(each)}  {'; '.join(parts)}"


def program(each: ConnectionInterval) -> str:
    """`iperf3 (4711)`; what is known of it."""
    name = visible(each.program) or "unknown program"
    return name if each.process is None else f"{name} ({each.process})"


def ends(each: ConnectionInterval) -> str:
    """The two addresses, this side's first."""
    return f"{visible(each.endpoints['local'])} - {visible(each.endpoints['remote'])}"


def document(each: ConnectionInterval, first_ns: int, recent: ConnectionInterval | None) -> dict[str, Any]:
    """The fields of docs/reference/watch-json.md, in SI units."""
    last = each.last
    return {
        "type": "interval",
        "host": each.host,
        "connection": each.connection,
        "start_s": (each.start_ns - first_ns) / NS_PER_S,
        "end_s": (each.end_ns - first_ns) / NS_PER_S,
        "local": each.endpoints["local"],
        "remote": each.endpoints["remote"],
        "program": each.program or None,
        "process": each.process,
        "state": STATES.get(last["state"], "unknown"),
        "is_whole": last["is_whole"],
        "send_bytes": each.sent.payload_bytes,
        "send_bps": each.send_bps,
        "receive_bytes": each.received.payload_bytes,
        "receive_bps": each.receive_bps,
        "rtt_s": last["rtt_ns"] / NS_PER_S,
        "cwnd_segments": last["cwnd_segments"],
        "mss_bytes": last["mss_bytes"],
        "peer_window_bytes": last["peer_window_bytes"],
        "own_window_bytes": last["own_window_bytes"],
        "unsent_bytes": last["unsent_bytes"],
        "send_queue_bytes": last["send_queue_bytes"],
        "receive_queue_bytes": last["receive_queue_bytes"],
        "sent_segments": each.sent_segments,
        "retransmitted_segments": each.retransmitted_segments,
        "send_limit": each.sent.limit.value,
        "send_limit_s": _in_seconds(each.sent.ns_by_limit),
        "receive_limit": each.received.limit.value,
        "receive_limit_s": _in_seconds(each.received.ns_by_limit),
        "recent_limit": (each if recent is None else recent).verdict.value,
    }


def _in_seconds(ns_by_limit: Mapping[Any, int]) -> dict[str, float]:
    return {limit.value: ns / NS_PER_S for limit, ns in ns_by_limit.items()}
