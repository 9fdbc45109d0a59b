"""The segment-flow pattern: the cycle that repeats between acknowledgments, and what changes it.

`pattern_of` finds the phases of a connection in its segment log, says of each turn who let each
packet go and what had held it, and puts that in words. It rests on the cycles of
`whyperf.analyze.flow`; retransmissions are left out of them and told by themselves (`Losses`).

What the rules of verdicts may ask of a `Phase`: `turn[k].held_by == "small"` is a write that does not
fit the window or Nagle's rule, by `ack_reason` and `wait_ns` with or without the delayed-ACK timer;
`stop_and_go_ratio` and `overlap_ratio` tell work by turns; `Losses.lost_in_receiver` what the
receiving host lost.
"""

from collections.abc import Collection

import polars as pl

from whyperf.analyze.flow import FlowTrial, read_user
from whyperf.explain.model import Pattern
from whyperf.explain.pattern.packets import read_rows
from whyperf.explain.pattern.phases import describe_pattern

__all__ = ["pattern_of", "patterns_of"]


def pattern_of(trial: FlowTrial, connection: int) -> Pattern:
    """The pattern of one connection of `trial`; without a log it says what is missing.

    Raises:
        RecordError: a log cannot be read.
    """
    return patterns_of(trial, [connection])[0]


def patterns_of(trial: FlowTrial, connections: Collection[int]) -> list[Pattern]:
    """The pattern of each of `connections`, in their order; the logs are read once.

    Raises:
        RecordError: a log cannot be read.
    """
    wanted = list(connections)
    rows = {role: _by_connection(trial, role, wanted) for role in ("sender", "receiver")}
    segment = _segment_sizes(trial)
    found = []
    for connection in wanted:
        sender, receiver = (None if logs is None else logs.get(connection) for logs in rows.values())
        found.append(describe_pattern(trial.trial, connection, sender, receiver, segment.get(connection)))
    return found


def _by_connection(trial: FlowTrial, role: str, wanted: list[int]) -> dict[int, pl.DataFrame] | None:
    end = trial.end(role)
    log = None if end is None else read_rows(trial, end.host, wanted)
    if log is None:
        return None
    if len(wanted) == 1:
        return {wanted[0]: log}
    return {
        int(key[0]): rows for key, rows in log.partition_by("connection", as_dict=True, maintain_order=True).items()
    }


def _segment_sizes(trial: FlowTrial) -> dict[int, int]:
    """The sender's MSS of each connection."""
    end = trial.end("sender")
    if end is None or trial.file("flows", end.host) is None:
        return {}
    flows = read_user(trial, end.host).flows
    if "mss_bytes" not in flows.columns:
        return {}
    rows = flows.select("connection", "mss_bytes").drop_nulls().iter_rows()
    return {int(connection): int(size) for connection, size in rows if size}
