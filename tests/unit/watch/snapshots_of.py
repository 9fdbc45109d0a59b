"""Snapshots of watched connections, as an agent reports them."""

from typing import Any, cast

from whyperf.wire import ReplyWatched, WatchedConnection

SECOND_NS = 1_000_000_000
MSS = 1448


def connection(number: int = 0, **changed: Any) -> WatchedConnection:
    """A connection that was opened, has moved nothing, and is whole."""
    snapshot: dict[str, Any] = {
        "connection": number,
        "endpoints": {"local": f"10.0.0.1:{40_000 + number}", "remote": "10.0.0.2:5201"},
        "program": "iperf3",
        "process": 4711,
        "state": 1,
        "is_whole": True,
        "acked_bytes": 0,
        "received_bytes": 0,
        "retransmitted_segments": 0,
        "data_segments_out": 0,
        "rtt_ns": 1_000_000,
        "cwnd_segments": 10,
        "mss_bytes": MSS,
        "peer_window_bytes": 65_536,
        "own_window_bytes": 65_536,
        "unsent_bytes": 0,
        "send_queue_bytes": 0,
        "receive_queue_bytes": 0,
        "busy_ns": 0,
        "rwnd_limited_ns": 0,
        "send_buffer_limited_ns": 0,
    }
    assert changed.keys() <= snapshot.keys()
    return cast("WatchedConnection", {**snapshot, **changed})


def report(at_s: float, *connections: WatchedConnection, **changed: Any) -> ReplyWatched:
    """A report at so many seconds."""
    body: dict[str, Any] = {
        "reply": "watched",
        "mono_ns": round(at_s * SECOND_NS),
        "level": "user",
        "reason": None,
        "connections": list(connections),
        "others_count": 3,
        "beyond_limit_count": 0,
        "unknown_owner_count": 0,
        "look_ns": 1_000_000,
        "sample_ns": 50_000_000,
        "instead": None,
    }
    assert changed.keys() <= body.keys()
    return cast("ReplyWatched", {**body, **changed})
