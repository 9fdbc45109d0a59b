"""Whether a log holds every segment."""

from collections.abc import Mapping
from dataclasses import dataclass

import polars as pl

from whyperf.analyze.flow.trial import FlowTrial


@dataclass(frozen=True)
class Completeness:
    """What is known of a log's completeness.

    `complete` is only true when no event was lost, no run missed, nothing broke off and the
    payload adds up; `reason` says in a sentence why not. `lost_events_count` by CPU. `connections`
    has a row a connection: `connection`, `moved_bytes` (the load's own count), `preamble_bytes`,
    `logged_bytes` (sequence space of the payload's direction, each octet once), `again_bytes`
    (octets logged more than once: retransmissions), `missing_bytes` (moved + preamble - logged;
    negative when more was sent than moved).
    """

    host: str
    complete: bool
    reason: str | None
    rows_count: int
    logged_events_count: int
    lost_events_count: Mapping[int, int]
    missed_runs_count: int
    connections: pl.DataFrame


def completeness(trial: FlowTrial, host: str) -> Completeness | None:
    """Whether the log of the end at `host` is complete; None when there is no log.

    The length of the preamble is what went the other way before the load: preamble and welcome are
    equally long.
    """
    raise NotImplementedError(trial, host)
