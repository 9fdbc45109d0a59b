"""Requests and answers in the traffic of another program, by directions and pauses: from the log of one side, or
samples.

Nobody says what a foreign program does. That its payload alternates shows in this: what one side sends is all
acknowledged when the other side's payload comes. Two streams that go both ways at once never wait for each other so.
"""

from collections.abc import Sequence

import polars as pl

from whyperf.analyze.flow import FlowEnd, FlowTrial
from whyperf.explain.gather.active import ALWAYS, Active
from whyperf.explain.gather.exchanges import request_cycle
from whyperf.explain.gather.table import first, read_columns
from whyperf.explain.segment_log import SegmentLog
from whyperf.explain.watched_facts import Conversation

MIN_EXCHANGES = 5
MIN_ALTERNATING_RATIO = 0.8
"""Part of the changes of direction, or of the samples, that must alternate."""
MAX_EXCHANGE_BYTES = 65_536
"""Payload for each segment that comes back, up to which samples show exchanges: a stream whose receiver reports now and
then (SSH does so for each 96 KB and more) has more."""
_INFO = (
    *("connection", "sample_mono_ns", "bytes_acked", "bytes_received", "data_segments_out", "data_segments_in"),
    "not_sent_bytes",
)
_COUNTS = _INFO[2:6]
_SOCKETS = ("connection", "sample_mono_ns", "last_data_sent_ns", "last_data_received_ns")


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
    info = _numbers(trial, end, "tcp_info", _INFO, active)
    if info is None:
        return None
    steps = info.select(pl.col("not_sent_bytes"), *(pl.col(name).diff().over("connection") for name in _COUNTS))
    out, came = pl.col("data_segments_out") > 0, pl.col("data_segments_in") > 0
    moved = steps.drop_nulls(_COUNTS).filter(out | came)
    sums = moved.select(pl.col(_COUNTS).sum()).row(0, named=True)
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
    samples = _numbers(trial, end, "sockets", _SOCKETS, active)
    if samples is None:
        return None
    known = samples.drop_nulls(_SOCKETS)
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
