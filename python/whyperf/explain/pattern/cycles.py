"""Repetitions in a flow, and where it changes."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from whyperf.analyze.flow.log import ACK_REASONS
from whyperf.explain.explanation import CyclePlace, Statement
from whyperf.explain.pattern.packets import HOLDS, RELEASES, Packets, Stretch
from whyperf.explain.segment_log import LoggedConnection
from whyperf.explain.wording.catalog import statement

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


LOOK_BACK_CYCLES = 2
LOOK_BACK_PACKETS = 4
"""A change shows so many cycles, and so many packets, after its cause at the latest."""

USUAL_RATIO = 0.2
"""Part of the old phase's acknowledgments above which a thing is not unusual."""


class Event(NamedTuple):
    """Something unusual at an instant: its code in the catalog and its figures."""

    time_ns: int
    code: str
    values: Mapping[str, int]


def what_changed(packets: Packets, old: Stretch, new: Stretch, log: LoggedConnection | None) -> Statement | None:
    """The cause, with its instant; None where nothing unusual came before.

    `log` has the sender's rows, for what was sent again and the congestion window.
    """
    back = max(LOOK_BACK_CYCLES * old.period, LOOK_BACK_PACKETS)
    first = packets.time_ns[max(old.start, old.stop - back)]
    broken = packets.time_ns[min(old.stop, packets.time_ns.size - 1)]
    span = (int(first), int(broken))
    before = (int(packets.time_ns[old.start]), int(first))
    events = [*_acks(packets.acks, before, span), *_again(log, span)]
    if not events:
        events = [*_congestion(packets, log, old, new)]
    if not events:
        return None
    last = max(events, key=lambda event: event.time_ns)
    return statement(last.code, time_ns=last.time_ns, **last.values)


def _acks(acks: pl.DataFrame, before: tuple[int, int], span: tuple[int, int]) -> Iterator[Event]:
    """Acknowledgments of the delayed-ACK timer, and windows that are not as they were."""
    time = pl.col("time_ns")
    usual = acks.filter(time.is_between(*before))
    if usual.is_empty():
        return
    window = usual["window_bytes"].cast(pl.Int64)
    counts = window.value_counts(sort=True)
    common = int(counts["window_bytes"][0])
    by_timer = (usual["reason"] == "delayed_timer").fill_null(value=False).mean()
    largest = int(window.to_numpy().max())
    is_timer_unusual = isinstance(by_timer, float) and by_timer <= USUAL_RATIO
    is_steady = counts["count"][0] >= (1 - USUAL_RATIO) * usual.height
    for at, advertised, reason in (
        acks.filter(time.is_between(*span)).select("time_ns", "window_bytes", "reason").rows()
    ):
        if reason == "delayed_timer" and is_timer_unusual:
            yield Event(at, "delayed_ack", {"window_bytes": advertised})
        elif is_steady and advertised < common:
            yield Event(at, "smaller_window", {"window_bytes": advertised})
        elif advertised > largest:
            yield Event(at, "larger_window", {"before_bytes": largest, "window_bytes": advertised})


def _again(log: LoggedConnection | None, span: tuple[int, int]) -> Iterator[Event]:
    if log is None:
        return
    again = (
        pl.col("retransmission").is_not_null() & (pl.col("direction") == "out") & pl.col("time_ns").is_between(*span)
    )
    for at, kind in log.rows.filter(again).select("time_ns", pl.col("retransmission").cast(pl.String)).tail(1).rows():
        yield Event(at, kind if kind in {"timeout", "fast", "probe"} else "other", {})


def _congestion(packets: Packets, log: LoggedConnection | None, old: Stretch, new: Stretch) -> Iterator[Event]:
    """The congestion window is another one on either side of the change."""
    if log is None:
        return
    at = int(packets.time_ns[new.start])
    cwnd = log.rows.lazy().filter(pl.col("cwnd_segments").is_not_null())
    spans = ((int(packets.time_ns[old.start]), at), (at, int(packets.time_ns[new.stop - 1])))
    medians = [
        cwnd.filter(pl.col("time_ns").is_between(*span)).select(pl.col("cwnd_segments").median()).collect().item()
        for span in spans
    ]
    if None in medians or medians[0] == medians[1]:
        return
    before, after = (round(median) for median in medians)
    code = "larger_cwnd" if medians[1] > medians[0] else "smaller_cwnd"
    yield Event(at, code, {"before_segments": before, "cwnd_segments": after})
