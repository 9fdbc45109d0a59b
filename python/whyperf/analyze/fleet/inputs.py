"""The inputs of the analysis of a fleet, in addition to the tables of every experiment."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

import polars as pl

from whyperf.plan import HostPair

Facts = Mapping[str, Any]
Side = Literal["near", "far"]

SOCKETS: Mapping[str, pl.DataType] = {
    "trial": pl.String(),
    "host": pl.String(),
    "rtt_ns": pl.Float64(),
    "rtt_ns_min": pl.Int64(),
    "busy_ns": pl.Int64(),
    "rwnd_limited_ns": pl.Int64(),
    "send_buffer_limited_ns": pl.Int64(),
    "span_ns": pl.Int64(),
    "retransmitted_segments": pl.Int64(),
    "data_segments": pl.Int64(),
    "mss_bytes": pl.Int64(),
}
"""A row for each sending end of a trial, from the samples of its sockets in the measured phase. `rtt_ns` is the median
over connections of their median, `rtt_ns_min` the smallest. Times of the kernel's chronographs and `span_ns` are sums
over connections, and so are segments."""

GAPS: Mapping[str, pl.DataType] = {
    "trial": pl.String(),
    "host": pl.String(),
    "idle_ratio": pl.Float64(),
    "idle_ns_max": pl.Int64(),
}
"""A row for each receiving end: the part of the measured phase whose intervals brought nothing on any connection, and
the longest such time."""

COUNTS: Mapping[str, pl.DataType] = {
    "trial": pl.String(),
    "host": pl.String(),
    "counter": pl.String(),
    "subject": pl.String(),
    "kind": pl.String(),
    "counted": pl.Int64(),
    "value": pl.Int64(),
}
"""Counters of the kernel at each side: by how much they grew, and their last value."""

WAITS: Mapping[str, pl.DataType] = {"trial": pl.String(), "host": pl.String(), "waited_ratio": pl.Float64()}
"""The wait of the thread of each side's load that waited most for a CPU, in the measured phase."""

DEVICES: Mapping[str, pl.DataType] = {"trial": pl.String(), "host": pl.String(), "device": pl.String()}
"""The device of each side that carried most packets."""


@dataclass(frozen=True)
class FleetInputs:
    """A fleet as planned, and what only its analysis reads.

    `pairs` are near and far host of each pair, in the order of their ends in the record. `hosts` are the record's facts
    by end. `documents` are what each trial's manifest says of the fleet: window, skew, stragglers. The frames have the
    columns above.
    """

    pattern: str
    pairs: tuple[HostPair, ...]
    groups: Mapping[str, tuple[str, ...]]
    hosts: Mapping[str, Facts]
    documents: Mapping[str, Facts]
    sockets: pl.DataFrame
    gaps: pl.DataFrame
    counts: pl.DataFrame
    devices: pl.DataFrame
    waits: pl.DataFrame

    def name(self, end: str) -> str:
        """The host of an end, such as that of `far2`."""
        pair = self.pairs[pair_of(end)]
        return pair.near if side_of(end) == "near" else pair.far

    @property
    def ends(self) -> tuple[str, ...]:
        """All ends, near before far."""
        return tuple(label(side, pair) for pair in range(len(self.pairs)) for side in ("near", "far"))


def label(side: str, pair: int) -> str:
    """The name of an end in the record: of pair 0 `near` or `far`, of pair 1 `near2` or `far2`."""
    return side if pair == 0 else f"{side}{pair + 1}"


def pair_of(end: str) -> int:
    """The pair of an end, from 0."""
    return int(end.removeprefix("near").removeprefix("far") or 1) - 1


def side_of(end: str) -> Side:
    """The side of its pair that it is, near or far."""
    return "near" if end.startswith("near") else "far"


PAIR = pl.col("host").str.extract(r"(\d+)$").cast(pl.Int64).fill_null(1) - 1
"""The pair of a row's end."""
