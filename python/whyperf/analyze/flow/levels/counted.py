"""The quantities of a flow that the counters of the kernel (level 1) know."""

import polars as pl

from whyperf.analyze.flow.levels.quantities import Values
from whyperf.analyze.flow.log import ACK_REASONS, CONTEXTS
from whyperf.analyze.flow.steps import quotient
from whyperf.analyze.flow.tables import read_counters
from whyperf.analyze.flow.trial import FlowEnd, FlowTrial


def counted_values(trial: FlowTrial, end: FlowEnd, connection: int | None, *, whole_life: bool) -> Values:
    """The values that the counters of `end` know of its measured phase, or its whole life; nothing without counters."""
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
        "not_next_packets": "out_of_order_in_packets",
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


def _total(counters: pl.DataFrame, column: str) -> int:
    return int(counters[column].sum())
