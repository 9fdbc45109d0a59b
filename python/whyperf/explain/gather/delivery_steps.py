"""The deliveries of all connections together, step by step, from samples of TCP_INFO: rates, queue, losses."""

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import polars as pl
from numpy.typing import NDArray

from whyperf.analyze.flow import FlowEnd, FlowTrial
from whyperf.explain.gather.active import ALWAYS, Active
from whyperf.explain.gather.bottleneck import HEADERS_BYTES
from whyperf.explain.gather.table import read_columns

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]

_NEEDED = (
    *("connection", "phase", "sample_mono_ns", "delivered_segments", "send_mss_bytes", "rtt_ns", "rtt_ns_min"),
    *("not_sent_bytes", "cwnd_segments"),
)
_COUNTED = ("retransmitted_segments", "duplicate_sacks_count", "delivered_marked_segments")
_OTHER = (*_COUNTED, "rtt_ns_deviation", "application_limited")
_LOADED = ("warm-up", "measure")
"""Phases in which the load runs at full speed."""

MIN_RTT_NS = 200_000
"""Shorter round trips are made of what hosts do, not of a path."""
MIN_LAN_RTT_NS, MIN_LAN_TIMES = 100_000, 6.7
"""Round trips from here on may be those of a local network, if the queue of a link makes them so many times longer. A
window that leaves as one burst makes the round trip g times longer, too, but then uses 1 - 1/g of the link: 85 %."""
MIN_STEP_NS = 100_000_000
MAX_STEPS = 1_000_000
"""A day in the shortest steps; those of a longer trial are longer, whatever instants a record has."""
STEP_ROUND_TRIPS = 2
"""A step is that many round trips long, so that acknowledgments which come in bursts count in the right one."""
STEP_SEGMENTS = 100
"""A step delivers that many segments, so that a segment more or less is 1 %."""
MIN_BACKLOGGED_RATIO = 0.5
"""Part of the samples in which data waited in the sender's kernel: with less, the application sets the rate."""
MIN_WINDOW_SEGMENTS = 8
"""With fewer segments under way in all, the rate and the round trip change in steps too large to compare."""


@dataclass(frozen=True)
class Steps:
    """All connections together, in steps of equal length.

    Attributes:
        rates_bps: what was delivered in each step, bit/s of payload.
        queue_ratios: growth of the round trip over its minimum in each step, of all connections in the mean.
        backlogged_ratio: of the connection that has most of them, part of the samples in which data waited in the
            sender's kernel, and the application did not limit the delivery rate.
        window_segments: the median congestion window of a connection, times their number.
        mss_bytes: payload of a full segment.
        jitter_ratios: mean deviation of the round trip over its minimum in each step; zeros where it is not known.
        lost_segments: segments sent again in each step, less those that had arrived (DSACK).
        is_measured: whether a step is in the measured phase; the others are in the warm-up.
        rtt_ns_min: the smallest round trip.
        marked_ratio: part of the delivered segments that the path had marked; None where nobody counts them.
    """

    rates_bps: Floats
    queue_ratios: Floats
    backlogged_ratio: float
    window_segments: float
    mss_bytes: int
    jitter_ratios: Floats = field(default_factory=lambda: np.zeros(0))
    lost_segments: Floats = field(default_factory=lambda: np.zeros(0))
    is_measured: Flags = field(default_factory=lambda: np.zeros(0, dtype=np.bool_))
    rtt_ns_min: float = 0.0
    marked_ratio: float | None = None

    @property
    def can_fill_path(self) -> bool:
        """True where the sender's kernel had data to send, and a window that is more than a few segments."""
        return self.backlogged_ratio >= MIN_BACKLOGGED_RATIO and self.window_segments >= MIN_WINDOW_SEGMENTS

    @property
    def with_headers(self) -> float:
        """Bytes on the wire over bytes of payload."""
        return (self.mss_bytes + HEADERS_BYTES) / self.mss_bytes

    @cached_property
    def measured(self) -> Flags:
        """The steps of the measured phase; all where the phases are not known."""
        return self.is_measured if self.is_measured.any() else np.ones(self.rates_bps.size, dtype=np.bool_)

    @cached_property
    def queued(self) -> Floats:
        """Growth of the round trip in the steps in which it is a queue's: 0 where round trips leap, or hardly anything
        is delivered, so that the round trip is one of before.
        """
        if not self.rates_bps.size:
            return self.queue_ratios
        is_new = self.rates_bps >= MIN_FLOWING * np.quantile(self.rates_bps, 0.9)
        if not self.jitter_ratios.size:
            return np.where(is_new, self.queue_ratios, 0.0)
        is_queue = is_new & (self.jitter_ratios < MAX_JITTER * self.queue_ratios)
        return np.where(is_queue, self.queue_ratios, 0.0)


MIN_FLOWING = 0.25
"""Part of the highest rates below which a sender, a receiver or the path pauses."""
MAX_JITTER = 0.5
"""Mean deviation of the round trip over its growth up to which the growth is a queue's. A delayed ACK, or a radio,
makes round trips leap by about as much as they grow (tuning set: 0.6 to 2; queues: below 0.3)."""


def delivery_steps(trial: FlowTrial, sender: FlowEnd, active: Active = ALWAYS) -> Steps | None:
    """The steps of a trial; None where the samples are too few, or the round trip is no path's.

    Raises:
        RecordError: the table cannot be read.
    """
    info = read_columns(trial, "tcp_info", sender.host, (*_NEEDED, *_OTHER))
    if info is None:
        return None
    info = info.filter(pl.col("phase").cast(pl.String).is_in(_LOADED)).drop_nulls(_NEEDED)
    info = info.filter(pl.col("rtt_ns") > 0).with_columns(
        pl.col("sample_mono_ns", "delivered_segments", "send_mss_bytes", "rtt_ns_deviation", *_COUNTED).cast(pl.Int64)
    )
    measured = info.filter(pl.col("phase").cast(pl.String) == "measure")
    at_work = active.rows(measured, trial, sender)
    series = [rows for rows in info.sort("sample_mono_ns").partition_by("connection") if rows.height > 1]
    least = float(at_work["rtt_ns_min"].min() or 0)  # type: ignore[arg-type]
    if not series or at_work.is_empty():
        return None
    trip = float(at_work["rtt_ns"].median() or 0)  # type: ignore[arg-type]
    if least < MIN_RTT_NS and (least < MIN_LAN_RTT_NS or trip < MIN_LAN_TIMES * least):
        return None
    times = [rows["sample_mono_ns"].to_numpy() for rows in series]
    start, end = max(int(found[0]) for found in times), min(int(found[-1]) for found in times)
    mss = int(info["send_mss_bytes"].max() or 1)  # type: ignore[arg-type]
    moved = sum(int(rows["delivered_segments"][-1] - rows["delivered_segments"][0]) for rows in series)
    if end <= start or moved <= 0:
        return None
    step = max(MIN_STEP_NS, STEP_ROUND_TRIPS * trip, STEP_SEGMENTS * (end - start) / moved, (end - start) / MAX_STEPS)
    # The steps end where the measured phase does, and one of them begins it. A connection that began long before the
    # others adds none: from `start` on all have samples.
    measured_ns = max(start, int(measured["sample_mono_ns"].min() or 0))  # type: ignore[arg-type]
    first = measured_ns - step * np.ceil((measured_ns - start) / step)
    grid = np.arange(first, end + 1, step)

    def together(name: str) -> Floats:
        known = [rows[name].fill_null(0).to_numpy().astype(np.float64) for rows in series]
        parts = (np.interp(grid, at, values) for at, values in zip(times, known, strict=True))
        return np.asarray(sum(parts, np.zeros(grid.size)))

    def mean_of_step(name: str) -> Floats:
        values = together(name) / len(series)
        return (values[1:] + values[:-1]) / 2

    waits, limited = pl.col("not_sent_bytes") > 0, pl.col("application_limited").cast(pl.Boolean)
    # One connection that always has data to send fills a path, whatever the others do.
    backlogged = (waits & ~limited.fill_null(value=False)).mean()
    each = at_work.group_by("connection").agg(backlogged.alias("ratio"))
    lost = np.diff(together("retransmitted_segments") - together("duplicate_sacks_count"))
    return Steps(
        rates_bps=np.diff(together("delivered_segments")) * mss * 8e9 / step,
        queue_ratios=mean_of_step("rtt_ns") / least - 1,
        backlogged_ratio=float(each["ratio"].max() or 0.0),  # type: ignore[arg-type]
        window_segments=float(at_work["cwnd_segments"].median() or 0) * len(series),  # type: ignore[arg-type]
        mss_bytes=mss,
        jitter_ratios=mean_of_step("rtt_ns_deviation") / least,
        lost_segments=np.maximum(lost, 0.0),
        is_measured=grid[:-1] >= measured_ns,
        rtt_ns_min=least,
        marked_ratio=_marked(info, moved),
    )


def _marked(info: pl.DataFrame, moved: int) -> float | None:
    """Part of the segments that came with a mark, of all that were delivered."""
    each = info.drop_nulls("delivered_marked_segments").group_by("connection")
    if info["delivered_marked_segments"].null_count() == info.height:
        return None
    marked = each.agg(pl.col("delivered_marked_segments").max()).select(pl.col("delivered_marked_segments").sum())
    return min(1.0, float(marked.item() or 0) / moved)
