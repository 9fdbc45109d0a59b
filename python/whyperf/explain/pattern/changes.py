"""Change of one cycle into the next: the last unusual thing before the first packet that broke the old one."""

from collections.abc import Iterator, Mapping
from typing import NamedTuple

import polars as pl

from whyperf.explain.explanation import Statement
from whyperf.explain.pattern.packets import Packets
from whyperf.explain.pattern.stretches import Stretch
from whyperf.explain.segment_log import LoggedConnection
from whyperf.explain.wording.catalog import statement

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
