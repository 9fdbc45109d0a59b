"""What a page is to know of a track besides its rows: strips over time, shares, where to jump to."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import polars as pl

from whyperf.analyze.flow import SizeHistogram, ack_ratio, ack_reasons, contexts, size_histogram, super_segments
from whyperf.analyze.flow.log import ACK_REASONS, CONTEXTS, DIRECTIONS, RETRANSMISSIONS
from whyperf.report.flow.drawing import About
from whyperf.report.flow.terms import ACK_REASON_WORDS, AGAIN, CONTEXT_WORDS, KSOFTIRQD
from whyperf.report.flow.track import Track

SECOND_NS = 1_000_000_000

FEWEST_STEPS = 20
"""A strip has at least so many steps, or shorter ones than it is told in."""

SIZES = 16
"""Up to so many payloads are told one by one."""

AGAIN_MOST = 2000
"""Retransmissions of a track that can be jumped to."""

CLOSE_ROWS = 300
"""About as many rows are in view after a jump: single segments can be told apart."""

Share = tuple[str, float, int]
"""A label, its part of the whole, and its count."""


@dataclass(frozen=True)
class Steps:
    """Steps of the strips over time: of the ACK ratio, and of the average super-segment."""

    ack_ns: int
    super_ns: int


def steps_for(duration_ns: int) -> Steps:
    """A second and five, as the studies have it, or shorter ones that a short connection has enough of."""
    return Steps(step_ns(duration_ns, SECOND_NS), step_ns(duration_ns, 5 * SECOND_NS))


def step_ns(duration_ns: int, longest_ns: int) -> int:
    """The step of a strip: `longest_ns`, or a round shorter time that gives a short connection enough of them.

    >>> step_ns(60 * SECOND_NS, SECOND_NS), step_ns(8 * SECOND_NS, SECOND_NS)
    (1000000000, 200000000)
    """
    wanted = max(1, duration_ns // FEWEST_STEPS)
    power: int = 10 ** (len(str(wanted)) - 1)
    return min(longest_ns, next(step * power for step in (5, 2, 1) if step * power <= wanted))


def step_words(ns: int) -> str:
    """A step as it is read: `second`, `5 s`, `200 ms`."""
    if ns == SECOND_NS:
        return "second"
    scale, unit = next(
        (scale, unit) for scale, unit in ((SECOND_NS, "s"), (10**6, "ms"), (1000, "µs"), (1, "ns")) if ns >= scale
    )
    return f"{ns // scale:,} {unit}"


def of_log(log: pl.LazyFrame, role: str, steps: Steps) -> About:
    """Strips and shares of a connection's log, `role` being the role of the end that made it."""
    ratio = ack_ratio(log, role, steps.ack_ns).intervals
    packets = super_segments(log, steps.super_ns)
    return {
        "ackRatio": _strip(ratio, "segments_per_ack", steps.ack_ns),
        "superSegments": _strip(packets, "packet_bytes_mean", steps.super_ns),
        "shares": {
            "sizes": size_shares(size_histogram(log, exact_sizes=SIZES)),
            "contexts": context_shares(contexts(log)),
            "reasons": reason_shares(ack_reasons(log)),
        },
    }


def of_track(track: Track) -> About:
    """Where retransmissions are, and how long a stretch of single segments is."""
    again = np.flatnonzero(track.reason_code >= AGAIN)[:AGAIN_MOST]
    return {"again": track.time_ns[again].tolist(), "closeNs": _close_ns(track)}


def frame(track: Track) -> pl.DataFrame:
    """The track with the columns that the analysis wants of a log."""
    reason, again = pl.col("reason_code") % AGAIN, pl.col("reason_code") // AGAIN
    codes = {"reason_code": track.reason_code, "context_code": track.context_code, "out": track.out.view(np.uint8)}
    numbers = ("time_ns", "payload_bytes", "gso_size_bytes", "wire_segments", "flags")
    made = pl.DataFrame({name: getattr(track, name) for name in numbers} | codes)
    return made.with_columns(
        # `DIRECTIONS` begins with out.
        direction=(1 - pl.col("out")).cat.to(pl.Enum(DIRECTIONS)),
        context=(pl.col("context_code") % KSOFTIRQD).cat.to(pl.Enum(CONTEXTS)),
        ksoftirqd=pl.col("context_code") >= KSOFTIRQD,
        ack_reason=pl.when(reason > 0).then(reason - 1).cat.to(pl.Enum(ACK_REASONS)),
        retransmission=pl.when(again > 0).then(again - 1).cat.to(pl.Enum(RETRANSMISSIONS)),
    ).drop(*codes)


def context_shares(found: pl.DataFrame) -> list[Share]:
    """Of `contexts`: those that occurred."""
    return _shares(found, "context", "packets_ratio", "packets", CONTEXT_WORDS)


def reason_shares(found: pl.DataFrame) -> list[Share]:
    """Of `ack_reasons`: those that occurred."""
    return _shares(found, "reason", "ratio", "count", ACK_REASON_WORDS)


def _shares(rows: pl.DataFrame, name: str, ratio: str, count: str, words: Mapping[str, str]) -> list[Share]:
    ordered = rows.filter(pl.col(count) > 0).sort(count, descending=True).select(name, ratio, count)
    return [(words[name], ratio, count) for name, ratio, count in ordered.iter_rows()]


def size_shares(found: SizeHistogram) -> list[Share]:
    """Of a histogram: its sizes or classes, ascending."""
    columns = found.sizes.select("size_bytes", "last_bytes", "count_ratio", "count").iter_rows()
    return [(size_words(low, high), ratio, count) for low, high, ratio, count in columns]


def size_words(low: int, high: int) -> str:
    """A size, or a class of sizes: `1,448 bytes`, `512 to 1,023 bytes`."""
    return f"{low:,} bytes" if low == high else f"{low:,} to {high:,} bytes"


def _strip(intervals: pl.DataFrame, column: str, step: int) -> dict[str, object]:
    start = int(intervals["start_ns"][0]) if len(intervals) else 0
    values = [None if value is None else float(f"{value:.5g}") for value in intervals[column]]
    return {"start": start, "step": step, "values": values}


def _close_ns(track: Track) -> int:
    """The time that `CLOSE_ROWS` rows usually take."""
    marks = track.time_ns[::CLOSE_ROWS]
    span = int(track.time_ns[-1] - track.time_ns[0])
    return max(1000, int(np.median(np.diff(marks))) if len(marks) > 1 else span)
