"""The data of a track in addition to its rows: intervals over time, shares, and the times of retransmissions."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import polars as pl

from whyperf.analyze.flow import SizeHistogram, ack_ratio, ack_reasons, contexts, size_histogram, super_segments
from whyperf.analyze.flow.log import ACK_REASONS, CONTEXTS, DIRECTIONS, RETRANSMISSIONS
from whyperf.report.flow.drawing import About
from whyperf.report.flow.terms import ACK_REASON_TEXT, CONTEXT_TEXT, KSOFTIRQD, RETRANSMITTED
from whyperf.report.flow.track import Track

SECOND_NS = 1_000_000_000

MIN_STEPS = 20
"""Shorter steps are used where a chart would have fewer steps than this."""

MAX_SIZES = 16
"""At most this many payload sizes are listed individually."""

MAX_JUMPS = 2000
"""The buttons jump to at most this many retransmissions of a track."""

CLOSE_ROWS = 300
"""About this many rows are in view after a jump, so that single segments are visible."""

Share = tuple[str, float, int]
"""A label, its ratio of the total, and its count."""


@dataclass(frozen=True)
class Steps:
    """Steps of the charts over time: of the ACK ratio, and of the average super-segment."""

    ack_ns: int
    super_ns: int


def steps_for(duration_ns: int) -> Steps:
    """1 s and 5 s, as in the published studies, or shorter steps for a short connection."""
    return Steps(step_ns(duration_ns, SECOND_NS), step_ns(duration_ns, 5 * SECOND_NS))


def step_ns(duration_ns: int, longest_ns: int) -> int:
    """The step of a chart: `longest_ns`, or a shorter round time that gives a short connection enough steps.

    >>> step_ns(60 * SECOND_NS, SECOND_NS), step_ns(8 * SECOND_NS, SECOND_NS)
    (1000000000, 200000000)
    """
    wanted = max(1, duration_ns // MIN_STEPS)
    power: int = 10 ** (len(str(wanted)) - 1)
    return min(longest_ns, next(step * power for step in (5, 2, 1) if step * power <= wanted))


def step_text(ns: int) -> str:
    """A step as text: `second`, `5 s`, `200 ms`."""
    if ns == SECOND_NS:
        return "second"
    scale, unit = next(
        (scale, unit) for scale, unit in ((SECOND_NS, "s"), (10**6, "ms"), (1000, "µs"), (1, "ns")) if ns >= scale
    )
    return f"{ns // scale:,} {unit}"


def of_log(log: pl.LazyFrame, role: str, steps: Steps) -> About:
    """Intervals and shares of the log of a connection; `role` is the role of the host that logged it."""
    ratio = ack_ratio(log, role, steps.ack_ns).intervals
    packets = super_segments(log, steps.super_ns)
    return {
        "ackRatio": _chart(ratio, "segments_per_ack", steps.ack_ns),
        "superSegments": _chart(packets, "packet_bytes_mean", steps.super_ns),
        "shares": {
            "sizes": size_shares(size_histogram(log, exact_sizes=MAX_SIZES)),
            "contexts": context_shares(contexts(log)),
            "reasons": reason_shares(ack_reasons(log)),
        },
    }


def of_track(track: Track) -> About:
    """The times of retransmissions, and the time range in which single segments are visible."""
    retransmitted = np.flatnonzero(track.reason_code >= RETRANSMITTED)[:MAX_JUMPS]
    return {"again": track.time_ns[retransmitted].tolist(), "closeNs": _close_ns(track)}


def frame(track: Track) -> pl.DataFrame:
    """The track with the columns of a log that the analysis reads."""
    reason, kind = pl.col("reason_code") % RETRANSMITTED, pl.col("reason_code") // RETRANSMITTED
    codes = {"reason_code": track.reason_code, "context_code": track.context_code, "out": track.out.view(np.uint8)}
    numbers = ("time_ns", "payload_bytes", "gso_size_bytes", "wire_segments", "flags")
    rows = pl.DataFrame({name: getattr(track, name) for name in numbers} | codes)
    return rows.with_columns(
        # `DIRECTIONS` starts with out.
        direction=(1 - pl.col("out")).cat.to(pl.Enum(DIRECTIONS)),
        context=(pl.col("context_code") % KSOFTIRQD).cat.to(pl.Enum(CONTEXTS)),
        ksoftirqd=pl.col("context_code") >= KSOFTIRQD,
        ack_reason=pl.when(reason > 0).then(reason - 1).cat.to(pl.Enum(ACK_REASONS)),
        retransmission=pl.when(kind > 0).then(kind - 1).cat.to(pl.Enum(RETRANSMISSIONS)),
    ).drop(*codes)


def context_shares(found: pl.DataFrame) -> list[Share]:
    """The shares of the contexts that occurred; `found` is from `contexts`."""
    return _shares(found, "context", "packets_ratio", "packets", CONTEXT_TEXT)


def reason_shares(found: pl.DataFrame) -> list[Share]:
    """The shares of the reasons that occurred; `found` is from `ack_reasons`."""
    return _shares(found, "reason", "ratio", "count", ACK_REASON_TEXT)


def _shares(rows: pl.DataFrame, name: str, ratio: str, count: str, texts: Mapping[str, str]) -> list[Share]:
    ordered = rows.filter(pl.col(count) > 0).sort(count, descending=True).select(name, ratio, count)
    return [(texts[name], ratio, count) for name, ratio, count in ordered.iter_rows()]


def size_shares(found: SizeHistogram) -> list[Share]:
    """The shares of the sizes or size classes of a histogram, ascending."""
    columns = found.sizes.select("size_bytes", "last_bytes", "count_ratio", "count").iter_rows()
    return [(size_text(low, high), ratio, count) for low, high, ratio, count in columns]


def size_text(low: int, high: int) -> str:
    """A size, or a class of sizes: `1,448 bytes`, `512 to 1,023 bytes`."""
    return f"{low:,} bytes" if low == high else f"{low:,} to {high:,} bytes"


def _chart(intervals: pl.DataFrame, column: str, step: int) -> dict[str, object]:
    start = int(intervals["start_ns"][0]) if len(intervals) else 0
    values = [None if value is None else float(f"{value:.5g}") for value in intervals[column]]
    return {"start": start, "step": step, "values": values}


def _close_ns(track: Track) -> int:
    """The median time of `CLOSE_ROWS` rows."""
    marks = track.time_ns[::CLOSE_ROWS]
    span = int(track.time_ns[-1] - track.time_ns[0])
    return max(1000, int(np.median(np.diff(marks))) if len(marks) > 1 else span)
