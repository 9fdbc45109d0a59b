"""The segment-flow pattern: the cycle that repeats between acknowledgments, and what changes it.

`patterns_of` finds the phases of a connection in its segment log, says of each cycle who let each
packet go and what had held it, and puts that in words. It rests on the cycles of
`whyperf.analyze.flow`; retransmissions are left out of them and described separately (`Losses`).

What limits may ask of a `Phase`: `turn[k].held_by == "small"` is a write that does not
fit the window or Nagle's rule, by `ack_reason` and `wait_ns` with or without the delayed-ACK timer;
`stop_and_go_ratio` and `overlap_ratio` show alternating work; `Losses.lost_in_receiver` what the
receiving host lost.
"""

from collections.abc import Collection

from whyperf.analyze.flow import FlowTrial, read_user
from whyperf.explain.explanation import Pattern
from whyperf.explain.pattern.phases import describe_pattern
from whyperf.explain.segment_log import LoggedConnection, SegmentLog, SegmentLogs

__all__ = ["patterns_of"]


def patterns_of(trial: FlowTrial, logs: SegmentLogs, connections: Collection[int]) -> list[Pattern]:
    """The pattern of each of `connections`, in their order; without a log it says what is missing.

    Raises:
        RecordError: the table of connections cannot be read.
    """
    mss = _segment_sizes(trial)
    found = []
    for number in connections:
        sender, receiver = (_load(log, number) for log in (logs.sender, logs.receiver))
        found.append(describe_pattern(trial.trial, number, sender, receiver, mss.get(number)))
    return found


def _load(log: SegmentLog | None, number: int) -> LoggedConnection | None:
    """The segments of the load on a connection."""
    logged = None if log is None else log.connection(number)
    return None if logged is None else logged.since_start


def _segment_sizes(trial: FlowTrial) -> dict[int, int]:
    """The sender's MSS of each connection."""
    end = trial.end("sender")
    if end is None:
        return {}
    rows = read_user(trial, end.host).flows.select("connection", "mss_bytes").drop_nulls().iter_rows()
    return {int(connection): int(size) for connection, size in rows if size}
