"""Rows of one stage of one stream, found by the bytes that they handled.

Stages handle the same bytes in packets of different sizes: a write of 16 KB, super-segments of 64 KB, frames of 1448
bytes, reads of 128 KB. What a stage did for some bytes is found by their sequence numbers. A row's time belongs to all
its bytes alike.
"""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]


class Handled(NamedTuple):
    """The work of a stage for ranges of bytes, shape (n,) each: CPU time and wall time in ns, and the bytes of it."""

    cpu_ns: Floats
    wall_ns: Floats
    bytes: Floats


class StageRows:
    """The rows of a stage in one stream.

    `start`, `end`, `time_ns`, `cpu_ns`, `wall_ns` and `order` are in the order of bytes, with each byte once: in the
    row that handled it first. Rows that handled the same bytes again, as where TCP goes on after a transmission, are in
    the sums of `handled`.
    """

    def __init__(self, rows: pl.DataFrame) -> None:
        """`rows` has columns of `HostStages.frame`, of rows with payload."""
        ordered = rows.sort("sequence", "time_ns")
        start, ends = ordered["sequence"].to_numpy(), (ordered["sequence"] + ordered["payload_bytes"]).to_numpy()
        cpu, wall = ordered["cpu_ns"].to_numpy(), ordered["wall_ns"].to_numpy()
        self._places, self._reached = _sums(start, ends, (cpu, wall))
        own = np.maximum(start, _reach_before(start, ends))
        kept = ends > own
        self.start: Ints = own[kept]
        self.end: Ints = ends[kept]
        self.time_ns: Ints = ordered["time_ns"].to_numpy()[kept]
        self.cpu_ns: Floats = cpu[kept]
        self.wall_ns: Floats = wall[kept]
        self.order: Ints = ordered["order"].to_numpy().astype(np.int64)[kept]

    def containing(self, byte: Ints) -> Ints:
        """The place of the row that handled each byte first, shape (n,); -1 where none did."""
        at = np.searchsorted(self.start, byte, side="right") - 1
        return np.where((at >= 0) & (byte < self.end[np.maximum(at, 0)]), at, -1).astype(np.int64)

    def handled(self, start: Ints, end: Ints) -> Handled:
        """The work of the stage for the ranges [start, end), shape (n,) each."""
        cpu, wall = (
            np.interp(end, self._places, reached) - np.interp(start, self._places, reached) for reached in self._reached
        )
        places = np.stack([self.start, self.end], axis=1).ravel()
        after = np.cumsum(self.end - self.start)
        reached = np.stack([after - (self.end - self.start), after], axis=1).ravel()
        covered = np.interp(end, places, reached) - np.interp(start, places, reached)
        return Handled(cpu, wall, covered)


def _sums(start: Ints, end: Ints, values: tuple[Floats, ...]) -> tuple[Ints, list[Floats]]:
    """Places where a row starts or ends, and the sums of values up to each: they grow evenly inside each row."""
    places, at = np.unique(np.concatenate([start, end]), return_inverse=True)
    reached = []
    for value in values:
        rate = value / (end - start)
        change = np.bincount(at, weights=np.concatenate([rate, -rate]), minlength=len(places))
        grown = np.cumsum(change)[:-1] * np.diff(places)
        reached.append(np.concatenate([[0.0], np.cumsum(grown)]))
    return places, reached


def _reach_before(start: Ints, end: Ints) -> Ints:
    """The highest end of all earlier rows; of the first, its own start."""
    if not start.size:
        return start
    return np.concatenate([start[:1], np.maximum.accumulate(end)[:-1]])


def streams_of(frame: pl.DataFrame) -> Iterator[tuple[int, str, dict[str, StageRows]]]:
    """Each connection and direction with its stages by name, without retransmissions and pure ACKs."""
    payload = frame.filter((pl.col("payload_bytes") > 0) & ~pl.col("is_again"))
    for (connection, direction), rows in payload.partition_by(
        "connection", "direction", as_dict=True, maintain_order=True
    ).items():
        stages = rows.partition_by("stage", as_dict=True)
        yield int(connection), str(direction), {str(stage): StageRows(own) for (stage,), own in stages.items()}
