"""Goodput of each flow of a scheduled trial over time, in bins that lie in one region each."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from whyperf.analyze.steady.rates import Floats, rates_between
from whyperf.profile.schedule import Region, regions

LONGEST_BIN_S = 1.0
"""The averaging time of all indicators, unless the regions are short: the studies report once a second."""

MIN_BINS = 10
"""Bins of the shortest region at least, where `MAX_VALUES` allows it."""

MAX_VALUES = 10_000_000
"""Values of all flows together at most, which take 80 MB: bins are longer where a record asks for more."""

NS_PER_S = 1e9

Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]


@dataclass(frozen=True)
class ActiveInterval:
    """A flow of the schedule: when it was at work, in s after the start of the load; `direction` is seen from near."""

    flow: int
    name: str
    protocol: str
    connections: tuple[int, ...]
    start_s: float
    stop_s: float
    direction: str = "send"
    dscp: int | None = None


@dataclass(frozen=True)
class FlowSeries:
    """A trial over time. `edges_s` are the bins' edges (bins + 1), `bps` has shape (flows, bins), `region` names each
    bin's region by its position in `regions`.
    """

    active: tuple[ActiveInterval, ...]
    regions: tuple[Region, ...]
    edges_s: Floats
    bps: Floats
    region: Ints

    def bins(self, region: int) -> Bools:
        """Which bins lie in the region at that position."""
        inside: Bools = self.region == region
        return inside

    def mean_bps(self, region: int, flow: int) -> float:
        """Mean goodput of a flow in a region, in bit/s."""
        inside = self.bins(region)
        return float(np.average(self.bps[flow, inside], weights=np.diff(self.edges_s)[inside]))

    @property
    def bin_s(self) -> float:
        """The averaging time: that of the longest bin."""
        return float(np.diff(self.edges_s).max())


def active_intervals(schedule: pl.DataFrame) -> tuple[ActiveInterval, ...]:
    """The flows of one trial's rows of `inputs.SCHEDULE`."""
    grouped = schedule.group_by("flow").agg(pl.exclude("connection").first(), pl.col("connection").sort())
    return tuple(
        ActiveInterval(
            row["flow"],
            row["name"],
            row["protocol"],
            tuple(row["connection"]),
            row["start_ns"] / NS_PER_S,
            row["stop_ns"] / NS_PER_S,
            row["direction"],
            row["dscp"],
        )
        for row in grouped.sort("flow").iter_rows(named=True)
    )


def flow_course(schedule: pl.DataFrame, rows: pl.DataFrame) -> FlowSeries:
    """The course of one trial.

    `schedule` are its rows of `inputs.SCHEDULE`, `rows` the receivers' interval rows. Octets of an interval that lies
    in two bins are shared out by time.
    """
    active = active_intervals(schedule)
    start_ns = int(schedule["trial_start_ns"][0])
    found = regions([(round(interval.start_s * NS_PER_S), round(interval.stop_s * NS_PER_S)) for interval in active])
    edges_ns, region = _bins(found, MAX_VALUES / len(active))
    absolute = edges_ns + start_ns
    bps = np.vstack(
        [_rates(rows.filter(pl.col("connection").is_in(interval.connections)), absolute) for interval in active]
    )
    return FlowSeries(active, found, edges_ns / NS_PER_S, bps, region)


def _bins(found: Sequence[Region], max_bins: float) -> tuple[Floats, Ints]:
    """Edges in ns, and the position of each bin's region; all bins of a region are equally long."""
    shortest = min(span.stop_ns - span.start_ns for span in found if span.flows)
    length = min(LONGEST_BIN_S * NS_PER_S, shortest / MIN_BINS)
    length = max(length, (found[-1].stop_ns - found[0].start_ns) / max_bins)
    edges = [np.array([float(found[0].start_ns)])]
    region = []
    for position, span in enumerate(found):
        count = max(1, round((span.stop_ns - span.start_ns) / length))
        edges.append(np.linspace(span.start_ns, span.stop_ns, count + 1)[1:])
        region += [position] * count
    return np.concatenate(edges), np.array(region, dtype=np.int64)


def _rates(rows: pl.DataFrame, edges_ns: Floats) -> Floats:
    if rows.is_empty():
        return np.zeros(edges_ns.size - 1)
    origin = edges_ns[0]
    starts = (rows["start_mono_ns"].cast(pl.Float64) - origin).to_numpy()
    ends = (rows["end_mono_ns"].cast(pl.Float64) - origin).to_numpy()
    return rates_between(edges_ns - origin, starts, ends, rows["payload_bytes"].cast(pl.Float64).to_numpy())
