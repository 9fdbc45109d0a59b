"""Histograms of segment sizes."""

from dataclasses import dataclass

import numpy as np
import polars as pl

from whyperf.analyze.flow.steps import share

EXACT_SIZES = 32
"""Up to so many different sizes are listed one by one."""


@dataclass(frozen=True)
class SizeHistogram:
    """Sizes of payload. `sizes` is ascending, with `size_bytes` (the size, or the class's smallest),
    `last_bytes` (the class's largest; `size_bytes` when exact), `count`, `bytes` and the parts of
    all, `count_ratio`, `bytes_ratio`. `of` is packets, segments or calls, `level` segments or counters.
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
    data = log.lazy().filter((pl.col("direction") == direction) & (pl.col("payload_bytes") > 0))
    wire = pl.col("wire_segments").cast(pl.Int64)
    if of == "segments":
        data = data.select(*_ON_THE_WIRE, wire.alias("held"))
        full = data.filter(pl.col("held") > 1).group_by(pl.col("gso_size_bytes").alias("size_bytes"))
        rest = data.group_by(_REST.alias("size_bytes"))
        parts = [full.agg((pl.col("held") - 1).sum().alias("count")), rest.agg(pl.len().cast(pl.Int64).alias("count"))]
        counts = pl.concat([part.with_columns(pl.col("size_bytes").cast(pl.Int64)) for part in parts])
        sizes = counts.group_by("size_bytes").agg(pl.col("count").sum())
    else:
        size = pl.col("payload_bytes").cast(pl.Int64).alias("size_bytes")
        sizes = data.group_by(size).agg(pl.len().cast(pl.Int64).alias("count"))
    every = sizes.collect(engine="streaming").with_columns((pl.col("size_bytes") * pl.col("count")).alias("bytes"))
    if every.height <= exact_sizes:
        return _histogram(every.with_columns(pl.col("size_bytes").alias("last_bytes")), of, "segments", exact=True)
    return _histogram(_by_class(every), of, "segments", exact=False)


def counted_histogram(sizes: pl.DataFrame, what: str = "segment_out") -> SizeHistogram:
    """The same from the table `sizes`: `what` is segment_out, segment_in, write_call or read_call."""
    classes = (
        sizes.filter(pl.col("what") == what)
        .group_by(pl.col("class_bytes").cast(pl.Int64).alias("size_bytes"))
        .agg(
            pl.col("sizes_count").sum().cast(pl.Int64).alias("count"),
            pl.col("sizes_bytes").sum().cast(pl.Int64).alias("bytes"),
        )
        .with_columns(_CLASS_END)
    )
    return _histogram(classes, "calls" if what.endswith("call") else "packets", "counters", exact=False)


_ON_THE_WIRE = ("payload_bytes", "gso_size_bytes")
_FULL = pl.col("gso_size_bytes").cast(pl.Int64) * (pl.col("held") - 1)
_REST = (pl.col("payload_bytes").cast(pl.Int64) - _FULL).clip(0)
"""The last segment of a packet: what is left of it."""

_CLASS_END = pl.when(pl.col("size_bytes") > 0).then(2 * pl.col("size_bytes") - 1).otherwise(0).alias("last_bytes")


def _by_class(sizes: pl.DataFrame) -> pl.DataFrame:
    """Sizes by powers of two: class 1024 holds 1024 to 2047."""
    starts = np.append(0, 2 ** np.arange(33, dtype=np.int64))
    classes = starts[np.searchsorted(starts, sizes["size_bytes"].to_numpy(), side="right") - 1]
    summed = sizes.with_columns(size_bytes=classes).group_by("size_bytes").agg(pl.col("count", "bytes").sum())
    return summed.with_columns(_CLASS_END)


def _histogram(sizes: pl.DataFrame, of: str, level: str, *, exact: bool) -> SizeHistogram:
    shares = (share("count", "count_ratio"), share("bytes", "bytes_ratio"))
    columns = ("size_bytes", "last_bytes", "count", "bytes", "count_ratio", "bytes_ratio")
    return SizeHistogram(sizes.sort("size_bytes").with_columns(shares).select(columns), exact, of, level)
