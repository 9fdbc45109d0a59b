"""The payloads on the wire, in the order they were sent."""

from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

PAYLOAD_COLUMNS = ("direction", "payload_bytes", "gso_size_bytes", "wire_segments", "retransmission")
"""Columns of `read_log` that `payload_sequence` wants."""

SLICE_ROWS = 1 << 20
"""Rows taken apart together, so that ten million do not take a gigabyte."""


@dataclass(frozen=True)
class Runs:
    """A sequence of payloads as runs of equal ones: `size` in bytes and how often in a row, shapes (n,).

    Neighbors differ in size. A bulk transfer of 200 million segments is a few runs.
    """

    size: NDArray[np.uint32]
    repeats: NDArray[np.int64]

    @property
    def segments_count(self) -> int:
        """Segments in all."""
        return int(self.repeats.sum())


def runs_of(size: NDArray[np.uint32], repeats: NDArray[np.int64] | None = None) -> Runs:
    """The runs of a sequence of sizes, each there `repeats` times (once when absent; 0 is not there)."""
    if repeats is not None:
        size, repeats = size[repeats > 0], repeats[repeats > 0]
    if size.size == 0:
        return Runs(np.empty(0, dtype=np.uint32), np.empty(0, dtype=np.int64))
    starts = np.flatnonzero(np.append(True, size[1:] != size[:-1]))
    stops = np.append(starts[1:], size.size)
    return Runs(size[starts], stops - starts if repeats is None else np.add.reduceat(repeats, starts))


def payload_sequence(log: pl.DataFrame, direction: str = "out") -> Runs:
    """Payload of each wire segment of one connection.

    `log` is of `read_log` with `PAYLOAD_COLUMNS`, for one connection. Super-segments are taken
    apart; what was sent again is left out, so that a loss does not break the pattern.
    """
    is_new = (pl.col("direction") == direction) & (pl.col("payload_bytes") > 0) & pl.col("retransmission").is_null()
    parts = [_apart(part.filter(is_new)) for part in log.iter_slices(SLICE_ROWS)] or [_apart(log)]
    return runs_of(np.concatenate([part.size for part in parts]), np.concatenate([part.repeats for part in parts]))


def _apart(data: pl.DataFrame) -> Runs:
    """Each packet is so many full segments and one of what is left."""
    size = data["payload_bytes"].to_numpy()
    full = data["gso_size_bytes"].to_numpy()
    sizes, repeats = np.empty((size.size, 2), dtype=np.uint32), np.ones((size.size, 2), dtype=np.int64)
    repeats[:, 0] = np.maximum(data["wire_segments"].to_numpy(), 1) - 1
    sizes[:, 0] = full
    sizes[:, 1] = size - full * repeats[:, 0]
    return runs_of(sizes.ravel(), repeats.ravel())
