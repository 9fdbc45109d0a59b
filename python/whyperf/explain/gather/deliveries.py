"""The rate of a path's bottleneck where there is no segment log: from what the sender's kernel counts as delivered.

While a queue stands before a bottleneck, it delivers at its own rate, whatever the congestion window is. So the rate of
all connections together has a highest value that it often reaches exactly, and the round trip is longer than its
minimum then. A sender that is held by losses has rates that vary; one that is held by a window or by itself has no
queue.

A sender that gets there only at times, and whose window grows back in between, has that rate while the queue is
longest. Where others use the bottleneck too, its own rate varies then.
"""

import numpy as np

from whyperf.explain.gather.delivery_steps import Flags, Floats, Steps
from whyperf.explain.path_facts import BottleneckRate, PolicingFacts, QueueFacts

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
