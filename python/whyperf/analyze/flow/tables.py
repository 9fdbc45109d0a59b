"""The tables of the levels below the log: counters in the kernel, and what everybody may ask for."""

from collections.abc import Mapping
from dataclasses import dataclass

import polars as pl

from whyperf.analyze.flow.log import ACK_REASONS, CONTEXTS
from whyperf.analyze.flow.trial import FlowTrial, reported_unreadable

_KEYS: Mapping[str, pl.DataType] = {"connection": pl.UInt32(), "role": pl.String()}
_SPAN: Mapping[str, pl.DataType] = {"phase": pl.String(), "start_mono_ns": pl.UInt64(), "end_mono_ns": pl.UInt64()}

COUNTED = (
    *("data_out_packets", "data_out_segments", "data_out_bytes", "retransmitted_out_packets", "acks_out_count"),
    *("data_in_packets", "data_in_segments", "data_in_bytes", "acks_in_count", "duplicate_acks_in_count"),
    *("out_of_order_in_packets", "ksoftirqd_out_packets"),
    *(f"{context}_out_packets" for context in CONTEXTS),
    *(f"{reason}_acks_count" for reason in ACK_REASONS),
)
"""Counts of the table `counters`."""

SAMPLED = (
    *("bytes_acked", "bytes_received", "segments_out", "segments_in", "data_segments_out", "data_segments_in"),
    *("bytes_sent", "bytes_retransmitted", "out_of_order_segments", "retransmitted_segments"),
)
"""Counts of the table `tcp_info` that only grow."""

COLUMNS: Mapping[str, Mapping[str, pl.DataType]] = {
    "counters": {**_KEYS, **_SPAN, "interval": pl.UInt32(), **dict.fromkeys(COUNTED, pl.UInt64())},
    "sizes": {
        **_KEYS,
        "interval": pl.UInt32(),
        "phase": pl.String(),
        "what": pl.String(),
        "class_bytes": pl.UInt32(),
        "sizes_count": pl.UInt64(),
        "sizes_bytes": pl.UInt64(),
    },
    "flows": {
        **_KEYS,
        "payload_bytes": pl.UInt64(),
        "calls_count": pl.UInt64(),
        "ended": pl.String(),
        "mss_bytes": pl.UInt32(),
    },
    "intervals": {**_KEYS, **_SPAN, "payload_bytes": pl.UInt64(), "calls_count": pl.UInt64()},
    "tcp_info": {
        **_KEYS,
        "phase": pl.String(),
        "sample_mono_ns": pl.UInt64(),
        "state": pl.UInt32(),
        "final": pl.Boolean(),
        **dict.fromkeys(SAMPLED, pl.UInt64()),
        "own_window_bytes": pl.UInt32(),
        "peer_window_bytes": pl.UInt32(),
    },
}
"""Columns that the segment flow reads; one that an older agent did not write is null."""


FIN_TAKEN = (6, 8, 9, 11)
"""TCP_TIME_WAIT, TCP_CLOSE_WAIT, TCP_LAST_ACK and TCP_CLOSING: the peer's FIN has come (RFC 9293 section 3.3.2)."""

# A FIN takes a sequence number, and Linux counts it as a byte received (tcp_rcv_nxt_update in net/ipv4/tcp_input.c).
_PAYLOAD_RECEIVED = (
    pl.when(pl.col("state").is_in(FIN_TAKEN) & (pl.col("bytes_received") > 0))
    .then(pl.col("bytes_received") - 1)
    .otherwise(pl.col("bytes_received"))
    .alias("bytes_received")
)


@dataclass(frozen=True)
class Counted:
    """Level 1 of one host: tables `counters` and `sizes`, with `start_ns`, `end_ns` after the start of the load."""

    counters: pl.DataFrame
    sizes: pl.DataFrame


@dataclass(frozen=True)
class UserTables:
    """Level 0 of one host: tables `flows`, `intervals`, `tcp_info`; instants as `*_ns` after the start of the load."""

    flows: pl.DataFrame
    intervals: pl.DataFrame
    tcp_info: pl.DataFrame


def read_counters(trial: FlowTrial, host: str) -> Counted | None:
    """Level 1 of the end at `host`; None when it was not counted."""
    counters, sizes = (_read(trial, host, name) for name in ("counters", "sizes"))
    return None if counters.is_empty() and sizes.is_empty() else Counted(counters, sizes)


def read_user(trial: FlowTrial, host: str) -> UserTables:
    """Level 0 of the end at `host`; tables that are not there are empty. `bytes_received` is without the FIN."""
    flows, intervals, tcp_info = (_read(trial, host, name) for name in ("flows", "intervals", "tcp_info"))
    return UserTables(flows, intervals, tcp_info.with_columns(_PAYLOAD_RECEIVED))


def _read(trial: FlowTrial, host: str, name: str) -> pl.DataFrame:
    """The table with its instants moved; without a file, its columns and no row."""
    kinds = COLUMNS[name]
    source = trial.table(name, host)
    if source is None:
        table = pl.DataFrame(schema=dict(kinds))
    else:
        with reported_unreadable(source.path):
            there = source.rows.collect_schema().names()
            columns = [
                (pl.col(column) if column in there else pl.lit(None)).cast(kind).alias(column)
                for column, kind in kinds.items()
            ]
            table = source.rows.select(columns).collect()
    shift = trial.zero_mono_ns + (trial.ends[host].offset_ns if host in trial.ends else 0)
    instants = [column for column in kinds if column.endswith("_mono_ns")]
    moved = [(pl.col(column).cast(pl.Int64) - shift).alias(column.replace("_mono_ns", "_ns")) for column in instants]
    return table.with_columns(moved).drop(instants)
