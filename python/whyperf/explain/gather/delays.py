"""Travel times of segments and ACKs: the queue in each direction, and a link of half duplex, which both share.

A delay is what a segment took above the smallest delay of its direction, so the offset of the hosts' clocks cancels.
Segments that were sent more than once are left out: which copy arrived is not known.

Of ACKs samples of TCP_INFO of both hosts show it, too. The receiver's kernel counts the bytes that came in order, the
sender's those that were acknowledged. When the second count reaches what the first one was is when the ACK arrived.

The model has no counter of the use of a link of half duplex, so it follows from what both hosts sent: segments by the
kernel's count, and payload by that of the other host. The links of several adapters are taken together.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from whyperf.analyze.flow import FlowEnd, FlowTrial
from whyperf.analyze.measures.adapters import model_link
from whyperf.explain.gather.bottleneck import HEADERS_BYTES
from whyperf.explain.gather.losses import Wire, backlog, lost_copies
from whyperf.explain.gather.read import Active, read_columns
from whyperf.explain.host_facts import HALF_DUPLEX
from whyperf.explain.path_facts import QueueFacts
from whyperf.explain.trial_facts import Facts

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
    delays = (
        np.concatenate([_above_least(took, _not_overtaking(left, took)) for left, took in found])
        if found
        else np.zeros(0)
    )
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


def _above_least(values: Floats, others: Floats | None = None) -> Floats:
    """Delays above the smallest one, or above that of the `others`."""
    known = values if others is None or not others.size else others
    return values if not values.size else np.maximum(values - np.quantile(known, MIN_QUANTILE), 0.0)


def _not_overtaking(sent: Ints, delays: Floats) -> Floats:
    """The delays of the segments that arrived after all that had left before them."""
    order = np.argsort(sent, kind="stable")
    arrived = (sent + delays)[order]
    return delays[order][arrived >= np.maximum.accumulate(arrived)]


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


MIN_SAMPLES = 8
"""Fewer say nothing of a median."""
Z_95 = 1.96
"""Standard deviations of a normal distribution: the count of samples below the median has one of half of their root."""


def ack_delay_ns(trial: FlowTrial, sender: FlowEnd, receiver: FlowEnd, active: Active, trip_ns: float) -> float | None:
    """The median delay of ACKs above half of the smallest round trip, at least; None where the samples do not show it.

    Counts that leap between two samples make single delays wrong by up to their distance, in either direction: so it is
    the lower end of the median's 95 % interval, by order statistics, less what the offsets of the hosts' clocks may be
    wrong by.

    Raises:
        RecordError: a table cannot be read.
    """
    acked, came = _counts(trial, sender, "bytes_acked", active), _counts(trial, receiver, "bytes_received", active)
    most = sorted(acked.keys() & came.keys(), key=lambda number: -acked[number][1][-1])[:MAX_CONNECTIONS]
    delays = [_delays_of_acks(*came[number], *acked[number]) for number in most]
    together = np.concatenate(delays) if delays else np.zeros(0)
    if together.size < MIN_SAMPLES:
        return None
    low = float(np.quantile(together, max(0.0, 0.5 - Z_95 / 2 / np.sqrt(together.size))))
    return max(0.0, low - trip_ns / 2 - sender.uncertainty_ns - receiver.uncertainty_ns)


def _counts(trial: FlowTrial, end: FlowEnd, count: str, active: Active) -> dict[int, tuple[Floats, Floats]]:
    """By connection, the instants (ns, of one clock) at which a count had grown, and what it was then."""
    info = read_columns(trial, "tcp_info", end.host, ("connection", "sample_mono_ns", count))
    if info is None:
        return {}
    info = active.rows(info.drop_nulls(), trial, end).sort("sample_mono_ns")
    found = {}
    for rows in info.partition_by("connection"):
        values = rows[count].cast(pl.Int64).to_numpy()
        grows = np.diff(values, prepend=-1) > 0
        at = rows["sample_mono_ns"].cast(pl.Int64).to_numpy() - end.offset_ns
        if grows.any():
            found[int(rows["connection"][0])] = (at[grows].astype(np.float64), values[grows].astype(np.float64))
    return found


def _delays_of_acks(came_ns: Floats, came: Floats, acked_ns: Floats, acked: Floats) -> Floats:
    """The time that the ACK of each count of the receiver took, as far as the sender's counts reach."""
    inside = (came >= acked[0]) & (came <= acked[-1])
    return np.asarray(np.interp(came[inside], acked, acked_ns) - came_ns[inside])


FRAME_BYTES = 90
"""Of a segment without its payload on Ethernet: TCP with time stamps 32, IP version 4 20, MAC header 14, check sequence
4, preamble and gap 20. A pure ACK is above the minimum of 64 bytes. Without time stamps 12 bytes less."""
TIME_STAMPS_BYTES = 12
ETHERNET = "ethernet"

_COLUMNS = ("connection", "sample_mono_ns", "segments_out", "bytes_received")


def with_link_use(
    facts: Facts, trial: FlowTrial, hosts: Mapping[str, Mapping[str, Any]], factors: Mapping[str, object]
) -> Facts:
    """The same, with the part of the time for which a link of half duplex was busy.

    Nothing is added for full duplex, or where the link is no Ethernet. `hosts` are the record's facts of each host, and
    `factors` those of the cell.

    Raises:
        RecordError: a table cannot be read.
    """
    links = [model_link(found, factors) or "" for found in hosts.values()]
    if factors.get("duplex") != "half" or not facts.link_bps or not all(map(_is_ethernet, links)):
        return facts
    frame_bytes = FRAME_BYTES if all(map(_has_time_stamps, hosts.values())) else FRAME_BYTES - TIME_STAMPS_BYTES
    bytes_per_s = 0.0
    for host in trial.ends:
        rows = read_columns(trial, "tcp_info", host, _COLUMNS)
        if rows is None or (rate := _bytes_per_s(rows, frame_bytes)) is None:
            return facts
        bytes_per_s += rate
    ratio = min(1.0, 8 * bytes_per_s / facts.link_bps)
    limits = replace(facts.sender.limits, parts={**facts.sender.limits.parts, HALF_DUPLEX: ratio})
    return replace(facts, sender=replace(facts.sender, limits=limits))


def _is_ethernet(link: str) -> bool:
    return link.startswith(ETHERNET)


def _has_time_stamps(host: Mapping[str, Any]) -> bool:
    """True where all systems of the host have time stamps, by their parameters."""
    values = [system.get("values", {}) for system in host.get("parameters", {}).values()]
    return all(found.get("time_stamps", {}).get("value", False) for found in values)


def _bytes_per_s(rows: pl.DataFrame, frame_bytes: int) -> float | None:
    """Headers of what a host sent, and payload that it received, from the first sample to the last."""
    sampled = rows.drop_nulls(["segments_out", "bytes_received"]).sort("sample_mono_ns")
    ends = sampled.group_by("connection").agg(pl.all().first().name.suffix("_first"), pl.all().last())
    moved = sum(
        factor * int((ends[name].cast(pl.Int64) - ends[f"{name}_first"].cast(pl.Int64)).sum())
        for name, factor in (("segments_out", frame_bytes), ("bytes_received", 1))
    )
    times = sampled["sample_mono_ns"]
    span = 0 if sampled.is_empty() else int(times[-1]) - int(times[0])
    return moved * 1e9 / span if span else None
