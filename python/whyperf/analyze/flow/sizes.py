"""Histograms of segment sizes."""

from dataclasses import dataclass

import polars as pl

EXACT_SIZES = 32
"""Up to so many different sizes are listed one by one."""


@dataclass(frozen=True)
class SizeHistogram:
    """Sizes of payload. `sizes` is ascending, with `size_bytes` (the size, or the class's smallest),
    `last_bytes` (the class's largest; `size_bytes` when exact), `count`, `bytes` and the parts of
    all, `count_ratio`, `bytes_ratio`. `of` is packets or segments, `level` segments or counters.
    """

    sizes: pl.DataFrame
    exact: bool
    of: str
    level: str


def size_histogram(
    log: pl.LazyFrame | pl.DataFrame, direction: str = "out", of: str = "packets", exact_sizes: int = EXACT_SIZES
) -> SizeHistogram:
    """Payload sizes of the log's data in one direction, retransmissions included.

    `of` is "packets", super-segments counting once with all they hold, or "segments", as on the
    wire: a super-segment is so many of its GSO size and what is left. More than `exact_sizes`
    different sizes become classes by powers of two.
    """
    raise NotImplementedError(log, direction, of, exact_sizes)


def counted_histogram(sizes: pl.DataFrame, what: str = "segment_out") -> SizeHistogram:
    """The same from the table `sizes`: `what` is segment_out, segment_in, write_call or read_call."""
    raise NotImplementedError(sizes, what)
