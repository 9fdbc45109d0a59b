"""Travel times of segments and ACKs, by the logs of both hosts: the queue in each direction, measured.

A delay is what a segment took above the smallest delay of its direction, so the offset of the hosts' clocks cancels.
Segments that were sent more than once are left out: which copy arrived is not known.
"""

from collections.abc import Mapping, Sequence

import numpy as np
import polars as pl
from numpy.typing import NDArray

from whyperf.explain.gather.bottleneck import HEADERS_BYTES
from whyperf.explain.gather.losses import Wire, backlog, lost_copies
from whyperf.explain.path_facts import QueueFacts

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

MAX_CONNECTIONS = 4
"""Connections whose segments are looked at; all that share a path meet the same queue."""
MIN_DELAYS = 50
"""Fewer say nothing of a median."""
STANDING_TRIP_RATIO, MIN_STANDING_NS = 0.05, 500_000
"""A queue stands where a delay exceeds this part of the smallest round trip (CoDel's target is 5 % of its interval,
RFC 8289 section 4.3), and what hosts take to wake up."""
NEAR_STEPS = 20
"""A delay is compared with the one so many segments before: a burst of a host is about as long."""


def queue_of_logs(
    wires: Mapping[int, tuple[Wire, Wire]],
    acks: tuple[pl.DataFrame, pl.DataFrame],
    link_bps: float | None,
    trip_ns: float,
) -> QueueFacts:
    """The queue that stood before the bottleneck.

    Args:
        wires: what connections sent and what of it arrived, segment by segment.
        acks: pure ACKs as they left the receiver and as they arrived at the sender: time_ns, connection,
            acknowledgment.
        link_bps: the bottleneck's rate, if it is known.
        trip_ns: the smallest round trip.
    """
    most = sorted(wires, key=lambda number: -wires[number][0].time_ns.size)[:MAX_CONNECTIONS]
    found = [_delays(*wires[number]) for number in most]
    sent = np.concatenate([times for times, _ in found]) if found else np.zeros(0, dtype=np.int64)
    delays = np.concatenate([_above_least(values) for _, values in found]) if found else np.zeros(0)
    back = _back_delay(*acks)
    if delays.size < MIN_DELAYS:
        return QueueFacts(back_delay_ns_median=back)
    order = np.argsort(sent, kind="stable")
    sent, delays = sent[order], delays[order]
    median, full_ns = float(np.median(delays)), FULL_PART * float(np.quantile(delays, 0.95))
    stands = max(MIN_STANDING_NS, STANDING_TRIP_RATIO * trip_ns)
    waits = delays[NEAR_STEPS:] >= stands
    leaps = np.abs(delays[NEAR_STEPS:] - delays[:-NEAR_STEPS])[waits]
    usual = float(np.median(delays[NEAR_STEPS:][waits])) if waits.any() else 0.0
    return QueueFacts(
        standing_ratio=float((delays >= stands).mean()),
        delay_ns_median=median,
        own_ratio=_own_part(wires, link_bps, float(delays.mean())),
        jitter_ratio=float(np.median(leaps)) / usual if usual > 0 else None,
        full_ratio=float((delays >= full_ns).mean()),
        losses_full_ratio=_lost_in_full([wires[number] for number in most], sent, delays, full_ns),
        back_delay_ns_median=back,
    )


def _delays(sent: Wire, arrived: Wire) -> tuple[Ints, Floats]:
    """When segments that were sent once left, and what they took to arrive."""
    once, at, copies = np.unique(sent.sequence, return_index=True, return_counts=True)
    once, at = once[copies == 1], at[copies == 1]
    came, first = np.unique(arrived.sequence, return_index=True)
    _, of_sent, of_arrived = np.intersect1d(once, came, assume_unique=True, return_indices=True)
    left = sent.time_ns[at[of_sent]]
    took = arrived.time_ns[first[of_arrived]] - left
    return left, took.astype(np.float64)


MIN_QUANTILE = 0.01
"""The quantile that stands for the smallest delay: a log that lacks a segment takes a later copy for it."""


def _above_least(values: Floats) -> Floats:
    return values if not values.size else np.maximum(values - np.quantile(values, MIN_QUANTILE), 0.0)


FULL_PART = 0.5
"""A queue is full from this part of its longest delay on: a queue that drops early does so at any length."""


def _lost_in_full(wires: Sequence[tuple[Wire, Wire]], sent: Ints, delays: Floats, full_ns: float) -> float | None:
    """The part of the lost segments before which a segment left that met a full queue; None where none was lost."""
    lost = np.concatenate([pair[0].time_ns[lost_copies(*pair)] for pair in wires])
    if not lost.size:
        return None
    before = delays[(np.searchsorted(sent, lost, side="right") - 1).clip(min=0)]
    return float((before >= full_ns).mean())


def _own_part(wires: Mapping[int, tuple[Wire, Wire]], link_bps: float | None, mean_ns: float) -> float | None:
    """The part of the mean delay that all own segments together make at a bottleneck of that rate."""
    if not link_bps or mean_ns <= 0:
        return None
    time, payload = (
        np.concatenate([getattr(sent, name) for sent, _ in wires.values()]) for name in ("time_ns", "payload")
    )
    order = np.argsort(time, kind="stable")
    sent = Wire(time[order], time[order], payload[order])
    waiting = backlog(sent, np.zeros(time.size, dtype=np.bool_), link_bps / 8e9, HEADERS_BYTES)
    return min(1.0, float(waiting.mean()) * 8e9 / link_bps / mean_ns)


def _back_delay(sent: pl.DataFrame, arrived: pl.DataFrame) -> float | None:
    """The median delay of pure ACKs above the smallest."""
    key = ("connection", "acknowledgment")
    times = [frame.group_by(key).agg(pl.col("time_ns").min()) for frame in (sent, arrived)]
    took = times[0].join(times[1], on=key, suffix="_in").select(pl.col("time_ns_in") - pl.col("time_ns")).to_series()
    if took.len() < MIN_DELAYS:
        return None
    return float(np.median(_above_least(took.to_numpy().astype(np.float64))))
