"""What happened at one side, written as a scene, and the states that the budget makes of it.

    call 0 10 moved=2896
    8   > 1:1449     unsent=1448
    9   > 1449:2897
    110 < ack=2897   win=65536

Times are microseconds. `call` is a call of the application (start, end, bytes moved; `blocked`, `preempted`,
`softirq` in it; `slept` and `runnable` before it; `would_block`). `>` left, `<` arrived: first octet and one past
the last, and what else is known; `by` is the context, `again` the kind of a retransmission.
"""

from typing import Any

import numpy as np
import polars as pl

from whyperf.analyze.flow.log import CONTEXTS, RETRANSMISSIONS
from whyperf.explain.budget import host as receiving
from whyperf.explain.budget import sender as sending
from whyperf.explain.budget.calls import Calls, calls_from, with_thread
from whyperf.explain.budget.sender import Options, Peer
from whyperf.explain.budget.shares import spans_of
from whyperf.explain.segment_log import LoggedConnection

US = 1000


def segments(text: str) -> LoggedConnection:
    """The segments of a scene."""
    rows = [_segment(line.split()) for line in _lines(text) if not line.startswith("call")]
    return LoggedConnection(pl.DataFrame(rows))


def calls(text: str) -> Calls | None:
    """The calls of a scene; None when it has none."""
    rows = [_call(line.split()) for line in _lines(text) if line.startswith("call")]
    return calls_from(with_thread(pl.DataFrame(rows))) if rows else None


MSS = 1448


def sender(
    text: str, *, no_delay: bool = False, fills_buffer: bool = False, held: tuple[int, int] | None = None
) -> list[str]:
    """The sender's spans as "begin-end state"; the reader let payload lie from `held[0]` to `held[1]`."""
    log, made = segments(text), calls(text)
    peer = Peer() if held is None else Peer(None, np.array(held) * US, np.array([True, False]))
    found = sending.explain_gaps(log, made, life(log, made), peer, Options(no_delay, MSS, fills_buffer))
    return _listed(spans_of(found.gaps, found.state, sending.SENDER_STATES))


def clocks(text: str) -> dict[str, list[str]]:
    """When each of the kernel's clocks would run, as "begin-end"."""
    log, made = segments(text), calls(text)
    found = sending.explain_gaps(log, made, life(log, made), Peer(), Options(no_delay=True, mss_bytes=MSS))
    runs = {"busy": found.is_busy, "rwnd_limited": found.is_window_full, "sndbuf_limited": found.is_buffer_full}
    return {
        name: [
            f"{start / US:g}-{end / US:g}"
            for start, end, state in spans_of(found.gaps, holds.astype(np.int64), ("", "runs")).iter_rows()
            if state
        ]
        for name, holds in runs.items()
    }


def receiver(text: str) -> list[str]:
    """The receiver's spans as "begin-end state"."""
    log, made = segments(text), calls(text)
    found = receiving.explain_gaps(log, made, life(log, made))
    return _listed(spans_of(found.gaps, found.state, receiving.RECEIVER_STATES))


def _lines(text: str) -> list[str]:
    return [line.strip() for line in text.strip().splitlines()]


def life(log: LoggedConnection, made: Calls | None) -> tuple[int, int]:
    """From the first event to the last."""
    times = [log.time_ns] if made is None else [log.time_ns, made.start, made.end]
    return int(min(part[0] for part in times)), int(max(part[-1] for part in times))


def _listed(spans: pl.DataFrame) -> list[str]:
    return [f"{start / US:g}-{end / US:g} {state}" for start, end, state in spans.iter_rows()]


def _segment(parts: list[str]) -> dict[str, Any]:
    at, way, *rest = parts
    known = dict(word.split("=") for word in rest if "=" in word)
    octets = next((word for word in rest if ":" in word), "0:0")
    first, last = (int(number) for number in octets.split(":"))
    again = known.get("again")
    return {
        "direction": "out" if way == ">" else "in",
        "time_ns": round(float(at) * US),
        "sequence": first,
        "acknowledgment": int(known.get("ack", -1)),
        "payload_bytes": last - first,
        "gso_size_bytes": int(known.get("gso", 0)),
        "wire_segments": int(known.get("wire", 1)),
        "flags": int(known.get("flags", 16)),
        "window_bytes": int(known.get("win", 65536)),
        "unacked_bytes": int(known.get("unacked", -1)),
        "unsent_bytes": int(known.get("unsent", -1)),
        "cwnd_segments": int(known.get("cwnd", -1)),
        "ssthresh_segments": int(known.get("ssthresh", -1)),
        "receive_queue_bytes": int(known.get("queue", -1)),
        "context": CONTEXTS.index(known.get("by", "process" if way == ">" else "net_rx")),
        "retransmission": -1 if again is None else RETRANSMISSIONS.index(again),
    }


def _call(parts: list[str]) -> dict[str, Any]:
    known = dict(word.split("=") for word in parts[3:] if "=" in word)
    times = {
        "blocked_ns": "blocked",
        "preempted_ns": "preempted",
        "softirq_ns": "softirq",
        "waited_before_ns": "slept",
        "runnable_before_ns": "runnable",
    }
    return {
        "connection": 0,
        "thread": 1,
        "start": round(float(parts[1]) * US),
        "end": round(float(parts[2]) * US),
        "would_block": "would_block" in parts,
        "moved_bytes": int(known.get("moved", 0)),
        **{column: round(float(known.get(word, 0)) * US) for column, word in times.items()},
    }
