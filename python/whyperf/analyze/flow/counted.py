"""From the counters of the kernel (level 1), what the other modules make of the log."""

import polars as pl

from whyperf.analyze.flow.acks import AckRatio, ratio_of
from whyperf.analyze.flow.log import ACK_REASONS, CONTEXTS
from whyperf.analyze.flow.steps import share
from whyperf.analyze.flow.transmissions import CONTEXT_COLUMNS, averaged


def counted_ack_ratio(counters: pl.DataFrame, role: str) -> AckRatio:
    """The ACK ratio of each interval of the table, all connections together; see `acks.ack_ratio`."""
    data, acks = ("out", "in") if role == "sender" else ("in", "out")
    sums = {"segments": f"data_{data}_segments", "packets": f"data_{data}_packets", "acks": f"acks_{acks}_count"}
    return ratio_of(_by_interval(counters, sums), "counters")


def counted_ack_reasons(counters: pl.DataFrame) -> pl.DataFrame:
    """As `acks.ack_reasons`."""
    counts = [(reason, _total(counters, f"{reason}_acks_count")) for reason in ACK_REASONS]
    found = pl.DataFrame(counts, schema={"reason": pl.String(), "count": pl.Int64()}, orient="row")
    return found.with_columns(share("count", "ratio"))


def counted_super_segments(counters: pl.DataFrame) -> pl.DataFrame:
    """As `transmissions.super_segments`, in the table's own intervals."""
    sums = {"packets": "data_out_packets", "segments": "data_out_segments", "bytes": "data_out_bytes"}
    return averaged(_by_interval(counters, sums))


def counted_contexts(counters: pl.DataFrame) -> pl.DataFrame:
    """As `transmissions.contexts`; bytes and the part of ksoftirqd are null, the kernel counts packets by context."""
    counts = [(context, _total(counters, f"{context}_out_packets")) for context in CONTEXTS]
    found = pl.DataFrame(counts, schema={"context": pl.String(), "packets": pl.Int64()}, orient="row")
    unknown = {"bytes": pl.Int64, "bytes_ratio": pl.Float64, "ksoftirqd_packets": pl.Int64}
    nulls = [pl.lit(None, dtype=kind).alias(name) for name, kind in unknown.items()]
    return found.with_columns(share("packets", "packets_ratio"), *nulls).select(CONTEXT_COLUMNS)


def _by_interval(counters: pl.DataFrame, sums: dict[str, str]) -> pl.DataFrame:
    """Sums over the connections of each interval, ascending."""
    return (
        counters.group_by("interval")
        .agg(
            pl.col("start_ns").min(),
            pl.col("end_ns").max(),
            *[pl.col(column).sum().cast(pl.Int64).alias(name) for name, column in sums.items()],
        )
        .sort("interval")
        .drop("interval")
    )


def _total(counters: pl.DataFrame, column: str) -> int:
    return int(counters[column].sum())
