"""Losses on the path, segment by segment, and what the path had before it then.

The logs of both hosts together show exactly which copy of a segment never arrived. A queue that runs over
drops what comes when it is fullest; a link that corrupts, or a policy, drops without regard to that.
So a lost segment is compared with the others by the backlog that a queue of the bottleneck's rate would
have had in front of it, computed from when the sender's segments left (Lindley's recursion).
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from whyperf.explain.gather.bottleneck import HEADERS_BYTES
from whyperf.explain.path_facts import LostRun

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]

MAX_SEGMENTS = 1_000_000
"""Segments looked at; the rest of a longer log is left out."""


@dataclass(frozen=True)
class Losses:
    """Of connections that share a bottleneck; the runs in their order."""

    sent: int
    lost: int
    runs: tuple[LostRun, ...]


@dataclass(frozen=True)
class Wire:
    """Segments of one connection as they were on the wire, in the order of the log."""

    time_ns: Ints
    sequence: Ints
    payload: Ints


def on_wire(data: pl.DataFrame) -> Wire:
    """Takes super-segments apart. `data` has time_ns, sequence, payload_bytes, wire_segments; at most "
    "`MAX_SEGMENTS`."""
    counts = data["wire_segments"].cast(pl.Int64).to_numpy().clip(1)
    kept = int(np.searchsorted(np.cumsum(counts), MAX_SEGMENTS, side="right"))
    counts = counts[:kept]
    time, sequence, payload = (
        data[name].cast(pl.Int64).to_numpy()[:kept] for name in ("time_ns", "sequence", "payload_bytes")
    )
    size = -(-payload // counts)
    number = np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts)
    size_each = np.repeat(size, counts)
    start = np.repeat(sequence, counts) + number * size_each
    end = np.minimum(start + size_each, np.repeat(sequence + payload, counts))
    return Wire(np.repeat(time, counts), start, end - start)


def lost_copies(sent: Wire, arrived: Wire) -> Flags:
    """Which of the segments sent never arrived: of k copies of which m came, the first k - m.

    One that was sent only once got there, or the connection would still wait for it: a log with gaps makes no losses.
    """
    order = np.lexsort((sent.time_ns, sent.sequence))
    ordered = sent.sequence[order]
    starts, first, copies = np.unique(ordered, return_index=True, return_counts=True)
    nth = np.arange(ordered.size) - np.repeat(first, copies)
    came_from, came = np.unique(arrived.sequence, return_counts=True)
    at = np.searchsorted(came_from, starts).clip(max=max(0, came_from.size - 1))
    found = np.where(came_from[at] == starts, came[at], 0) if came_from.size else np.zeros(starts.size, dtype=np.int64)
    lost = np.zeros(ordered.size, dtype=np.bool_)
    lost[order] = (nth < np.repeat(copies - found, copies)) & (nth < np.repeat(copies - 1, copies))
    return lost


def backlog(sent: Wire, lost: Flags, bytes_per_ns: float, overhead: int) -> Floats:
    """Bytes that a queue of that rate has before it when each segment comes; lost ones never were in it.

    The level after each segment is what the one before left, less what the bottleneck took since then, and never below
    nothing: a random walk reflected at 0, which is the walk less its least value so far (Lindley 1952).
    """
    entered = np.where(lost, 0, sent.payload + overhead)
    steps = np.concatenate(([0], entered[:-1])) - np.diff(sent.time_ns, prepend=sent.time_ns[:1]) * bytes_per_ns
    walk = np.cumsum(steps)
    return walk - np.minimum(np.minimum.accumulate(walk), 0.0)


def losses(
    connections: Mapping[int, tuple[Wire, Wire]], bytes_per_ns: float | None, overhead: int = HEADERS_BYTES
) -> Losses:
    """Losses of connections that share a line.

    Args:
        connections: what each sent and what of it arrived.
        bytes_per_ns: the rate of the bottleneck; None where it is not known.
        overhead: the headers of a segment.
    """
    if not connections:
        return Losses(0, 0, ())
    gone = [lost_copies(sent, arrived) for sent, arrived in connections.values()]
    whose = np.repeat(list(connections), [flags.size for flags in gone])
    time, sequence, payload = (
        np.concatenate([getattr(sent, name) for sent, _ in connections.values()])
        for name in ("time_ns", "sequence", "payload")
    )
    order = np.argsort(time, kind="stable")
    sent, lost, whose = Wire(time[order], sequence[order], payload[order]), np.concatenate(gone)[order], whose[order]
    starts = np.flatnonzero(lost & ~np.concatenate(([False], lost[:-1])))
    sizes = np.diff(np.append(np.cumsum(lost)[starts] - 1, lost.sum()))
    ranks: list[float | None] = [None] * starts.size
    if bytes_per_ns and starts.size > 0:
        waiting = backlog(sent, lost, bytes_per_ns, overhead)
        ranks = list(_ranks(waiting[starts], waiting[~lost]))
    runs = (
        LostRun(int(whose[at]), int(sent.time_ns[at]), int(sent.time_ns[at + size - 1]), size, rank)
        for at, size, rank in zip(starts.tolist(), sizes.tolist(), ranks, strict=True)
    )
    return Losses(int(lost.size), int(lost.sum()), tuple(runs))


def _ranks(some: Floats, others: Floats) -> Iterator[float]:
    """The part of `others` that each is larger than; a tie counts half (Mann, Whitney 1947)."""
    ordered = np.sort(others)
    below = np.searchsorted(ordered, some, side="left")
    upto = np.searchsorted(ordered, some, side="right")
    yield from ((below + upto) / 2 / max(1, others.size)).tolist()
