"""Common features of the cycles of a phase: place by place, who let a packet go and what had held it."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from whyperf.analyze.flow.log import ACK_REASONS
from whyperf.explain.explanation import CyclePlace
from whyperf.explain.pattern.packets import HOLDS, RELEASES, Packets
from whyperf.explain.pattern.stretches import Stretch

Ints = NDArray[np.int64]

MAX_PLACES = 64
"""Packets of a cycle."""

BURST_RATIO = 0.7
"""So many of the bursts between acknowledgments must be of one length to be the cycle of a constant payload."""

MAX_SPANS = 1000
"""Of a phase that is broken more often, these spans count: the longest."""

_LET_GO = (RELEASES.index("ack"), RELEASES.index("woken"))


@dataclass(frozen=True)
class Cycles:
    """Cycles of one phase: `rows` has the packets of each, shape (cycles, packets of a cycle), in order.

    A cycle begins with the packet that waited the longest for an acknowledgment.
    """

    rows: Ints

    @property
    def count(self) -> int:
        """Whole cycles."""
        return int(self.rows.shape[0])

    @property
    def places(self) -> int:
        """Packets of a cycle."""
        return int(self.rows.shape[1])


def cycles_of(packets: Packets, stretch: Stretch) -> Cycles:
    """The whole cycles of a phase of packets; a constant payload's are what leaves between acknowledgments."""
    inner = stretch.inner
    if len(inner) > MAX_SPANS:
        inner = tuple(sorted(inner, key=lambda span: span[0] - span[1])[:MAX_SPANS])
    if stretch.period == 1:
        return _bursts(packets, inner)
    first = packets.payload[inner[0][0] : inner[0][0] + stretch.period]
    rows = np.concatenate([_rows(packets.payload, start, stop, first) for start, stop in sorted(inner)])
    return Cycles(_rotated(packets, rows))


def _rows(payload: Ints, start: int, stop: int, first: Ints) -> Ints:
    """Packets of whole cycles within one span, all beginning with the same place."""
    period = first.size
    own = payload[start : start + period]
    shift = next((by for by in range(period) if np.array_equal(np.roll(own, -by), first)), None)
    if shift is None:
        return np.empty((0, period), dtype=np.int64)
    count = (stop - start - shift) // period
    rows: Ints = start + shift + np.arange(count * period).reshape(count, period)
    return rows


def _rotated(packets: Packets, rows: Ints) -> Ints:
    """The cycles, beginning with the place that waits longest, of those an acknowledgment let go if there are any."""
    if rows.shape[0] < 2:
        return rows
    gaps = np.median(packets.gap_ns[rows[1:]], axis=0)
    let_go = np.isin(packets.released[rows], _LET_GO).mean(axis=0) >= 0.5
    by = int(np.argmax(np.where(let_go, gaps, -1) if let_go.any() else gaps))
    if by == 0:
        return rows
    turned = np.roll(rows, -by, axis=1)[:-1]
    turned[:, -by:] += rows.shape[1]
    # A cycle whose end would lie behind a break is none.
    whole = turned[:, -1] - turned[:, 0] == rows.shape[1] - 1
    following = rows[1:, 0] == rows[:-1, 0] + rows.shape[1]
    kept: Ints = turned[whole & following]
    return kept


def _bursts(packets: Packets, inner: tuple[tuple[int, int], ...]) -> Cycles:
    """Packets that leave between two acknowledgments, where that is mostly the same number; else each packet."""
    rows = np.concatenate([np.arange(start, stop) for start, stop in inner])
    starts_at = np.flatnonzero(packets.follows_ack[rows])
    lengths = np.diff(starts_at)
    if lengths.size:
        often = np.bincount(np.minimum(lengths, MAX_PLACES + 1))
        length = int(often.argmax())
        if 1 < length <= MAX_PLACES and often[length] >= BURST_RATIO * lengths.size:
            starts = starts_at[:-1][lengths == length]
            made: Ints = rows[starts[:, None] + np.arange(length)]
            return Cycles(made)
    return Cycles(rows[:, None])


def places(packets: Packets, cycles: Cycles) -> list[CyclePlace]:
    """Each place of the cycle by what most cycles have there; equal neighbors are one place."""
    found: list[CyclePlace] = []
    for place in range(min(cycles.places, MAX_PLACES)):
        own = cycles.rows[:, place]
        made = _place(packets, own)
        last = found[-1] if found else None
        if last and (last.payload_bytes, last.released_by, last.held_by) == (
            made.payload_bytes,
            made.released_by,
            made.held_by,
        ):
            found[-1] = last.model_copy(update={"times": last.times + 1})
        else:
            found.append(made)
    return found


def _place(packets: Packets, rows: Ints) -> CyclePlace:
    kinds = packets.released[rows].astype(np.int64) * len(HOLDS) + packets.held[rows]
    often = np.bincount(kinds)
    most = int(often.argmax())
    own = rows[kinds == most]
    released, held = RELEASES[most // len(HOLDS)], HOLDS[most % len(HOLDS)]
    reasons = packets.reason[own]
    known = reasons[reasons >= 0]
    has_reason = released in {"ack", "woken"} and known.size
    return CyclePlace(
        payload_bytes=int(np.median(packets.payload[rows])),
        released_by=released,  # type: ignore[arg-type]  # a word of RELEASES
        held_by=held,  # type: ignore[arg-type]  # a word of HOLDS
        ack_reason=ACK_REASONS[int(np.bincount(known).argmax())] if has_reason else "",
        ratio=own.size / rows.size,
        wait_ns=int(np.median(packets.gap_ns[rows])),
    )


def overlap_ratio(packets: Packets, rows: Ints) -> float | None:
    """Amount under way already when packets left, over what left; None from a receiver's log."""
    sent = int(packets.payload[rows].sum())
    if not packets.is_sender or not sent:
        return None
    return min(1.0, float(packets.under_way[rows].sum()) / sent)


def stop_and_go_ratio(packets: Packets, rows: Ints) -> float | None:
    """Computes how often an acknowledgment that let something go left nothing outstanding; None where none did."""
    let_go = rows[packets.follows_ack[rows] & np.isin(packets.released[rows], _LET_GO)]
    return float((packets.under_way[let_go] == 0).mean()) if let_go.size else None
