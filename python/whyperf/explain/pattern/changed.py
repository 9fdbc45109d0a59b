"""What changed one cycle into the next: the last unusual thing before the first packet that broke the old one."""

from collections.abc import Iterator
from typing import NamedTuple

import polars as pl

from whyperf.analyze.text import seconds
from whyperf.explain.pattern.packets import Packets
from whyperf.explain.pattern.stretches import Stretch

LOOK_BACK_TURNS = 2
LOOK_BACK_PACKETS = 4
"""A change shows so many turns, and so many packets, after its cause at the latest."""

USUAL_RATIO = 0.2
"""What more of the old phase's acknowledgments are is not unusual."""


class Event(NamedTuple):
    """Something unusual at an instant, in words."""

    time_ns: int
    words: str


def what_changed(packets: Packets, old: Stretch, new: Stretch, log: pl.DataFrame | None) -> str:
    """The cause in words, with its instant; "" where nothing unusual came before.

    `log` has the sender's rows, for what was sent again and the congestion window.
    """
    back = max(LOOK_BACK_TURNS * old.period, LOOK_BACK_PACKETS)
    first = packets.time_ns[max(old.start, old.stop - back)]
    broken = packets.time_ns[min(old.stop, packets.time_ns.size - 1)]
    span = (int(first), int(broken))
    before = (int(packets.time_ns[old.start]), int(first))
    events = [*_acks(packets.acks, before, span), *_again(log, span)]
    if not events:
        events = [*_congestion(packets, log, old, new)]
    if not events:
        return ""
    last = max(events, key=lambda event: event.time_ns)
    return f"at {seconds(last.time_ns)} {last.words}"


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
    for at, announced, reason in acks.filter(time.is_between(*span)).select("time_ns", "window_bytes", "reason").rows():
        if reason == "delayed_timer" and is_timer_unusual:
            yield Event(at, f"a delayed ACK announced {announced:,} bytes")
        elif is_steady and announced < common:
            yield Event(at, f"an ACK announced only {announced:,} bytes")
        elif announced > largest:
            yield Event(at, f"the announced window grew from {largest:,} to {announced:,} bytes")


def _again(log: pl.DataFrame | None, span: tuple[int, int]) -> Iterator[Event]:
    if log is None:
        return
    again = (
        pl.col("retransmission").is_not_null() & (pl.col("direction") == "out") & pl.col("time_ns").is_between(*span)
    )
    for at, kind in log.filter(again).select("time_ns", pl.col("retransmission").cast(pl.String)).tail(1).rows():
        why = {"timeout": "after a timeout", "fast": "by fast retransmission", "probe": "as a probe"}.get(kind, "")
        yield Event(at, f"a segment was sent again {why}".rstrip())


def _congestion(packets: Packets, log: pl.DataFrame | None, old: Stretch, new: Stretch) -> Iterator[Event]:
    """The congestion window is another one on either side of the change."""
    if log is None:
        return
    at = int(packets.time_ns[new.start])
    cwnd = log.lazy().filter(pl.col("cwnd_segments").is_not_null())
    spans = ((int(packets.time_ns[old.start]), at), (at, int(packets.time_ns[new.stop - 1])))
    medians = [
        cwnd.filter(pl.col("time_ns").is_between(*span)).select(pl.col("cwnd_segments").median()).collect().item()
        for span in spans
    ]
    if None in medians or medians[0] == medians[1]:
        return
    went = "grew" if medians[1] > medians[0] else "fell"
    yield Event(at, f"the congestion window {went} from {medians[0]:,.0f} to {medians[1]:,.0f} segments")
