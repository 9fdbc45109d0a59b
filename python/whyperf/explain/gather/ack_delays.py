"""The travel times of ACKs, from samples of TCP_INFO of both hosts: the queue of the reverse direction, unlogged.

The receiver's kernel counts the bytes that came in order, the sender's those that were acknowledged. When the second
count reaches what the first one was is when the ACK arrived.
"""

import numpy as np
import polars as pl
from numpy.typing import NDArray

from whyperf.analyze.flow import FlowEnd, FlowTrial
from whyperf.explain.gather.active import Active
from whyperf.explain.gather.table import read_columns

Floats = NDArray[np.float64]

MAX_CONNECTIONS = 4
"""Connections that are looked at, those that carried most; all that share a path meet the same queue."""
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
    delays = [_delays(*came[number], *acked[number]) for number in most]
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


def _delays(came_ns: Floats, came: Floats, acked_ns: Floats, acked: Floats) -> Floats:
    """The time that the ACK of each count of the receiver took, as far as the sender's counts reach."""
    inside = (came >= acked[0]) & (came <= acked[-1])
    return np.asarray(np.interp(came[inside], acked, acked_ns) - came_ns[inside])
