"""Packets of a flow as rows, and stretches of them without a gap."""

from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from whyperf.analyze.flow import Runs
from whyperf.analyze.flow.acks import IS_PURE_ACK
from whyperf.analyze.flow.cycle import find_cycles
from whyperf.analyze.flow.log import ACK, ACK_REASONS, CONTEXTS
from whyperf.analyze.flow.repeats import Repeat
from whyperf.explain.segment_log import UNKNOWN_NUMBER, LoggedConnection

Ints = NDArray[np.int64]
Flags = NDArray[np.bool_]
Codes = NDArray[np.int8]

RELEASES = ("ack", "woken", "write", "pacing", "timer", "worker", "unknown")
HOLDS = ("", "window", "congestion_window", "small")
"""Words of `CyclePlace.released_by` and `held_by`; a code is their place here."""

_ACK, _WOKEN, _WRITE = 0, 1, 2
_NOT, _WINDOW, _CONGESTION, _SMALL = range(4)

_BY_CONTEXT = {"process": "write", "net_rx": "ack", "timer": "timer", "hrtimer": "pacing", "worker": "worker"}
_RELEASED = np.array([RELEASES.index(_BY_CONTEXT.get(context, "unknown")) for context in CONTEXTS], dtype=np.int8)


@dataclass(frozen=True)
class Packets:
    """New data of one connection in order of time, one entry a packet; arrays of one length.

    `segments` are those on the wire, each of `full` bytes but the last.
    `gap_ns` is the time since the packet before. `released` and `held` are codes of `RELEASES` and `HOLDS`, `reason`
    of `ACK_REASONS` or -1: of the last acknowledgment before the packet. `follows_ack` says that one came since the
    packet before; `outstanding` is what was unacknowledged before it came, `under_way` when the packet left. From a
    receiver's log only times, sizes and reasons are known (`is_sender`).
    """

    time_ns: Ints
    sequence: Ints
    payload: Ints
    segments: Ints
    full: Ints
    gap_ns: Ints
    released: Codes
    held: Codes
    reason: Codes
    follows_ack: Flags
    outstanding: Ints
    under_way: Ints
    acks: pl.DataFrame
    is_sender: bool
    last_ns: int

    @property
    def life_ns(self) -> int:
        """From the first packet to the last thing logged."""
        return max(1, self.last_ns - int(self.time_ns[0])) if self.time_ns.size else 1


def packets_of(
    sender: LoggedConnection | None, receiver: LoggedConnection | None, mss: int | None = None
) -> Packets | None:
    """The packets of one connection, from the sender's log if there is any; None without data.

    Without `mss` (bytes) the largest payload of a segment stands for it.

    `acks` of the result are the pure ACKs as they came to the end whose log it is: `time_ns`, `acknowledgment`,
    `window_bytes`, `reason` (a word or null).
    """
    log, way = (sender, "out") if sender is not None else (receiver, "in")
    if log is None:
        return None
    leaves = log.is_out if way == "out" else ~log.is_out
    new = np.flatnonzero(leaves & (log.payload_bytes > 0) & (log.retransmission == UNKNOWN_NUMBER))
    if new.size == 0:
        return None
    reasons = None if receiver is None else receiver.rows.filter((pl.col("direction") == "out") & IS_PURE_ACK)
    acks = _with_reasons(log.rows.filter((pl.col("direction") != way) & IS_PURE_ACK), reasons, way)
    return _made(log, new, ~leaves & (log.flags & ACK != 0), acks, mss, is_sender=sender is not None)


def _with_reasons(acks: pl.DataFrame, sent: pl.DataFrame | None, way: str) -> pl.DataFrame:
    """The same acknowledgment, window and how many of both there were before identify an ACK on both hosts."""
    key = ["acknowledgment", "window_bytes"]
    if way == "in":
        return acks.select("time_ns", *key, pl.col("ack_reason").alias("reason"))
    mine = acks.select("time_ns", *key)
    if sent is None:
        return mine.with_columns(pl.lit(None, dtype=pl.Enum(list(ACK_REASONS))).alias("reason"))
    # Mostly all ACKs come in the order in which they left; then there is nothing to look for.
    both = min(mine.height, sent.height)
    if mine.select(key).head(both).equals(sent.select(key).head(both)):
        reason = sent["ack_reason"].head(both).extend_constant(None, mine.height - both)
        return mine.with_columns(reason.alias("reason"))
    mine = mine.with_columns(pl.int_range(pl.len()).over(key).alias("again"))
    theirs = sent.select(*key, pl.col("ack_reason").alias("reason"), pl.int_range(pl.len()).over(key).alias("again"))
    joined = mine.join(theirs, on=[*key, "again"], how="left", maintain_order="left")
    return joined.select("time_ns", *key, "reason")


def _made(
    log: LoggedConnection, new: Ints, is_ack: Flags, acks: pl.DataFrame, mss: int | None, *, is_sender: bool
) -> Packets:
    times = log.time_ns
    acked = _highest(np.where(is_ack, log.acknowledgment, 0))
    edge = _highest(np.where(is_ack, log.acknowledgment + log.window_bytes, 0))
    ack_at = _highest(np.where(is_ack, np.arange(times.size), -1))
    before = np.append(new[0], new[:-1])
    size, start = log.payload_bytes[new], log.sequence[new]
    segments = np.maximum(1, log.wire_segments[new])
    follows = ack_at[new] > before
    outstanding = np.maximum(0, start - np.maximum(acked[before], start[0]))
    released = _RELEASED[log.context[new]] if is_sender else np.full(new.size, RELEASES.index("unknown"), dtype=np.int8)
    held = np.zeros(new.size, dtype=np.int8)
    if is_sender:
        # No window was announced in what is logged before the first ACK: nothing is known to have held what goes first.
        room = np.where(edge[before] > 0, edge[before] - start, np.iinfo(np.int64).max)
        waited = follows & (outstanding > 0)
        cwnd = log.cwnd_segments[before]
        mss = mss or int(np.max(-(-size // segments)))
        # What the announced window had no room for, it held; a full congestion window comes next. What had room in both
        # and is less than a segment waited for an acknowledgment alone (RFC 896).
        held[waited & (size < mss)] = _SMALL
        held[waited & (cwnd > 0) & (outstanding > (cwnd - 1) * mss)] = _CONGESTION
        held[follows & (size > room)] = _WINDOW
        released = np.where((released == _WRITE) & (held != _NOT), _WOKEN, released).astype(np.int8)
    reason = acks["reason"].to_physical().fill_null(-1).cast(pl.Int8).to_numpy()
    last = np.searchsorted(acks["time_ns"].to_numpy(), times[new], side="right") - 1
    return Packets(
        time_ns=times[new],
        sequence=start,
        payload=size,
        segments=segments,
        full=np.where(segments > 1, log.gso_size_bytes[new], size),
        gap_ns=np.diff(times[new], prepend=times[new[0]]),
        released=released,
        held=held,
        reason=np.where(last >= 0, reason[np.maximum(last, 0)], -1).astype(np.int8) if reason.size else _none(new.size),
        follows_ack=follows,
        outstanding=outstanding,
        under_way=np.maximum(0, start - np.maximum(acked[new], start[0])),
        acks=acks,
        is_sender=is_sender,
        last_ns=int(times[-1]),
    )


def _highest(values: Ints) -> Ints:
    highest: Ints = np.maximum.accumulate(values)
    return highest


def _none(count: int) -> Codes:
    return np.full(count, -1, dtype=np.int8)


GAP_REPETITIONS = 4
GAP_RATIO = 0.1
"""Two stretches of one cycle are one if between them are at most so many repetitions, or this part of both together."""

MAX_PHASES = 12
"""A connection that changes more often goes back and forth: each of its cycles is reported once."""


@dataclass(frozen=True)
class Stretch:
    """Entries `start` to `stop` (exclusive) of a sequence; the spans in `inner` repeat a cycle of `period` entries.

    `returns` is how often the cycle began, 1 unless a connection goes back and forth.
    """

    start: int
    stop: int
    period: int
    inner: tuple[tuple[int, int], ...]
    returns: int = 1

    @property
    def covered(self) -> int:
        """Entries in the spans."""
        return sum(stop - start for start, stop in self.inner)


def find_stretches(runs: Runs) -> list[Stretch]:
    """The phases of a sequence, by where they begin. Entries of a phase that break its cycle are in no span of it."""
    before = np.append(0, np.cumsum(runs.repeats))
    spans: list[tuple[int, int, int, Repeat]] = []
    taken = np.zeros(runs.size.size, dtype=np.bool_)
    for number, repeat in enumerate(find_cycles(runs)):
        for start, stop in zip(repeat.starts.tolist(), repeat.stops.tolist(), strict=True):
            if not taken[start:stop].any():
                spans.append((int(before[start]), int(before[stop]), number, repeat))
        taken[repeat.runs()] = True
    spans.sort(key=lambda span: span[0])
    found = _joined(spans)
    return found if len(found) <= MAX_PHASES else _by_cycle(spans)


def _joined(spans: list[tuple[int, int, int, Repeat]]) -> list[Stretch]:
    """Neighbors of one cycle as one, if little lies between."""
    groups: list[tuple[int, int, list[tuple[int, int]]]] = []
    for start, stop, number, repeat in spans:
        if groups and groups[-1][0] == number:
            inner = groups[-1][2]
            gap, both = start - inner[-1][1], stop - start + inner[-1][1] - inner[0][0]
            if gap <= max(GAP_REPETITIONS * repeat.period_segments, GAP_RATIO * both):
                inner.append((start, stop))
                continue
        groups.append((number, repeat.period_segments, [(start, stop)]))
    return [Stretch(inner[0][0], inner[-1][1], period, tuple(inner)) for _, period, inner in groups]


def _by_cycle(spans: list[tuple[int, int, int, Repeat]]) -> list[Stretch]:
    """Each cycle once, from its first repetition to its last."""
    inner: dict[int, list[tuple[int, int]]] = {}
    periods: dict[int, int] = {}
    for start, stop, number, repeat in spans:
        inner.setdefault(number, []).append((start, stop))
        periods[number] = repeat.period_segments
    return [Stretch(own[0][0], own[-1][1], periods[number], tuple(own), len(own)) for number, own in inner.items()]
