"""From the counters of the kernel (level 1), what the other modules make of the log."""

import polars as pl

from whyperf.analyze.flow.acks import AckRatio, ratio_of
from whyperf.analyze.flow.log import ACK_REASONS, CONTEXTS
from whyperf.analyze.flow.quantities import Values
from whyperf.analyze.flow.steps import quotient, share
from whyperf.analyze.flow.tables import read_counters
from whyperf.analyze.flow.transmissions import CONTEXT_COLUMNS, averaged
from whyperf.analyze.flow.trial import FlowEnd, FlowTrial


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


def counted_values(trial: FlowTrial, end: FlowEnd, connection: int | None, *, whole_life: bool) -> Values:
    """What the counters of `end` know of its measured phase, or its whole life; nothing without counters."""
    counted = read_counters(trial, end.host)
    if counted is None:
        return {}
    counters, sizes = (_part(table, connection, whole_life=whole_life) for table in (counted.counters, counted.sizes))
    way, back = ("out", "in") if end.role == "sender" else ("in", "out")
    columns = {
        "data_bytes": f"data_{way}_bytes",
        "data_segments": f"data_{way}_segments",
        "data_packets": f"data_{way}_packets",
        "acks_count": f"acks_{back}_count",
        **{f"ack_{reason}_count": f"{reason}_acks_count" for reason in ACK_REASONS},
        "duplicate_acks_count": "duplicate_acks_in_count",
        "out_of_order_packets": "out_of_order_in_packets",
        "retransmitted_packets": "retransmitted_out_packets",
    }
    contexts = {**{f"context_{name}": f"{name}_out_packets" for name in CONTEXTS}, "ksoftirqd": "ksoftirqd_out_packets"}
    sent = _total(counters, "data_out_packets")
    return {
        **{name: float(_total(counters, column)) for name, column in columns.items()},
        **{f"{name}_ratio": quotient(_total(counters, column), sent) for name, column in contexts.items()},
        "write_size_bytes_mean": _mean_size(sizes, "write_call"),
        "read_size_bytes_mean": _mean_size(sizes, "read_call"),
    }


def _part(table: pl.DataFrame, connection: int | None, *, whole_life: bool) -> pl.DataFrame:
    """The rows of the measured phase and of the connection."""
    if not whole_life:
        table = table.filter(pl.col("phase") == "measure")
    return table if connection is None else table.filter(pl.col("connection") == connection)


def _mean_size(sizes: pl.DataFrame, what: str) -> float | None:
    calls = sizes.filter(pl.col("what") == what)
    return quotient(_total(calls, "sizes_bytes"), _total(calls, "sizes_count"))
