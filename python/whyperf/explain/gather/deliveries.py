"""The rate of a path's bottleneck where there is no segment log: from what the sender's kernel counts as delivered.

While a queue stands before a bottleneck, it delivers at its own rate, whatever the congestion window is. So the rate of
all connections together has a highest value that it often reaches exactly, and the round trip is longer than its
minimum then. A sender that is held by losses has rates that vary; one that is held by a window or by itself has no
queue.
"""

from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from whyperf.analyze.flow import FlowEnd, FlowTrial
from whyperf.explain.gather.active import ALWAYS, Active
from whyperf.explain.gather.bottleneck import HEADERS_BYTES
from whyperf.explain.gather.table import read_columns
from whyperf.explain.trial_facts import BottleneckRate

Floats = NDArray[np.float64]

_COLUMNS = (
    *("connection", "phase", "sample_mono_ns", "delivered_segments", "send_mss_bytes", "rtt_ns", "rtt_ns_min"),
    *("not_sent_bytes", "cwnd_segments"),
)
_LIMITED = "application_limited"

MIN_STEPS = 5
MIN_AT_RATE = 4
"""Fewer steps show no constant rate."""
MIN_RTT_NS = 200_000
"""Shorter round trips are made of what hosts do, not of a path."""
MIN_STEP_NS = 100_000_000
STEP_ROUND_TRIPS = 2
"""A step is that many round trips long, so that acknowledgments which come in bursts count in the right one."""
STEP_SEGMENTS = 100
"""A step delivers that many segments, so that a segment more or less is 1 %."""
NEAR_RATIO = 1.02
"""Rates up to this apart are the same."""
MIN_AT_RATE_RATIO = 0.25
"""Part of the steps that have the bottleneck's rate. A window that grows and is reduced spreads its rates over a
third and more below the highest: 2 % of them hold 5 % of the steps."""
MAX_ABOVE_RATIO = 0.1
"""Part of the steps that may be faster than a bottleneck's rate: what was delivered while a sample was late."""
MIN_BACKLOGGED_RATIO = 0.5
"""Part of the samples in which data waited in the sender's kernel: with less, the application sets the rate."""
MIN_WINDOW_SEGMENTS = 8
"""With fewer segments under way in all, the rate and the round trip change in steps too large to compare."""
MIN_QUEUE_RATIO = 0.03
"""Growth of the round trip over its minimum from which on a queue stands on the path."""


@dataclass(frozen=True)
class Steps:
    """All connections together, in steps of equal length.

    Attributes:
        rates_bps: what was delivered in each step, bit/s.
        queue_ratios: growth of the round trip over its minimum in each step, of all connections in the mean.
        backlogged_ratio: part of the samples in which data waited in the sender's kernel, and the application did not
            limit the delivery rate.
        window_segments: the median congestion window of a connection, times their number.
        mss_bytes: payload of a full segment.
    """

    rates_bps: Floats
    queue_ratios: Floats
    backlogged_ratio: float
    window_segments: float
    mss_bytes: int

    @property
    def can_fill_path(self) -> bool:
        """Whether the sender's kernel had data to send, and a window that is more than a few segments."""
        return self.backlogged_ratio >= MIN_BACKLOGGED_RATIO and self.window_segments >= MIN_WINDOW_SEGMENTS


def delivered_bottleneck(trial: FlowTrial, sender: FlowEnd, active: Active = ALWAYS) -> BottleneckRate:
    """The bottleneck's rate, headers included; `BottleneckRate()` where none shows.

    Raises:
        RecordError: the table cannot be read.
    """
    steps = _steps(trial, sender, active)
    return BottleneckRate() if steps is None else bottleneck_of_steps(steps)


def bottleneck_of_steps(steps: Steps) -> BottleneckRate:
    """The highest rate, if the sender often had just this one and a queue stood then; else `BottleneckRate()`."""
    rates = steps.rates_bps
    if rates.size < MIN_STEPS or not steps.can_fill_path:
        return BottleneckRate()
    ordered = np.sort(rates)
    inside = np.searchsorted(ordered, ordered * NEAR_RATIO, side="right") - np.arange(rates.size)
    lowest = ordered[rates.size - 1 - int(np.argmax(inside[::-1]))]
    at_rate = (rates >= lowest) & (rates <= lowest * NEAR_RATIO)
    rate = float(np.median(rates[at_rate]))
    above = float((rates > rate * NEAR_RATIO).mean())
    if at_rate.sum() < MIN_AT_RATE or at_rate.mean() < MIN_AT_RATE_RATIO or above > MAX_ABOVE_RATIO or rate <= 0:
        return BottleneckRate()
    if np.median(steps.queue_ratios[at_rate]) < MIN_QUEUE_RATIO:
        return BottleneckRate()
    with_headers = (steps.mss_bytes + HEADERS_BYTES) / steps.mss_bytes
    return BottleneckRate(rate * with_headers, float(at_rate.mean()), min(1.0, float(rates.mean()) / rate))


def _steps(trial: FlowTrial, sender: FlowEnd, active: Active) -> Steps | None:
    info = read_columns(trial, "tcp_info", sender.host, (*_COLUMNS, _LIMITED))
    if info is None:
        return None
    info = info.filter(pl.col("phase").cast(pl.String) == "measure").drop_nulls(_COLUMNS).filter(pl.col("rtt_ns") > 0)
    if info.is_empty():
        return None
    at_work = active.rows(info, trial, sender)
    if at_work.is_empty():
        return None
    info = info.with_columns(pl.col("sample_mono_ns", "delivered_segments", "send_mss_bytes").cast(pl.Int64))
    trip, least = float(at_work["rtt_ns"].median() or 0), float(at_work["rtt_ns_min"].min() or 0)  # type: ignore[arg-type]
    series = [
        (
            rows["sample_mono_ns"].to_numpy(),
            (rows["delivered_segments"] * rows["send_mss_bytes"]).to_numpy(),
            rows["rtt_ns"].to_numpy(),
        )
        for rows in info.sort("sample_mono_ns").partition_by("connection")
        if rows.height > 1
    ]
    if not series or least < MIN_RTT_NS:
        return None
    start, end = max(int(times[0]) for times, *_ in series), min(int(times[-1]) for times, *_ in series)
    mss = int(info["send_mss_bytes"].max() or 1)  # type: ignore[arg-type]
    moved = sum(int(counts[-1] - counts[0]) for _, counts, _ in series)
    if end <= start or moved <= 0:
        return None
    enough = STEP_SEGMENTS * mss * (end - start) / moved
    step = max(MIN_STEP_NS, STEP_ROUND_TRIPS * trip, enough)
    grid = np.arange(start, end + 1, step)
    together = sum((np.interp(grid, times, counts) for times, counts, _ in series), np.zeros(grid.size))
    trips = sum((np.interp(grid, times, trips) for times, _, trips in series), np.zeros(grid.size)) / len(series)
    waits, limited = pl.col("not_sent_bytes") > 0, pl.col(_LIMITED).cast(pl.Boolean).fill_null(value=False)
    return Steps(
        rates_bps=np.diff(together) * 8e9 / step,
        queue_ratios=(trips[1:] + trips[:-1]) / (2 * least) - 1,
        backlogged_ratio=float(at_work.select((waits & ~limited).mean()).item() or 0.0),
        window_segments=float(at_work["cwnd_segments"].median() or 0) * len(series),  # type: ignore[arg-type]
        mss_bytes=mss,
    )
