"""When a transfer stood still although data was under way: nothing was acknowledged, and TCP tried ever more rarely.

A path that fails for a moment, in either direction, shows so in the samples of TCP_INFO: the count of delivered
segments stands still on all connections, and the retransmission timer doubles (RFC 6298 section 5.5). If a whole window
was under way and none of it is delivered for many round trips, all of it is lost, with or without a second timeout:
what arrives behind a loss counts as delivered (SACK).
"""

import numpy as np
import polars as pl
from numpy.typing import NDArray

from whyperf.analyze.flow import FlowEnd, FlowTrial
from whyperf.explain.gather.active import ALWAYS, Active
from whyperf.explain.gather.table import read_columns
from whyperf.explain.path_facts import OutageFacts

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
