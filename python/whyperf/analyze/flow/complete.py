"""The completeness of a log: whether it holds every segment.

Segments that TCP counted and the log does not have.

The last sample of TCP_INFO is taken when all payload was delivered: nothing is in flight, and up
to that instant TCP has counted what the log should hold (`tcpi_segs_out`, `tcpi_segs_in`: a
super-segment as its wire segments). A SYN ACK leaves before there is a socket to count it. What a
firewall drops behind the log's hooks is logged and not counted, so only the other direction shows it.
"""

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import polars as pl

from whyperf.analyze.flow.log import ACK, SYN, read_log, scan_log
from whyperf.analyze.flow.relative import count_new, rows_by_stream, stream_of
from whyperf.analyze.flow.tables import read_user
from whyperf.analyze.flow.trial import EndEvidence, FlowTrial
from whyperf.analyze.text import count, percent, si

_DIRECTIONS = ("out", "in")


def unlogged_segments(log: pl.LazyFrame, tcp_info: pl.DataFrame) -> pl.DataFrame:
    """Of each connection with a last sample: `connection`, `unlogged_segments` (Int64), both directions together.

    Data and all segments are compared each for themselves; the larger difference counts.
    """
    final = tcp_info.filter(pl.col("final")).unique("connection")
    if final.is_empty():
        return pl.DataFrame(schema={"connection": pl.UInt32(), "unlogged_segments": pl.Int64()})
    counted = final.select("connection", pl.col("sample_ns").alias("until_ns"))
    is_syn_ack = (pl.col("flags") & (SYN | ACK)) == (SYN | ACK)
    wire = pl.col("wire_segments").cast(pl.Int64)
    sums = []
    for direction in _DIRECTIONS:
        rows = (
            (pl.col("direction") == direction) & ~is_syn_ack if direction == "out" else pl.col("direction") == direction
        )
        sums.append(wire.filter(rows).sum().alias(f"segments_{direction}"))
        sums.append(wire.filter(rows & (pl.col("payload_bytes") > 0)).sum().alias(f"data_segments_{direction}"))
    logged = (
        log.join(counted.lazy(), on="connection", how="inner")
        .filter(pl.col("time_ns") <= pl.col("until_ns"))
        .group_by("connection")
        .agg(sums)
        .collect(engine="streaming")
    )
    both = final.join(logged, on="connection", how="left", suffix="_logged")
    missing = [
        pl.max_horizontal(_missing(f"segments_{direction}"), _missing(f"data_segments_{direction}"))
        for direction in _DIRECTIONS
    ]
    return both.select("connection", pl.sum_horizontal(missing).alias("unlogged_segments"))


def _missing(column: str) -> pl.Expr:
    counted, logged = pl.col(column).cast(pl.Int64), pl.col(f"{column}_logged").fill_null(0)
    return (counted - logged).clip(0).fill_null(0)


NEARLY_COMPLETE_RATIO = 0.99
"""From here on what a log lacks changes no share or mean that is printed by more than rounding does; only what counts
single segments, such as losses, depends on it."""

DATA_COLUMNS = ("connection", "direction", "sequence", "payload_bytes")


@dataclass(frozen=True)
class Completeness:
    """The completeness of a log, as far as it is known.

    `complete` is only true when no event and no call was lost, no run missed, nothing broke off, the payload
    adds up and TCP counted no more segments than were logged; `reason` says in a sentence what it lacks most of, and
    `ratio` which part of that (events, calls, payload or segments) is there; null where that is not known.
    `lost_events_count` by CPU. `connections` has a row a connection: `connection`, `moved_bytes` (the load's own
    count), `preamble_bytes`, `logged_bytes` (sequence space of the payload's direction, of both where the workload
    moves both ways, each octet once), `again_bytes` (octets logged more than once: retransmissions), `missing_bytes`
    (moved + preamble - logged; negative when more was sent than moved), `unlogged_segments` (counted by TCP and not in
    the log; null when not known), `ended` as in the table `flows`.
    """

    host: str
    complete: bool
    reason: str | None
    ratio: float | None
    rows_count: int
    logged_events_count: int
    lost_events_count: Mapping[int, int]
    missed_runs_count: int
    connections: pl.DataFrame

    @property
    def is_nearly_complete(self) -> bool:
        """True where it lacks so little that only counts of single segments depend on it."""
        return self.ratio is not None and self.ratio >= NEARLY_COMPLETE_RATIO

    @property
    def summary(self) -> str:
        """`complete`, `99.7 % complete`, or `not complete`; rounded down."""
        if self.complete:
            return "complete"
        return "not complete" if self.ratio is None else f"{math.floor(self.ratio * 1000) / 10:.1f} % complete"


def completeness(trial: FlowTrial, host: str) -> Completeness | None:
    """The completeness of the log of the end at `host`; None when there is no log.

    Preamble and welcome are what goes each way before the load begins; they are equally long.
    """
    whole = scan_log(trial, host)
    if whole is None:
        return None
    rows = int(whole.select(pl.len()).collect().item())
    end = trial.ends[host]
    is_payload = pl.col("payload_bytes") > 0
    if not trial.moves_both_ways:
        is_payload &= pl.col("direction") == ("out" if end.role == "sender" else "in")
    data = read_log(trial, host, columns=DATA_COLUMNS, where=is_payload)
    opening = read_log(trial, host, columns=DATA_COLUMNS, where=(pl.col("time_ns") < 0) & (pl.col("payload_bytes") > 0))
    assert data is not None
    assert opening is not None
    user = read_user(trial, host)
    connections = _connections(data, opening, user.flows, 2 if trial.moves_both_ways else 1).join(
        unlogged_segments(whole, user.tcp_info), on="connection", how="left", maintain_order="left"
    )
    evidence = end.evidence
    role = None if trial.moves_both_ways else end.role
    if trial.is_watched:
        # It was attached and detached while the connection moved, and sampled at other instants: nothing adds up.
        connections = connections.with_columns(
            missing_bytes=pl.lit(0, pl.Int64), unlogged_segments=pl.lit(None, pl.Int64)
        )
    gaps = _gaps(evidence, rows, connections, role)
    # The gap that is named is the one that makes the ratio; of equal ones the first, for which a reason is known.
    largest = max((gap.size for gap in gaps), default=0.0)
    worst = next((gap for gap in gaps if gap.size >= SAME_PART * largest), None)
    return Completeness(
        host=host,
        complete=worst is None,
        reason=None if worst is None else worst.reason,
        ratio=1.0 if worst is None else None if worst.ratio is None else max(0.0, 1 - worst.ratio),
        rows_count=rows,
        logged_events_count=evidence.logged_events_count,
        lost_events_count=evidence.lost_events_count,
        missed_runs_count=evidence.missed_runs_count,
        connections=connections,
    )


SAME_PART = 0.99
"""A gap is at least this part of the largest one if both are the same, counted in events and in TCP's segments: a log
that was full lacked 39.6 % of the events and 39.7 % of the segments."""


class _Gap(NamedTuple):
    """Something that a log lacks, in a sentence, and which part of it that is; None where it is not known."""

    reason: str
    ratio: float | None

    @property
    def size(self) -> float:
        """The part that is lacking; all of it where that is not known."""
        return 1.0 if self.ratio is None else self.ratio


def _gaps(evidence: EndEvidence, rows: int, connections: pl.DataFrame, role: str | None) -> list[_Gap]:
    """All that the log lacks: as the agent says, and as payload and TCP's own counts do not add up."""
    found = [*_lost(evidence, rows), *_not_adding_up(connections, role), *_not_logged(connections, rows)]
    return found[:1] if evidence.broken_off else found


def _connections(data: pl.DataFrame, opening: pl.DataFrame, flows: pl.DataFrame, ways: int) -> pl.DataFrame:
    """The connections' rows; `ways` is in how many directions payload goes."""
    logged = _octets(data).group_by("connection").agg(pl.col("logged_bytes", "again_bytes").sum())
    preamble = _octets(opening).group_by("connection").agg(preamble_bytes=ways * pl.col("logged_bytes").max())
    columns = ("preamble_bytes", "logged_bytes", "again_bytes")
    return (
        flows.select("connection", pl.col("payload_bytes").cast(pl.Int64).alias("moved_bytes"), "ended")
        .join(logged, on="connection", how="full", coalesce=True)
        .join(preamble, on="connection", how="left")
        .with_columns(pl.col(columns).fill_null(0))
        .with_columns(
            (pl.col("moved_bytes") + pl.col("preamble_bytes") - pl.col("logged_bytes")).alias("missing_bytes")
        )
        .select("connection", "moved_bytes", *columns, "missing_bytes", "ended")
        .sort("connection")
    )


def _octets(data: pl.DataFrame) -> pl.DataFrame:
    """Of each connection and direction: `logged_bytes`, every octet once, and `again_bytes`, those logged again."""
    start, size = data["sequence"].to_numpy(), data["payload_bytes"].to_numpy()
    streams = stream_of(data["connection"].to_numpy(), (data["direction"] == "out").to_numpy())
    kinds = {"connection": pl.UInt32(), "logged_bytes": pl.Int64(), "again_bytes": pl.Int64()}
    found = []
    for stream, rows in rows_by_stream(streams):
        new = count_new(start[rows], start[rows] + size[rows])
        found.append((stream // 2, new, int(size[rows].sum(dtype=np.int64)) - new))
    return pl.DataFrame(found, schema=kinds, orient="row")


def _lost(evidence: EndEvidence, rows: int) -> Iterator[_Gap]:
    """The gaps of the log that the agent itself reports, or that its count shows."""
    lost, lost_calls = sum(evidence.lost_events_count.values()), sum(evidence.lost_calls_count.values())
    events = max(rows, evidence.logged_events_count) + evidence.missed_runs_count
    if evidence.broken_off:
        yield _Gap(f"The log breaks off: {evidence.broken_off}", None)
    if lost:
        reason = f"{count(lost, 'event')} of {evidence.logged_events_count:,} were lost because the log was full."
        yield _Gap(reason, max(events - rows, lost) / events)
    elif evidence.missed_runs_count:
        reason = f"The kernel left out {count(evidence.missed_runs_count, 'run')} of the log's programs."
        yield _Gap(reason, (events - rows) / events)
    elif evidence.logged_events_count != rows:
        reason = f"The log has {count(rows, 'row')}, but {count(evidence.logged_events_count, 'event')} were logged."
        yield _Gap(reason, (events - rows) / events)
    if lost_calls:
        calls = evidence.logged_calls_count
        reason = f"{count(lost_calls, 'call')} of {calls:,} were lost because their log was full."
        yield _Gap(reason, lost_calls / max(calls, lost_calls))


#: Below this a percentage would read 0.0.
SMALLEST_RATIO = 0.0005


def _not_adding_up(connections: pl.DataFrame, role: str | None) -> Iterator[_Gap]:
    """The connections whose payload does not add up. Of one cut short, some may be unsent or unread; without a role
    either.
    """
    missing = pl.col("missing_bytes")
    is_left = {"sender": missing > 0, "receiver": missing < 0}.get(role or "", pl.lit(value=True))
    wrong = connections.filter((missing != 0) & ~((pl.col("ended") != "complete") & is_left))
    unknown = connections["moved_bytes"].null_count()
    if unknown:
        yield _Gap(f"{count(unknown, 'connection')} of the log are not in the table flows.", None)
    if wrong.is_empty():
        return
    # What one connection has too many does not make up for what another lacks.
    lacks, extra = (int(wrong.select(part.clip(0).sum()).item()) for part in (missing, -missing))
    expected = int((connections["moved_bytes"] + connections["preamble_bytes"]).sum())
    what = f"lacks {si(lacks, 'B')}" if lacks >= extra else f"has {si(extra, 'B')} too many"
    ratio = max(lacks, extra) / max(1, expected)
    share = percent(ratio) if ratio >= SMALLEST_RATIO else "under 0.1 %"
    place = f"connection {wrong['connection'][0]}" if wrong.height == 1 else count(wrong.height, "connection")
    yield _Gap(f"The log {what} of {si(expected, 'B')} ({share}), in {place}.", ratio)


def _not_logged(connections: pl.DataFrame, rows: int) -> Iterator[_Gap]:
    """Number of segments that are missing where payload alone does not show it: ACKs, and what was sent twice.

    A connection cut short may still be moving segments when TCP is asked for its counts.
    """
    known = connections.filter((pl.col("ended") == "complete") & (pl.col("unlogged_segments") > 0))
    if known.is_empty():
        return
    number = int(known["unlogged_segments"].sum())
    reason = f"TCP counted {count(number, 'segment')} more than the log has, of {count(known.height, 'connection')}."
    yield _Gap(reason, number / (rows + number))
