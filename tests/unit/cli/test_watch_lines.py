"""Watched connections as lines of text and of JSON."""

import json
from typing import Any

import pytest

from tests.unit.watch.snapshots_of import SECOND_NS, connection, report
from whyperf.cli.live.watched_lines import Announced, JsonLines, PlainLines, nothing_yet
from whyperf.watch.tracker import Side, Tracker
from whyperf.wire import ReplyWatched

MOVED = {
    "acked_bytes": 125_000_000,
    "received_bytes": 1_000,
    "busy_ns": SECOND_NS,
    "rwnd_limited_ns": SECOND_NS,
    "retransmitted_segments": 3,
    "data_segments_out": 90_000,
}


def lines(view_class: type[PlainLines] | type[JsonLines], *reports: tuple[Side, ReplyWatched]) -> list[str]:
    written: list[str] = []
    view, tracker = view_class(written.append), Tracker()
    for side, watched in reports:
        view.on_report(tracker.take(side, watched))
    return written


def test_a_line_has_both_directions_and_their_limits() -> None:
    (line,) = lines(PlainLines, ("near", report(7, connection())), ("near", report(8, connection(**MOVED))))
    assert line == (
        "    1.0 s  iperf3 (4711) 10.0.0.1:40000 - 10.0.0.2:5201  sent 1.00 Gbit/s, peer window; received 8.00 kbit/s, "
        "peer/network; RTT 1.00 ms; cwnd 10; 3 retransmitted"
    )


def test_lines_of_two_sides_name_the_side() -> None:
    found = lines(
        PlainLines,
        ("near", report(7, connection())),
        ("far", report(70, connection())),
        ("far", report(71, connection(state=7))),
    )
    assert found[0].startswith("    1.0 s  far  iperf3")
    assert found[0].endswith("; closed")


def test_nothing_of_a_program_reaches_the_terminal_that_it_would_obey() -> None:
    bad: dict[str, Any] = {"program": "\x1b[2Jx", "process": None}
    (line,) = lines(PlainLines, ("near", report(1, connection(**bad))), ("near", report(2, connection(**bad))))
    assert "\\x1b[2Jx 10.0.0.1:40000" in line


def test_a_json_line_is_an_object_in_si_units() -> None:
    (line,) = lines(JsonLines, ("near", report(7, connection())), ("near", report(8, connection(**MOVED))))
    found = json.loads(line)
    assert found == {
        "type": "interval",
        "host": "near",
        "connection": 0,
        "start_s": 0.0,
        "end_s": 1.0,
        "local": "10.0.0.1:40000",
        "remote": "10.0.0.2:5201",
        "program": "iperf3",
        "process": 4711,
        "state": "established",
        "is_whole": True,
        "send_bytes": 125_000_000,
        "send_bps": 1e9,
        "receive_bytes": 1_000,
        "receive_bps": 8_000.0,
        "rtt_s": 0.001,
        "cwnd_segments": 10,
        "mss_bytes": 1448,
        "peer_window_bytes": 65_536,
        "own_window_bytes": 65_536,
        "unsent_bytes": 0,
        "send_queue_bytes": 0,
        "receive_queue_bytes": 0,
        "sent_segments": 90_000,
        "retransmitted_segments": 3,
        "send_limit": "receive_window",
        "send_limit_s": {
            "nothing_to_send": 0.0,
            "receive_window": 1.0,
            "send_buffer": 0.0,
            "network": 0.0,
            "acknowledgment": 0.0,
        },
        "receive_limit": "sender_or_network",
        "receive_limit_s": {"nothing_arrives": 0.0, "reader": 0.0, "sender_or_network": 1.0},
        "recent_limit": "receive_window",
    }


def announced(*reports: tuple[Side, ReplyWatched]) -> list[str]:
    written: list[str] = []
    found, tracker = Announced(":443", written.append), Tracker()
    for side, watched in reports:
        found.on_report(tracker.take(side, watched))
    return written


def test_a_wait_and_its_end_are_said_once() -> None:
    found = announced(
        ("near", report(1)), ("near", report(2)), ("near", report(3, connection())), ("near", report(4, connection()))
    )
    assert found == [
        "No TCP connection of :443 yet; waiting for one (Ctrl-C ends)",
        "Watching 1 connection",
    ]


def test_unknown_processes_are_said_once_and_not_before_all_were_looked_at() -> None:
    unknown = report(1, connection(), unknown_owner_count=2)
    assert announced(("near", unknown)) == []
    assert announced(("near", unknown), ("near", unknown), ("near", unknown)) == [
        "The process of 2 connections is not known; it takes root to see processes of other users"
    ]


def test_no_line_asks_root_to_be_root() -> None:
    unknown = report(1, connection(), unknown_owner_count=2)
    written: list[str] = []
    found, tracker = Announced(":443", written.append, sees_all=True), Tracker()
    for side in ("near", "near", "far", "far"):
        found.on_report(tracker.take(side, unknown))
    assert [("takes root" in line, "PID namespace" in line) for line in written] == [(False, True), (True, False)]


def test_a_lower_level_is_said_with_its_reason() -> None:
    low = report(1, connection(), reason="BPF needs CAP_BPF")
    assert announced(("near", low), ("near", low), ("far", low)) == [
        "Evidence level user: BPF needs CAP_BPF",
        "The far host: Evidence level user: BPF needs CAP_BPF",
    ]
    assert announced(("near", report(1, connection()))) == []


def instead(processes: int = 1, udp: int = 0, unix: int = 0, listening: int = 0) -> dict[str, int]:
    return {
        "processes_count": processes,
        "udp_sockets_count": udp,
        "unix_sockets_count": unix,
        "listening_sockets_count": listening,
    }


@pytest.mark.parametrize(
    ("there", "sentence"),
    [
        (None, "No TCP connection of nginx yet"),
        (instead(0), "No process of nginx runs now"),
        (
            instead(udp=2, unix=1),
            "No TCP connection of nginx yet; it has 2 UDP sockets and 1 Unix socket, and only TCP connections are "
            "watched",
        ),
        (
            instead(udp=1, unix=3, listening=1),
            "No TCP connection of nginx yet; it has 1 UDP socket, 3 Unix sockets and 1 listening TCP socket, and only "
            "TCP connections are watched",
        ),
    ],
)
def test_what_is_not_watched_is_named(there: Any, sentence: str) -> None:
    assert nothing_yet("nginx", there) == sentence
