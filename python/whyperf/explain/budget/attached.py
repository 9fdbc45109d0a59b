"""Connections of other programs: from when to when they were watched, and the budget of a receiver by samples.

A sample of a socket shows how much payload waits to be read (sock_diag, idiag_rqueue). Samples are taken by the
watcher's clock, which is none of the connection's. So the part of the samples that find payload is the part of the time
in which some waited, as far as nothing repeats in the time between two samples.
"""

import numpy as np
import polars as pl

from whyperf.analyze.flow import FlowEnd, FlowTrial
from whyperf.analyze.flow.trial import TableOfEnd, reported_unreadable
from whyperf.explain.states import ReceiverState, SenderState

Lifespan = tuple[int, int]


def attached(trial: FlowTrial, end: FlowEnd) -> dict[int, Lifespan]:
    """From when to when each connection was watched at `end` (ns after the start): as the table `watched` has it, else
    from its first sample of TCP_INFO to the last.

    Raises:
        RecordError: a table cannot be read.
    """
    shift = trial.zero_mono_ns + end.offset_ns
    found = _bounds(trial.table("tcp_info", end.host), ("sample_mono_ns", "sample_mono_ns"), shift)
    return found | _bounds(trial.table("watched", end.host), ("first_mono_ns", "last_mono_ns"), shift)


def _bounds(source: TableOfEnd | None, columns: tuple[str, str], shift: int) -> dict[int, Lifespan]:
    """The least of the first column and the most of the second, by connection."""
    if source is None:
        return {}
    first, last = columns
    with reported_unreadable(source.path):
        rows = (
            source.rows.group_by("connection")
            .agg(pl.col(first).cast(pl.Int64).min().alias("first"), pl.col(last).cast(pl.Int64).max().alias("last"))
            .collect()
        )
    return {
        int(number): (start - shift, stop - shift)
        for number, start, stop in rows.drop_nulls().iter_rows()
        if stop > start
    }


def read_queues(trial: FlowTrial, end: FlowEnd) -> dict[int, pl.DataFrame]:
    """The receive queue of each connection, by time: sample_ns, receive_queue_bytes. Nothing without the table
    `sockets`.

    Raises:
        RecordError: the table cannot be read.
    """
    source = trial.table("sockets", end.host)
    if source is None:
        return {}
    shift = trial.zero_mono_ns + end.offset_ns
    with reported_unreadable(source.path):
        rows = (
            source.rows.select(
                "connection",
                (pl.col("sample_mono_ns").cast(pl.Int64) - shift).alias("sample_ns"),
                pl.col("receive_queue_bytes").cast(pl.Int64),
            )
            .drop_nulls()
            .sort("connection", "sample_ns")
            .collect()
        )
    parts = rows.partition_by("connection", as_dict=True, include_key=False)
    return {int(number): queue for (number,), queue in parts.items()}


def sampled_spans(queue: pl.DataFrame | None, life: Lifespan) -> pl.DataFrame:
    """Spans (begin_ns, end_ns, state) of a receiver by samples of its receive queue, through the whole life.

    Between two samples the state is that of both; where they differ, each has half of the time.
    """
    if queue is None:
        return _span(life[0], life[1], ReceiverState.UNKNOWN)
    times = queue["sample_ns"].to_numpy()
    unread = queue["receive_queue_bytes"].to_numpy() > 0
    inside = (times >= life[0]) & (times <= life[1])
    times, unread = times[inside], unread[inside]
    if times.size == 0:
        return _span(life[0], life[1], ReceiverState.UNKNOWN)
    middles = (times[1:] + times[:-1]) // 2
    starts, ends = np.concatenate(([life[0]], middles)), np.concatenate((middles, [life[1]]))
    change = np.flatnonzero(np.concatenate(([True], unread[1:] != unread[:-1])))
    states = [ReceiverState.UNREAD if unread[place] else ReceiverState.WAITING for place in change]
    return pl.DataFrame(
        {
            "begin_ns": starts[change],
            "end_ns": ends[np.concatenate((change[1:] - 1, [unread.size - 1]))],
            "state": [str(state) for state in states],
        },
        schema={"begin_ns": pl.Int64, "end_ns": pl.Int64, "state": pl.String},
    )


def _span(begin_ns: int, end_ns: int, state: ReceiverState | SenderState) -> pl.DataFrame:
    return pl.DataFrame({"begin_ns": [begin_ns], "end_ns": [end_ns], "state": [str(state)]})


def is_empty_at_first(queue: pl.DataFrame | None) -> bool | None:
    """True where nothing waits to be read in the first sample; None without samples."""
    return None if queue is None or queue.is_empty() else not queue["receive_queue_bytes"][0]


def before_first_segment(samples: pl.DataFrame | None, from_ns: int, to_ns: int) -> pl.DataFrame:
    """Spans (begin_ns, end_ns, state) of a sender until its first logged segment, by the kernel's clocks alone.

    `samples` is of `chronographs.read_samples`. Between two samples the state is what the kernel counted for half of
    the time or more. With fewer samples nothing shows.
    """
    rows = None if samples is None else samples.filter(pl.col("sample_ns") <= to_ns)
    if rows is None or rows.height < MIN_SAMPLES:
        return _span(from_ns, to_ns, SenderState.UNKNOWN)
    times = rows["sample_ns"].to_list()
    counted = [rows[name].to_list() for name in ("rwnd_limited_ns", "send_buffer_limited_ns", "busy_ns")]
    states = (SenderState.RECEIVE_WINDOW, SenderState.SEND_BUFFER, SenderState.IN_FLIGHT)
    # What was before the first of these samples, and after the last, is taken for what was next to it.
    edges = [from_ns, *times[1:-1], to_ns]
    named = [
        next(
            (
                state
                for state, values in zip(states, counted, strict=True)
                if 2 * (values[place + 1] - values[place]) >= times[place + 1] - times[place]
            ),
            SenderState.NOT_WRITING,
        )
        for place in range(len(times) - 1)
    ]
    return pl.DataFrame(
        {"begin_ns": edges[:-1], "end_ns": edges[1:], "state": [str(state) for state in named]},
        schema={"begin_ns": pl.Int64, "end_ns": pl.Int64, "state": pl.String},
    )


MIN_SAMPLES = 2
