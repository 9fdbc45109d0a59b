"""Samples of the sockets of another program, and the requests and answers in its traffic.

Nobody says what a foreign program does. That its payload alternates shows in this: what one side sends is all
acknowledged when the other side's payload comes. Two streams that go both ways at once never wait for each other so.
"""

from collections.abc import Sequence
from typing import Literal

import numpy as np
import polars as pl
from numpy.typing import NDArray

from whyperf.analyze.flow import FlowEnd, FlowTrial
from whyperf.explain.gather.application import request_cycle
from whyperf.explain.gather.read import ALWAYS, Active, first, read_columns
from whyperf.explain.segment_log import SegmentLog
from whyperf.explain.watched_facts import Conversation, WatchedSockets, WindowShape

Floats = NDArray[np.float64]

_WATCHED = ("connection", "program", "process", "whole", "listens", "send_buffer_fixed", "receive_buffer_fixed")
_SOCKETS = (
    *("connection", "sample_mono_ns", "receive_queue_bytes", "send_queue_bytes", "receive_memory_bytes"),
    *("receive_buffer_bytes", "queued_memory_bytes", "send_buffer_bytes", "last_data_received_ns"),
)
_INFO = (
    *("connection", "sample_mono_ns", "own_window_bytes", "peer_window_bytes", "not_sent_bytes", "receive_rtt_ns"),
    *("bytes_received", "data_segments_in", "data_segments_out", "out_of_order_segments", "pmtu_bytes"),
    *("segments_in", "segments_out"),
    *("send_mss_bytes", "receive_mss_bytes", "unacked_segments", "cwnd_segments", "rtt_ns_min"),
)
_COUNTS = ("out_of_order_segments", "data_segments_in", "data_segments_out")
FULL_MEMORY_RATIO = 0.75
"""Part of the receive buffer's memory from which on it is full: the rest is less than a packet of 64 KB in most
buffers."""
LOW_QUANTILE = 0.1
MIN_WAITING = 5
"""Samples in which data waits to be sent from which on the peer's windows in them are those that may hold it."""
MIN_STEPS = 5
_UNSEEN = (
    pl.lit(None, pl.Boolean).alias("send_buffer_fixed"),
    pl.lit(None, pl.Boolean).alias("receive_buffer_fixed"),
)


def watched_sockets(trial: FlowTrial, end: FlowEnd, active: Active = ALWAYS) -> WatchedSockets:
    """Reads what the samples of one side show.

    Raises:
        RecordError: a table cannot be read.
    """
    info = _whole_numbers(read_columns(trial, "tcp_info", end.host, _INFO), trial, end, active)
    queues = _whole_numbers(read_columns(trial, "sockets", end.host, _SOCKETS), trial, end, active)
    own = read_columns(trial, "watched", end.host, _WATCHED)
    waits = None if info is None else info.filter(pl.col("not_sent_bytes") > 0)
    held = waits if waits is not None and waits.height >= MIN_WAITING else info
    full, mean = pl.col("filled"), pl.col("unread")
    # Without BPF nobody sees which options a program has set.
    own = own if end.evidence.got != "user" else None if own is None else own.with_columns(_UNSEEN)
    queues = None if queues is None else _judged(queues, info)
    trip = None if info is None else info.filter(pl.col("receive_rtt_ns") > 0)
    late, came, went = _counted(info)
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
        unread_ratio=first(queues, mean.mean()),
        unread_bytes=_whole(first(queues, pl.col("receive_queue_bytes").filter(mean).median())),
        pressed_ratio=first(queues, pl.col("pressed").mean()),
        own_window=_shape(info, "own_window_bytes"),
        peer_window=_shape(held, "peer_window_bytes"),
        waiting_ratio=first(info, (pl.col("not_sent_bytes") > 0).mean()),
        filled_ratio=first(queues, full.mean()),
        receive_rtt_ns=_whole(first(trip, pl.col("receive_rtt_ns").median())),
        receive_rtt_ns_low=_whole(first(trip, pl.col("receive_rtt_ns").quantile(LOW_QUANTILE))),
        late_ratio=None if not came or late is None else late / came,
        came_segments=came,
        went_segments=went,
        full_bytes=_whole(first(info, pl.col("receive_mss_bytes").max())),
        pmtu_bytes=_whole(first(info, pl.col("pmtu_bytes").max())),
        mss_bytes=_whole(first(info, pl.col(f"{'send' if end.role == 'sender' else 'receive'}_mss_bytes").max())),
        partial_ratio=None if end.role != "sender" else first(info, _is_partial().mean()),
        quiet_ratio=first(queues, (pl.col("last_data_received_ns") > _longest_gap_ns(info)).mean()),
        rate_spread=_arrival_spread(info),
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


def acks_arrived_ratio(trial: FlowTrial, sender: FlowEnd, receiver: FlowEnd) -> float | None:
    """Segments that came to the sender, over those that the receiver sent, by the kernels' counts of both; None where
    they were not watched at the same time.

    The kernel counts a segment before it puts it into a socket's backlog, in which ACKs may be merged (tcp_v4_rcv,
    net/ipv4/tcp_ipv4.c). A log of segments has what is left of them.

    Raises:
        RecordError: a table cannot be read.
    """
    came, went = (_counts_over_time(trial, end, name) for end, name in
                  ((sender, "segments_in"), (receiver, "segments_out")))  # fmt: skip
    if came is None or went is None:
        return None
    start, end = max(came[0][0], went[0][0]), min(came[0][-1], went[0][-1])
    if end <= start:
        return None
    counted = [float(np.diff(np.interp((start, end), *counts))[0]) for counts in (came, went)]
    return counted[0] / counted[1] if counted[1] >= MIN_ACKS else None


MIN_ACKS = 20
"""Fewer say nothing of their share."""


def _counts_over_time(trial: FlowTrial, end: FlowEnd, name: str) -> tuple[Floats, Floats] | None:
    """Instants on the controller's clock, and a count of the one connection that was watched."""
    info = read_columns(trial, "tcp_info", end.host, ("connection", "sample_mono_ns", name))
    if info is None or info.is_empty() or info["connection"].n_unique() != 1:
        return None
    rows = info.drop_nulls().sort("sample_mono_ns")
    times = rows["sample_mono_ns"].cast(pl.Int64).to_numpy() - end.offset_ns
    return times.astype(np.float64), rows[name].cast(pl.Int64).to_numpy().astype(np.float64)


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


def _longest_gap_ns(info: pl.DataFrame | None) -> int:
    """Longest time without arrivals at a receiver while the sender has more to send: three round trips, as the
    handshake and receive autotuning have measured them, and ticks of the kernel's clock."""
    trips = (first(info, pl.col(name).filter(pl.col(name) > 0).median()) for name in ("rtt_ns_min", "receive_rtt_ns"))
    return round(max(MIN_GAP_NS, *(MIN_GAP_TRIPS * (trip or 0.0) for trip in trips)))


MIN_GAP_NS, MIN_GAP_TRIPS = 10_000_000, 3


def _counted(info: pl.DataFrame | None) -> list[int | None]:
    """Growth of each of `_COUNTS`, summed over the connections."""
    counts = [pl.col(name).max() - pl.col(name).min() for name in _COUNTS]
    grown = None if info is None else info.group_by("connection").agg(counts)
    return [
        _whole(first(grown, pl.when(pl.col(name).is_not_null().any()).then(pl.col(name).sum()))) for name in _COUNTS
    ]


def _is_partial() -> pl.Expr:
    """True where less than a segment waits, another one is in flight, and the windows have room for it."""
    waits, flight = pl.col("not_sent_bytes"), pl.col("unacked_segments")
    has_room = (flight < pl.col("cwnd_segments")) & (
        pl.col("peer_window_bytes").fill_null(UNKNOWN_WINDOW) >= (flight + 1) * pl.col("send_mss_bytes")
    )
    return ((waits > 0) & (waits < pl.col("send_mss_bytes")) & (flight > 0) & has_room).fill_null(value=False)


UNKNOWN_WINDOW = 2**31
"""Stands for a window that an older kernel does not report."""


def _arrival_spread(info: pl.DataFrame | None) -> float | None:
    """The spread of the rate at which data comes, from one sample to the next."""
    if info is None:
        return None
    steps = info.select(
        pl.col("bytes_received").diff().over("connection").alias("bytes"),
        pl.col("sample_mono_ns").diff().over("connection").alias("ns"),
    ).filter(pl.col("ns") > 0)
    if steps.height < MIN_STEPS:
        return None
    rate = pl.col("bytes") / pl.col("ns")
    low, usual, high = steps.select(rate.quantile(0.1).alias("low"), rate.median().alias("usual"),
                                    rate.quantile(0.9).alias("high")).row(0)  # fmt: skip
    return (high - low) / usual if usual else None


def _common(rows: pl.DataFrame | None, column: str) -> str:
    """The word that all rows have; "" where they differ."""
    values = set() if rows is None else set(rows[column].cast(pl.String).to_list())
    return str(next(iter(values)) or "") if len(values) == 1 else ""


def _all(own: pl.DataFrame | None, column: str) -> bool | None:
    """True where it is so of all connections; None where it is not known of one."""
    found = first(own, pl.col(column).cast(pl.Boolean).all(ignore_nulls=False).cast(pl.Int8))
    return None if found is None else bool(found)


def _whole(value: float | None) -> int | None:
    return None if value is None else round(value)


MIN_EXCHANGES = 5
MIN_ALTERNATING_RATIO = 0.8
"""Part of the changes of direction, or of the samples, that must alternate."""
MAX_EXCHANGE_BYTES = 65_536
"""Payload for each segment that comes back, up to which samples show exchanges: a stream whose receiver reports now and
then (SSH does so for each 96 KB and more) has more."""
_TALK_INFO = (
    *("connection", "sample_mono_ns", "bytes_acked", "bytes_received", "data_segments_out", "data_segments_in"),
    "not_sent_bytes",
)
_TALK_COUNTS = _TALK_INFO[2:6]
_TALK_SOCKETS = ("connection", "sample_mono_ns", "last_data_sent_ns", "last_data_received_ns")


def conversation(
    trial: FlowTrial, end: FlowEnd, log: SegmentLog | None, active: Active = ALWAYS
) -> Conversation | None:
    """The requests and answers that one side saw; None where payload does not alternate.

    Raises:
        RecordError: a table cannot be read.
    """
    if log is not None and not log.rows.is_empty():
        return _logged(log.rows)
    return _sampled(trial, end, active)


_DATA = ("time_ns", "connection", "direction", "sequence", "acknowledgment", "payload_bytes")


def _logged(rows: pl.DataFrame) -> Conversation | None:
    data = rows.select(_DATA).filter((pl.col("payload_bytes") > 0) & (pl.col("time_ns") >= 0))
    is_out = pl.col("direction").cast(pl.String) == "out"
    end = (pl.col("sequence") + pl.col("payload_bytes").cast(pl.Int64)).cast(pl.Int64)
    changes = data.with_columns(
        is_out.alias("is_out"),
        is_out.shift(1).over("connection").alias("was_out"),
        pl.when(is_out).then(end).cum_max().forward_fill().over("connection").alias("sent"),
    ).filter(pl.col("was_out") & ~pl.col("is_out"))
    answered = (pl.col("acknowledgment").cast(pl.Int64) >= pl.col("sent")).fill_null(value=False)
    cycle, exchanges = request_cycle(data), changes.height
    if exchanges < MIN_EXCHANGES or (first(changes, answered.mean()) or 0.0) < MIN_ALTERNATING_RATIO:
        return None
    return Conversation(
        exchanges_most=exchanges,
        own_ratio=cycle.think_ratio,
        peer_ratio=cycle.answer_ratio,
        own_ns=cycle.think_ns,
        peer_ns=cycle.answer_ns,
        is_logged=True,
    )


def _sampled(trial: FlowTrial, end: FlowEnd, active: Active) -> Conversation | None:
    info = _numbers(trial, end, "tcp_info", _TALK_INFO, active)
    if info is None:
        return None
    steps = info.select(pl.col("not_sent_bytes"), *(pl.col(name).diff().over("connection") for name in _TALK_COUNTS))
    out, came = pl.col("data_segments_out") > 0, pl.col("data_segments_in") > 0
    moved = steps.drop_nulls(_TALK_COUNTS).filter(out | came)
    sums = moved.select(pl.col(_TALK_COUNTS).sum()).row(0, named=True)
    exchanges = min(int(sums["data_segments_out"] or 0), int(sums["data_segments_in"] or 0))
    if exchanges < MIN_EXCHANGES or max(sums["bytes_acked"], sums["bytes_received"]) > MAX_EXCHANGE_BYTES * exchanges:
        return None
    is_alternating = (first(moved, (out & came).mean()) or 0.0) >= MIN_ALTERNATING_RATIO
    is_all_sent = (first(info, (pl.col("not_sent_bytes") == 0).mean()) or 0.0) >= MIN_ALTERNATING_RATIO
    if not is_alternating or not is_all_sent:
        return None
    own = _own_delays(trial, end, active)
    return Conversation(exchanges, own_ratio=own, peer_ratio=None if own is None else 1 - own)


def _own_delays(trial: FlowTrial, end: FlowEnd, active: Active) -> float | None:
    """Part of the samples in which payload came after this side had sent its last: the next message is its own.

    The kernel counts both in jiffies. Where most delays are shorter, nothing shows.
    """
    samples = _numbers(trial, end, "sockets", _TALK_SOCKETS, active)
    if samples is None:
        return None
    known = samples.drop_nulls(_TALK_SOCKETS)
    apart = known.filter(pl.col("last_data_sent_ns") != pl.col("last_data_received_ns"))
    if apart.height < MIN_EXCHANGES or 2 * apart.height < known.height:
        return None
    return first(apart, (pl.col("last_data_received_ns") < pl.col("last_data_sent_ns")).mean())


def _numbers(trial: FlowTrial, end: FlowEnd, table: str, columns: Sequence[str], active: Active) -> pl.DataFrame | None:
    rows = read_columns(trial, table, end.host, columns)
    if rows is None or rows.is_empty():
        return None
    rows = active.rows(rows, trial, end).sort("connection", "sample_mono_ns")
    return rows.with_columns(pl.exclude("connection").cast(pl.Int64))
