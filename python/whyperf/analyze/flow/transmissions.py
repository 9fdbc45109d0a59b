"""The size of the packets that left TCP, who made them leave, and who processed those that arrived."""

import polars as pl

from whyperf.analyze.flow.log import CONTEXTS
from whyperf.analyze.flow.steps import SECOND_NS, by_value, divided, share, sum_in_steps

_IS_DATA_IN = (pl.col("direction") == "in") & (pl.col("payload_bytes") > 0)
_IS_DATA_OUT = (pl.col("direction") == "out") & (pl.col("payload_bytes") > 0)


def super_segments(log: pl.LazyFrame | pl.DataFrame, interval_ns: int = 5 * SECOND_NS) -> pl.DataFrame:
    """Average packet with payload sent, in steps of `interval_ns` from 0 (study 3 takes 5 s).

    Ascending: `start_ns`, `end_ns`, `packets`, `segments`, `bytes`, `packet_bytes_mean`,
    `segments_per_packet` (null in a step without).
    """
    sums = {
        "packets": pl.len(),
        "segments": pl.col("wire_segments").cast(pl.Int64).sum(),
        "bytes": pl.col("payload_bytes").cast(pl.Int64).sum(),
    }
    return sum_in_steps(log.lazy().filter(_IS_DATA_OUT), sums, interval_ns).with_columns(
        divided("bytes", "packets", "packet_bytes_mean"), divided("segments", "packets", "segments_per_packet")
    )


def contexts(log: pl.LazyFrame | pl.DataFrame) -> pl.DataFrame:
    """Who made data leave: `context` (all, in the record's order), `packets`, `bytes`, `packets_ratio`,
    `bytes_ratio`, and of these `ksoftirqd_packets`.
    """
    counts = (
        log.lazy()
        .filter(_IS_DATA_OUT)
        .group_by("context")
        .agg(
            pl.len().cast(pl.Int64).alias("packets"),
            pl.col("payload_bytes").cast(pl.Int64).sum().alias("bytes"),
            pl.col("ksoftirqd").cast(pl.Int64).sum().alias("ksoftirqd_packets"),
        )
        .collect(engine="streaming")
    )
    whole = by_value(counts, "context", CONTEXTS)
    shares = (share("packets", "packets_ratio"), share("bytes", "bytes_ratio"))
    return whole.with_columns(shares).select(_CONTEXT_COLUMNS)


def arrivals(log: pl.LazyFrame | pl.DataFrame) -> pl.DataFrame:
    """Where arriving data was processed: `context` (as text), `cpu`, `packets`, `bytes`; most packets first.

    The context `worker` is a thread of the kernel that polls the device.
    """
    return (
        log.lazy()
        .filter(_IS_DATA_IN)
        .group_by(pl.col("context").cast(pl.String), "cpu")
        .agg(pl.len().cast(pl.Int64).alias("packets"), pl.col("payload_bytes").cast(pl.Int64).sum().alias("bytes"))
        .sort("packets", "context", "cpu", descending=[True, False, False])
        .collect(engine="streaming")
    )


_CONTEXT_COLUMNS = ("context", "packets", "bytes", "packets_ratio", "bytes_ratio", "ksoftirqd_packets")
