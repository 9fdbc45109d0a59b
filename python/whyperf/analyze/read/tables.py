"""The columns of the record's tables that the analysis reads, with their types.

A table without a single row (no trial yet) gets its columns from here, and a column that an older
agent did not write is null.
"""

from collections.abc import Mapping

import polars as pl

_KEYS: Mapping[str, pl.DataType] = {"trial": pl.String(), "block": pl.Int64(), "cell": pl.String(), "host": pl.String()}
_FLOW: Mapping[str, pl.DataType] = {**_KEYS, "connection": pl.UInt32(), "role": pl.String()}
_SPAN: Mapping[str, pl.DataType] = {"phase": pl.String(), "start_mono_ns": pl.UInt64(), "end_mono_ns": pl.UInt64()}

TABLES: Mapping[str, Mapping[str, pl.DataType]] = {
    "flows": {
        **_FLOW,
        "window_requested_bytes": pl.UInt32(),
        "send_buffer_requested_bytes": pl.UInt32(),
        "send_buffer_granted_bytes": pl.UInt32(),
        "receive_buffer_requested_bytes": pl.UInt32(),
        "receive_buffer_granted_bytes": pl.UInt32(),
        "window_clamp_bytes": pl.UInt32(),
        "mss_bytes": pl.UInt32(),
        "congestion_control": pl.String(),
        "opening_mono_ns": pl.UInt64(),
        "opened_mono_ns": pl.UInt64(),
        "first_call_mono_ns": pl.UInt64(),
        "last_call_mono_ns": pl.UInt64(),
        "payload_bytes": pl.UInt64(),
        "calls_count": pl.UInt64(),
        "short_calls_count": pl.UInt64(),
        "other_calls_count": pl.UInt64(),
        "ended": pl.String(),
    },
    "intervals": {**_FLOW, **_SPAN, "payload_bytes": pl.UInt64()},
    "tcp_info": {
        **_FLOW,
        "phase": pl.String(),
        "sample_mono_ns": pl.UInt64(),
        "rtt_ns": pl.UInt64(),
        "rtt_ns_min": pl.UInt64(),
        "send_mss_bytes": pl.UInt32(),
        "cwnd_segments": pl.UInt32(),
        "retransmitted_segments": pl.UInt32(),
        "data_segments_out": pl.UInt64(),
        "peer_window_bytes": pl.UInt32(),
        "own_window_bytes": pl.UInt32(),
        "bytes_acked": pl.UInt64(),
        "bytes_received": pl.UInt64(),
        "bytes_sent": pl.UInt64(),
        "bytes_retransmitted": pl.UInt64(),
        "state": pl.UInt32(),
    },
    "cpu": {
        **_KEYS,
        **_SPAN,
        "cpu": pl.UInt32(),
        "own": pl.Boolean(),
        "user_ns": pl.UInt64(),
        "system_ns": pl.UInt64(),
        "irq_ns": pl.UInt64(),
        "softirq_ns": pl.UInt64(),
        "steal_ns": pl.UInt64(),
        "idle_ns": pl.UInt64(),
        "ksoftirqd_ns": pl.UInt64(),
        "pmu_cycles_count": pl.UInt64(),
    },
    "softirqs": {
        **_KEYS,
        **_SPAN,
        "cpu": pl.UInt32(),
        "own": pl.Boolean(),
        "runs_count": pl.UInt64(),
        "softirq_ns": pl.UInt64(),
        "on_load_ns": pl.UInt64(),
    },
    "transactions": {
        **_KEYS,
        "group": pl.String(),
        "transaction": pl.String(),
        **_SPAN,
        "transactions_count": pl.UInt64(),
        "intended_count": pl.UInt64(),
        "begun_count": pl.UInt64(),
        "failed_count": pl.UInt64(),
        "sent_bytes": pl.UInt64(),
        "received_bytes": pl.UInt64(),
        "calls_count": pl.UInt64(),
        "operations_count": pl.UInt64(),
    },
    "latencies": {
        **_KEYS,
        "group": pl.String(),
        "transaction": pl.String(),
        "phase": pl.String(),
        "kind": pl.String(),
        "latency_ns_low": pl.UInt64(),
        "latency_ns_high": pl.UInt64(),
        "latency_count": pl.UInt64(),
    },
    "datagrams": {
        **_KEYS,
        "connection": pl.UInt32(),
        **_SPAN,
        "sent_count": pl.UInt64(),
        "received_count": pl.UInt64(),
        "payload_bytes": pl.UInt64(),
        "late_count": pl.UInt64(),
        "duplicate_count": pl.UInt64(),
        "highest_sequence_count": pl.UInt64(),
        "jitter_ns": pl.UInt64(),
        "kernel_drops_count": pl.UInt32(),
    },
    "transport_info": {
        **_FLOW,
        "sample_mono_ns": pl.UInt64(),
        "rtt_ns": pl.UInt64(),
        "packet_payload_bytes": pl.UInt32(),
        "cwnd_bytes": pl.UInt64(),
        "sent_packets": pl.UInt64(),
        "lost_packets": pl.UInt64(),
        "retransmitted_packets": pl.UInt64(),
    },
    "round_trips": {**_KEYS, "sent_mono_ns": pl.UInt64(), "rtt_ns": pl.UInt64()},
    "watched": {
        **_KEYS,
        "connection": pl.UInt32(),
        "whole": pl.Boolean(),
        "closed": pl.Boolean(),
        "first_mono_ns": pl.UInt64(),
        "last_mono_ns": pl.UInt64(),
    },
    "threads": {
        **_KEYS,
        **_SPAN,
        "thread": pl.UInt32(),
        "cpu_ns": pl.UInt64(),
        "scheduled_count": pl.UInt64(),
    },
    "devices": {**_KEYS, "device": pl.String(), "tx_packets": pl.UInt64(), "rx_packets": pl.UInt64()},
}


def shaped(name: str, table: pl.DataFrame | None) -> pl.DataFrame:
    """`table` with exactly the columns of `TABLES[name]`; missing ones are null."""
    empty = pl.DataFrame(schema=dict(TABLES[name]))
    if table is None or table.is_empty():
        return empty
    columns = [
        (pl.col(column) if column in table.columns else pl.lit(None)).cast(kind).alias(column)
        for column, kind in TABLES[name].items()
    ]
    return table.select(columns)
