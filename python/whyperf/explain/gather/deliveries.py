"""Deliveries of all connections together, step by step, from samples of TCP_INFO: the bottleneck, policers, outages.

While a queue stands before a bottleneck, it delivers at its own rate, whatever the congestion window is. So the rate of
all connections together has a highest value that it often reaches exactly, and the round trip is longer than its
minimum then. A sender that is held by losses has rates that vary; one that is held by a window or by itself has no
queue.

A sender that gets there only at times, and whose window grows back in between, has that rate while the queue is
longest. Where others use the bottleneck too, its own rate varies then.

A path that fails for a moment, in either direction, shows so in the samples of TCP_INFO: the count of delivered
segments stands still on all connections, and the retransmission timer doubles (RFC 6298 section 5.5). If a whole window
was under way and none of it is delivered for many round trips, all of it is lost, with or without a second timeout:
what arrives behind a loss counts as delivered (SACK).
"""

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import polars as pl
from numpy.typing import NDArray

from whyperf.analyze.flow import FlowEnd, FlowTrial
from whyperf.explain.gather.bottleneck import HEADERS_BYTES
from whyperf.explain.gather.read import ALWAYS, Active, least_trip_ns, read_columns
from whyperf.explain.path_facts import BottleneckRate, OutageFacts, PolicingFacts, QueueFacts

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]

_NEEDED = (
    *("connection", "phase", "sample_mono_ns", "delivered_segments", "send_mss_bytes", "rtt_ns", "rtt_ns_min"),
    *("not_sent_bytes", "cwnd_segments"),
)
_COUNTED = ("retransmitted_segments", "duplicate_sacks_count", "delivered_marked_segments")
_OTHER = (*_COUNTED, "rtt_ns_deviation", "application_limited", "reordering_events_count", "data_segments_out")
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
    least = float(least_trip_ns(at_work) or 0)
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


MIN_STEPS = 5
MIN_AT_RATE = 4
"""Fewer steps show no constant rate."""
NEAR_RATIO = 1.02
"""Rates up to this apart are the same."""
MIN_AT_RATE_RATIO = 0.25
"""Part of the steps that have the bottleneck's rate. A window that grows and is reduced spreads its rates over a
third and more below the highest: 2 % of them hold 5 % of the steps."""
MAX_ABOVE_RATIO = 0.1
"""Part of the steps that may be faster than a bottleneck's rate: what was delivered while a sample was late."""
MIN_QUEUE_RATIO = 0.03
"""Growth of the round trip over its minimum from which on a queue stands on the path."""
MIN_FULL_QUEUE_RATIO = 0.1
"""Growth of the round trip from which on a queue is more than what a few segments make."""
FULL_PART = 0.5
"""A queue is full from this part of its longest on: a smoothed round trip lags behind by some round trips."""
MIN_FULL_STEPS = 2
MAX_FULL_SPREAD = 0.2
"""The spread of the rate of a bottleneck that one load has to itself while the queue is full: it serves what stands
there, at its own rate (tuning set: up to 0.18, with ACKs that come in bursts)."""
MAX_ABOVE_FULL = 1.1
MAX_EVEN_SPREAD = 0.05
"""The spread of the rate of all connections at a link that is never idle (further set: 0.03; held by losses 0.15 and
more)."""


def bottleneck_of_steps(steps: Steps) -> BottleneckRate:
    """The bottleneck's rate, headers included; `BottleneckRate()` where none shows."""
    if not steps.can_fill_path or steps.measured.sum() < MIN_STEPS:
        return BottleneckRate()
    return _constant(steps) or _while_full(steps) or _even(steps) or BottleneckRate()


def _constant(steps: Steps) -> BottleneckRate | None:
    """The highest rate, if the sender often had just this one and a queue stood then."""
    rates, queues = steps.rates_bps[steps.measured], steps.queue_ratios[steps.measured]
    ordered = np.sort(rates)
    inside = np.searchsorted(ordered, ordered * NEAR_RATIO, side="right") - np.arange(rates.size)
    lowest = ordered[rates.size - 1 - int(np.argmax(inside[::-1]))]
    at_rate = (rates >= lowest) & (rates <= lowest * NEAR_RATIO)
    rate = float(np.median(rates[at_rate]))
    above = float((rates > rate * NEAR_RATIO).mean())
    if at_rate.sum() < MIN_AT_RATE or at_rate.mean() < MIN_AT_RATE_RATIO or above > MAX_ABOVE_RATIO or rate <= 0:
        return None
    if np.median(queues[at_rate]) < MIN_QUEUE_RATIO:
        return None
    use = min(1.0, float(rates.mean()) / rate)
    return BottleneckRate(rate * steps.with_headers, float(at_rate.mean()), use, NEAR_RATIO - 1)


def _even(steps: Steps) -> BottleneckRate | None:
    """The median rate, if it hardly varies in all of the time and a queue stood: many connections with few segments
    each make round trips that leap, though the link is never idle.
    """
    rates, queues = steps.rates_bps[steps.measured], steps.queue_ratios[steps.measured]
    spread = _spread(rates)
    if spread is None or spread > MAX_EVEN_SPREAD or np.median(queues) < MIN_FULL_QUEUE_RATIO:
        return None
    return BottleneckRate(float(np.median(rates)) * steps.with_headers, 1.0, 1.0, spread)


def _while_full(steps: Steps) -> BottleneckRate | None:
    """The rate while the queue was full, if it hardly varies and is hardly ever exceeded."""
    full, rates = _is_full(steps), steps.rates_bps
    if (full & steps.measured).sum() >= MIN_AT_RATE:
        # While slow start fills the queue, what is delivered is behind what the round trip shows.
        full = full & steps.measured
    if full.sum() < MIN_FULL_STEPS or (spread := _spread(rates[full])) is None or spread > MAX_FULL_SPREAD:
        return None
    rate = float(np.median(rates[full]))
    if (rates[steps.measured] > MAX_ABOVE_FULL * rate).mean() > MAX_ABOVE_RATIO:
        return None
    near = np.abs(rates[full] / rate - 1) <= MAX_FULL_SPREAD / 2
    use = min(1.0, float(rates[steps.measured].mean()) / rate)
    return BottleneckRate(rate * steps.with_headers, float(near.mean()), use, spread, is_seen_when_full=True)


MIN_OVER_FULL, MAX_OVER_FULL_JITTER = 0.3, 0.1
"""Growth of the round trip, always, from which on a window is larger than the path holds, and the mean deviation of the
round trip over that growth: a window that leaves in bursts makes round trips leap."""


def is_over_full(steps: Steps) -> bool:
    """True where a window that is full all the time makes a queue that stands all the time."""
    queues, jitters = steps.queue_ratios[steps.measured], steps.jitter_ratios
    if not queues.size or not jitters.size:
        return False
    grown = float(np.quantile(queues, 0.1))
    return grown >= MIN_OVER_FULL and float(np.median(jitters[steps.measured])) <= MAX_OVER_FULL_JITTER * grown


def queue_of_steps(steps: Steps) -> QueueFacts:
    """The evidence of the samples on the queue before the bottleneck."""
    full, queues = _is_full(steps), steps.queue_ratios[steps.measured]
    if not queues.size:
        return QueueFacts(marked_ratio=steps.marked_ratio)
    jitters = steps.jitter_ratios[steps.measured] if steps.jitter_ratios.size else None
    median = float(np.median(queues))
    in_full = full & steps.measured
    return QueueFacts(
        standing_ratio=float((steps.queued[steps.measured] >= MIN_FULL_QUEUE_RATIO).mean()),
        delay_ns_median=median * steps.rtt_ns_min,
        jitter_ratio=None if jitters is None or median <= 0 else float(np.median(jitters)) / median,
        full_bps=float(np.median(steps.rates_bps[in_full])) * steps.with_headers if in_full.any() else None,
        full_spread=_spread(steps.rates_bps[in_full]),
        full_ratio=float(_around(full).mean()),
        losses_full_ratio=_lost_in_full(steps.lost_segments, _around(full)),
        marked_ratio=steps.marked_ratio,
    )


POLICED_STEPS = 3
"""Steps that are taken together: a token bucket lets a burst through, and then nothing, for a step or two."""
MIN_POLICED = 5


def policing_of_steps(steps: Steps) -> PolicingFacts:
    """The rate while segments are lost: a policer lets the same rate through, whatever comes."""
    kernel = np.ones(POLICED_STEPS) / POLICED_STEPS
    rates, lost, queues = (
        (values[steps.measured] for values in (steps.rates_bps, steps.lost_segments, steps.queued))
        if steps.lost_segments.size
        else (np.zeros(0),) * 3
    )
    if rates.size < POLICED_STEPS + MIN_POLICED:
        return PolicingFacts()
    smooth, lossy = np.convolve(rates, kernel, mode="valid"), np.convolve(lost, kernel, mode="valid") > 0
    if lossy.sum() < MIN_POLICED:
        return PolicingFacts()
    rate = float(np.median(smooth[lossy]))
    highest = float(np.convolve(steps.rates_bps, np.ones(2) / 2, mode="valid").max())
    return PolicingFacts(
        bps=rate * steps.with_headers,
        spread=_spread(smooth[lossy]),
        lossy_ratio=float((lost > 0).mean()),
        delay_ns=float(np.median(queues[lost > 0])) * steps.rtt_ns_min,
        faster_times=highest / rate if rate > 0 else 1.0,
    )


def _is_full(steps: Steps) -> Flags:
    """In which steps the queue was near its longest."""
    if not steps.queued.size:
        return np.zeros(0, dtype=np.bool_)
    return steps.queued >= max(MIN_FULL_QUEUE_RATIO, FULL_PART * float(np.quantile(steps.queued, 0.95)))


def _lost_in_full(lost: Floats, is_full: Flags) -> float | None:
    """The part of the losses that came while the queue was full: of the segments, or of the steps that had any,
    whichever is less. The one overshoot of slow start loses more than many later losses, which halve the window as
    often.
    """
    lossy = lost > 0
    if not lossy.any():
        return None
    return min(float(lost[is_full].sum() / lost.sum()), float(is_full[lossy].mean()))


def _around(flags: Flags) -> Flags:
    """These steps and their neighbors: what a full queue drops is sent again a round trip later."""
    padded = np.concatenate(([False], flags, [False]))
    return padded[:-2] | padded[1:-1] | padded[2:]


def _spread(rates: Floats) -> float | None:
    """The range from the 10th to the 90th percentile over the median."""
    if not rates.size or np.median(rates) <= 0:
        return None
    low, high = np.quantile(rates, (0.1, 0.9))
    return float((high - low) / np.median(rates))


MIN_OUTAGE_NS = 400_000_000
"""A lost segment may cost one retransmission timeout, 200 ms at least (TCP_RTO_MIN); two of them double the timer."""
MIN_FULL_OUTAGE_NS, MIN_FULL_OUTAGE_TRIPS, MIN_UNDER_WAY = 100_000_000, 10, 20
"""The same where at least so many segments were under way when it began, and so many round trips."""
MIN_BACKED_OFF = 1.9
"""A timer this much longer than before has doubled."""

_COLUMNS = (
    *("sample_mono_ns", "connection", "phase", "delivered_segments", "unacked_segments", "rto_ns"),
    "rtt_ns_min",
)


def outages(trial: FlowTrial, sender: FlowEnd, active: Active = ALWAYS) -> OutageFacts:
    """The spans of the measured phase in which no connection delivered anything though each had data under way.

    Raises:
        RecordError: the table cannot be read.
    """
    info = read_columns(trial, "tcp_info", sender.host, _COLUMNS)
    if info is None:
        return OutageFacts()
    info = info.drop_nulls(_COLUMNS).filter(pl.col("phase").cast(pl.String) == "measure")
    info = active.rows(info, trial, sender).with_columns(
        pl.col("sample_mono_ns", "delivered_segments", "unacked_segments", "rto_ns", "rtt_ns_min").cast(pl.Int64)
    )
    series = [rows.sort("sample_mono_ns") for rows in info.partition_by("connection") if rows.height > 1]
    if not series:
        return OutageFacts()
    grid = max(series, key=lambda rows: rows.height)["sample_mono_ns"].to_numpy()
    stands = np.ones(grid.size - 1, dtype=np.bool_)
    timers, under_way = np.zeros(grid.size), np.zeros(grid.size)
    for rows in series:
        at = np.searchsorted(rows["sample_mono_ns"].to_numpy(), grid, side="right").clip(1) - 1
        delivered, waiting = (rows[name].to_numpy()[at] for name in ("delivered_segments", "unacked_segments"))
        stands &= (np.diff(delivered) == 0) & (waiting[1:] > 0)
        timers = np.maximum(timers, rows["rto_ns"].to_numpy()[at])
        under_way += waiting
    trip = int(info["rtt_ns_min"].min() or 0)  # type: ignore[arg-type]
    full_ns = max(MIN_FULL_OUTAGE_NS, MIN_FULL_OUTAGE_TRIPS * trip)
    long = []
    for first, last in _runs(stands):
        span = int(grid[last] - grid[first])
        is_backed_off = span >= MIN_OUTAGE_NS and _backs_off(timers, first, last)
        if is_backed_off or (span >= full_ns and under_way[first] >= MIN_UNDER_WAY):
            long.append((int(grid[first]), int(grid[last])))
    if not long:
        return OutageFacts()
    from_ns, to_ns = max(long, key=lambda span: span[1] - span[0])
    length = sum(end - start for start, end in long)
    return OutageFacts(
        longest_ns=to_ns - from_ns,
        length_ns=length,
        span_ratio=length / int(grid[-1] - grid[0]),
        from_ns=from_ns - int(grid[0]),
    )


def _runs(flags: NDArray[np.bool_]) -> list[tuple[int, int]]:
    """The first and the last instant of each run of steps that are set."""
    edges = np.diff(np.concatenate(([0], flags.astype(np.int8), [0])))
    return list(zip(np.flatnonzero(edges == 1).tolist(), np.flatnonzero(edges == -1).tolist(), strict=True))


def _backs_off(timers: NDArray[np.float64], first: int, last: int) -> bool:
    return bool(timers[first : last + 1].max() >= MIN_BACKED_OFF * max(1.0, float(timers[first])))
