"""What was lost on the way, segment by segment, and what the path had before it then.

Both ends' logs together tell exactly which copy of a segment never arrived. A queue that runs over
drops what comes when it is fullest; a line that corrupts, or a policy, drops without regard to that.
So a lost segment is compared with the others by the backlog that a queue of the line's rate would
have had in front of it, computed from when the sender's segments left (Lindley's recursion).
"""

from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]

MOST_SEGMENTS = 1_000_000
"""Segments looked at; the rest of a longer log is left out."""


@dataclass(frozen=True)
class Losses:
    """Of the connections together. `backlog_rank` is where the lost stand among all by backlog: 0.5 is anywhere, 1
    always at the most; None without a loss or a rate of the line. `run_mean` is how many consecutive segments were
    lost together.
    """

    sent: int
    lost: int
    runs: int
    run_mean: float | None
    backlog_rank: float | None


@dataclass(frozen=True)
class Wire:
    """Segments of one connection as they were on the wire, in the order of the log."""

    time_ns: Ints
    sequence: Ints
    payload: Ints


def on_wire(data: pl.DataFrame) -> Wire:
    """Takes super-segments apart. `data` has time_ns, sequence, payload_bytes, wire_segments; at most "
    "`MOST_SEGMENTS`."""
    counts = data["wire_segments"].cast(pl.Int64).to_numpy().clip(1)
    kept = int(np.searchsorted(np.cumsum(counts), MOST_SEGMENTS, side="right"))
    counts = counts[:kept]
    time, sequence, payload = (
        data[name].cast(pl.Int64).to_numpy()[:kept] for name in ("time_ns", "sequence", "payload_bytes")
    )
    size = -(-payload // counts)
    number = np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts)
    size_each = np.repeat(size, counts)
    begin = np.repeat(sequence, counts) + number * size_each
    end = np.minimum(begin + size_each, np.repeat(sequence + payload, counts))
    return Wire(np.repeat(time, counts), begin, end - begin)


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
    """Bytes that a queue of that rate has before it when each segment comes; lost ones never were in it."""
    waiting = np.empty(sent.time_ns.size)
    level, before = 0.0, int(sent.time_ns[0]) if sent.time_ns.size else 0
    sizes = (sent.payload + overhead).tolist()
    for number, (now, size, gone) in enumerate(zip(sent.time_ns.tolist(), sizes, lost.tolist(), strict=True)):
        level = max(0.0, level - (now - before) * bytes_per_ns)
        before = now
        waiting[number] = level
        if not gone:
            level += size
    return waiting


def losses(sent: Wire, arrived: Wire, bytes_per_ns: float | None, overhead: int = 66) -> Losses:
    """What one connection lost. `bytes_per_ns` is the rate of the line, `overhead` the headers of a segment."""
    lost = lost_copies(sent, arrived)
    count = int(lost.sum())
    begins = int((lost[1:] & ~lost[:-1]).sum()) + int(lost[:1].sum())
    rank = None
    if 0 < count < lost.size and bytes_per_ns:
        waiting = backlog(sent, lost, bytes_per_ns, overhead)
        rank = _rank(waiting[lost], waiting[~lost])
    return Losses(int(lost.size), count, begins, count / begins if begins else None, rank)


def _rank(some: Floats, others: Floats) -> float:
    """How often one of `some` is larger than one of `others`; a tie counts half (Mann, Whitney 1947)."""
    ordered = np.sort(others)
    below = np.searchsorted(ordered, some, side="left")
    upto = np.searchsorted(ordered, some, side="right")
    return float(((below + upto) / 2).mean() / others.size)
