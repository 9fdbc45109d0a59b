"""What the sockets of another program show by samples: queues, buffers, windows (tables `watched`, `sockets`,
`tcp_info`)."""

from typing import Literal

import polars as pl

from whyperf.analyze.flow import FlowEnd, FlowTrial
from whyperf.explain.gather.active import ALWAYS, Active
from whyperf.explain.gather.table import first, read_columns
from whyperf.explain.watched_facts import WatchedSockets, WindowShape

_WATCHED = ("connection", "program", "process", "whole", "listens", "send_buffer_fixed", "receive_buffer_fixed")
_SOCKETS = (
    *("connection", "sample_mono_ns", "receive_queue_bytes", "send_queue_bytes", "receive_memory_bytes"),
    *("receive_buffer_bytes", "queued_memory_bytes", "send_buffer_bytes"),
)
_INFO = (
    *("connection", "sample_mono_ns", "own_window_bytes", "peer_window_bytes", "not_sent_bytes", "receive_rtt_ns"),
    *("bytes_received", "data_segments_in", "out_of_order_segments"),
)
FULL_MEMORY_RATIO = 0.75
"""Part of the receive buffer's memory from which on it is full: the rest is less than a packet of 64 KB in most
buffers."""
LOW_QUANTILE = 0.1
MIN_WAITING = 5
"""Samples in which data waits to be sent from which on the peer's windows in them are those that may hold it."""
MIN_STEPS = 5


def watched_sockets(trial: FlowTrial, end: FlowEnd, active: Active = ALWAYS) -> WatchedSockets:
    """What the samples of one side show.

    Raises:
        RecordError: a table cannot be read.
    """
    info = _whole_numbers(read_columns(trial, "tcp_info", end.host, _INFO), trial, end, active)
    queues = _whole_numbers(read_columns(trial, "sockets", end.host, _SOCKETS), trial, end, active)
    own = read_columns(trial, "watched", end.host, _WATCHED)
    waits = None if info is None else info.filter(pl.col("not_sent_bytes") > 0)
    held = waits if waits is not None and waits.height >= MIN_WAITING else info
    full, mean = pl.col("filled"), pl.col("unread")
    queues = None if queues is None else _judged(queues, info)
    trip = None if info is None else info.filter(pl.col("receive_rtt_ns") > 0)
    return WatchedSockets(
        samples=0 if info is None else info.height,
        is_whole=_all(own, "whole"),
        program=_common(own, "program"),
        process=_whole(first(own, pl.when(pl.col("process").n_unique() == 1).then(pl.col("process").first()))),
        congestion_control=_common(
            read_columns(trial, "flows", end.host, ("congestion_control",)), "congestion_control"
        ),
        listens=_all(own, "listens"),
        send_buffer_fixed=_all(own, "send_buffer_fixed"),
        receive_buffer_fixed=_all(own, "receive_buffer_fixed"),
        send_buffer_bytes=_whole(first(queues, pl.col("send_buffer_bytes").median())),
        receive_buffer_bytes=_whole(first(queues, pl.col("receive_buffer_bytes").median())),
        unread_ratio=first(queues, mean.mean()),
        unread_bytes=_whole(first(queues, pl.col("receive_queue_bytes").filter(mean).median())),
        pressed_ratio=first(queues, pl.col("pressed").mean()),
        own_window=_shape(info, "own_window_bytes"),
        peer_window=_shape(held, "peer_window_bytes"),
        waiting_ratio=first(info, (pl.col("not_sent_bytes") > 0).mean()),
        filled_ratio=first(queues, full.mean()),
        receive_rtt_ns=_whole(first(trip, pl.col("receive_rtt_ns").median())),
        late_ratio=_late(info),
        **_arrivals(info),
    )


def moved_bytes(trial: FlowTrial, end: FlowEnd, count: Literal["bytes_acked", "bytes_received"]) -> int:
    """Payload that one of the kernel's counts grew by while the connections were watched.

    Raises:
        RecordError: the table cannot be read.
    """
    info = read_columns(trial, "tcp_info", end.host, ("connection", count))
    grown = None if info is None else info.group_by("connection").agg(
        pl.col(count).cast(pl.Int64).max() - pl.col(count).cast(pl.Int64).min()
    )  # fmt: skip
    return round(first(grown, pl.col(count).sum()) or 0)


def _whole_numbers(frame: pl.DataFrame | None, trial: FlowTrial, end: FlowEnd, active: Active) -> pl.DataFrame | None:
    """Rows of the connections at work, their numbers as Int64; None without any."""
    if frame is None or frame.is_empty():
        return None
    rows = active.rows(frame, trial, end).sort("connection", "sample_mono_ns")
    return rows.with_columns(pl.exclude("connection").cast(pl.Int64))


def _judged(queues: pl.DataFrame, info: pl.DataFrame | None) -> pl.DataFrame:
    """With whether payload waits unread, whether it presses on the window, and whether the send buffer is full."""
    if info is None:
        queues = queues.with_columns(pl.lit(None, pl.Int64).alias("own_window_bytes"))
    else:
        windows = info.select("connection", "sample_mono_ns", "own_window_bytes").drop_nulls("own_window_bytes")
        queues = queues.sort("sample_mono_ns").join_asof(
            windows.sort("sample_mono_ns"), on="sample_mono_ns", by="connection", strategy="nearest",
            check_sortedness=False,
        )  # fmt: skip
    unread = pl.col("receive_queue_bytes") > 0
    by_window = pl.col("receive_queue_bytes") >= pl.col("own_window_bytes")
    by_memory = pl.col("receive_memory_bytes") >= FULL_MEMORY_RATIO * pl.col("receive_buffer_bytes")
    held = pl.coalesce("queued_memory_bytes", "send_queue_bytes")
    return queues.with_columns(
        unread.alias("unread"),
        (unread & (by_window.fill_null(value=False) | by_memory.fill_null(value=False))).alias("pressed"),
        (3 * held > 2 * pl.col("send_buffer_bytes")).alias("filled"),
    )


def _shape(rows: pl.DataFrame | None, column: str) -> WindowShape:
    known = None if rows is None else rows.drop_nulls(column)
    return WindowShape(
        low_bytes=_whole(first(known, pl.col(column).quantile(LOW_QUANTILE))),
        median_bytes=_whole(first(known, pl.col(column).median())),
        high_bytes=_whole(first(known, pl.col(column).max())),
    )


def _late(info: pl.DataFrame | None) -> float | None:
    """Segments behind a gap over those with payload, of what came while it was watched."""
    grown = None if info is None else info.group_by("connection").agg(
        (pl.col(name).max() - pl.col(name).min()) for name in ("out_of_order_segments", "data_segments_in")
    )  # fmt: skip
    came = first(grown, pl.col("data_segments_in").sum())
    late = first(grown, pl.when(pl.col("out_of_order_segments").is_not_null().any()).then(
        pl.col("out_of_order_segments").sum()
    ))  # fmt: skip
    return None if not came or late is None else late / came


def _arrivals(info: pl.DataFrame | None) -> dict[str, float | None]:
    """How often nothing came from one sample to the next, and how far the rate varied otherwise."""
    if info is None:
        return {"silent_ratio": None, "rate_spread": None}
    steps = info.select(
        pl.col("bytes_received").diff().over("connection").alias("bytes"),
        pl.col("sample_mono_ns").diff().over("connection").alias("ns"),
    ).filter(pl.col("ns") > 0)
    if steps.height < MIN_STEPS:
        return {"silent_ratio": None, "rate_spread": None}
    silent = (pl.col("ns").filter(pl.col("bytes") == 0).sum() / pl.col("ns").sum()).alias("silent")
    rate = pl.col("bytes") / pl.col("ns")
    found = steps.select(silent, rate.quantile(0.1).alias("low"), rate.median().alias("usual"),
                         rate.quantile(0.9).alias("high")).row(0, named=True)  # fmt: skip
    usual = found["usual"]
    return {"silent_ratio": found["silent"], "rate_spread": (found["high"] - found["low"]) / usual if usual else None}


def _common(rows: pl.DataFrame | None, column: str) -> str:
    """The word that all rows have; "" where they differ."""
    values = set() if rows is None else set(rows[column].cast(pl.String).to_list())
    return str(next(iter(values)) or "") if len(values) == 1 else ""


def _all(own: pl.DataFrame | None, column: str) -> bool | None:
    """Whether it is so of all connections; None where it is not known of one."""
    found = first(own, pl.col(column).cast(pl.Boolean).all(ignore_nulls=False).cast(pl.Int8))
    return None if found is None else bool(found)


def _whole(value: float | None) -> int | None:
    return None if value is None else round(value)
