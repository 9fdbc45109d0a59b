"""Losses on the path, segment by segment, and what the path had before it then.

The logs of both hosts together show exactly which copy of a segment never arrived. A queue that runs over drops what
comes when it is fullest; a link that corrupts, or a policy, drops without regard to that. So a lost segment is compared
with the others by the backlog that a queue of the bottleneck's rate would have had in front of it, computed from when
the sender's segments left (Lindley's recursion).

Losses of a queue are separated from random ones, and single ones from those in bursts. Both are decided by likelihood
ratios, so that few losses show little, and how little they show is a figure.
"""

from collections.abc import Iterator, Mapping, Sequence
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


OVERRUN_POWER, STRAY_RATIO = 20.0, 0.1
"""Ranks of a queue's drops have the density of the highest of 20 segments drawn at random, 0.95 on average, as they
have in real logs; one in ten lies anywhere, for a host that was late makes the computed backlog wrong."""
MAX_SINGLE_RATIO = 0.5
"""With more segments lost than that no loss is a single one."""
_STEPS = 200


def loss_events(runs: Sequence[LostRun], span_ns: float) -> list[LostRun]:
    """The first run of each loss event; losses within a round trip are one to a congestion control (RFC 5348
    section 5.2).

    Args:
        runs: in the order of time.
        span_ns: a round trip.
    """
    found: list[LostRun] = []
    for run in runs:
        if not found or run.begin_ns - found[-1].begin_ns > span_ns:
            found.append(run)
    return found


def random_part(ranks: Sequence[float]) -> float | None:
    """The expected part of the loss events that came without regard to the backlog; None without any.

    Random losses have evenly spread ranks, those of a queue that overflows are at the top: this is the part of the
    first kind in such a mixture, with a uniform prior.
    """
    if not ranks:
        return None
    parts = (np.arange(_STEPS) + 0.5) / _STEPS
    likely = np.log(parts + (1 - parts) * _overrun_density(ranks)[:, None]).sum(axis=0)
    belief = np.exp(likely - likely.max())
    return float((parts * belief).sum() / belief.sum())


def random_weights(ranks: Sequence[float | None], part: float) -> list[float]:
    """Probability that each loss is random, where `part` of all is; 1 where no rank is known."""
    return [1.0 if rank is None else part / (part + (1 - part) * float(_overrun_density([rank])[0])) for rank in ranks]


def burst_likelihood_log10(
    sizes: Sequence[int], ranks: Sequence[float | None], random_ratio: float, lost_ratio: float
) -> float:
    """The decimal logarithm of the likelihood ratio of burst losses over independent losses; 0 is as likely.

    Each run is a queue's in both hypotheses, or random: a long one that a queue explains says nothing of the others.

    Args:
        sizes: lengths of runs.
        ranks: of the backlog before each; None where no line is known, and so no queue's.
        random_ratio: the part of the runs that is random.
        lost_ratio: the probability of a segment to be lost, if losses are independent.
    """
    alone = min(max(lost_ratio, 1e-9), MAX_SINGLE_RATIO)
    size = np.asarray(sizes, dtype=np.float64)
    known = np.asarray([rank is not None for rank in ranks], dtype=np.bool_)
    density = _overrun_density([0.0 if rank is None else rank for rank in ranks])
    # Bursts, and queues that run over, may lose few or many: half of them one segment, a sixth two, and so on.
    any_length = 1 / (size * (size + 1))
    of_queue = np.where(known, (1 - random_ratio) * density * any_length, 0.0)
    of_random = np.where(known, random_ratio, 1.0)
    # A run of independent losses goes on size - 1 times, and ends once.
    bursts, singles = of_random * any_length, of_random * (1 - alone) * alone ** (size - 1)
    return float(np.log10(np.maximum(bursts + of_queue, TINY) / np.maximum(singles + of_queue, TINY)).sum())


TINY = 1e-300
"""Keeps a run of a thousand segments from a likelihood of 0."""


def _overrun_density(ranks: Sequence[float]) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    top = OVERRUN_POWER * np.asarray(ranks, dtype=np.float64) ** (OVERRUN_POWER - 1)
    return np.asarray((1 - STRAY_RATIO) * top + STRAY_RATIO)
