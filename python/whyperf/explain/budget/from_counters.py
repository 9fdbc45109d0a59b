"""Time budgets without a segment log: from the kernel's clocks, its counters, and samples of watched sockets.

`tcp_get_info_chrono_stats` (net/ipv4/tcp.c) gives three sums: busy (anything unacknowledged or unsent), and of it
limited by the receive window (`tcp_write_xmit` could not send because the window was full) and by the send buffer
(`tcp_cwnd_validate`: all is sent, the congestion window is not full, and the application waits for room).

`tcp_chrono_start` and `tcp_chrono_stop` (net/ipv4/tcp_output.c) split a connection's life into idle, busy, limited by
the receive window and limited by the send buffer. What busy time waited for, and when anything was, they do not show.

A sample of a socket shows how much payload waits to be read (sock_diag, idiag_rqueue). Samples are taken by the
watcher's clock, which is none of the connection's. So the part of the samples that find payload is the part of the time
in which some waited, as far as nothing repeats in the time between two samples.
"""

from collections.abc import Mapping

import numpy as np
import polars as pl

from whyperf.analyze.flow import FlowEnd, FlowTrial
from whyperf.analyze.flow.trial import TableOfEnd, reported_unreadable
from whyperf.explain.budget.calls import Gaps
from whyperf.explain.budget.shares import budget_of_sums
from whyperf.explain.explanation import TOLERANCE_NS, Budget, Chronograph
from whyperf.explain.segment_log import Bools
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

    `samples` is of `read_samples`. Between two samples the state is what the kernel counted for half of
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


CLOCKS = ("busy_ns", "rwnd_limited_ns", "send_buffer_limited_ns")
TOLERANCE_RATIO = 0.03
JIFFIES_NS = (1_000_000, 4_000_000, 10_000_000)
"""Of kernels built for 1000, 250 and 100 Hz (CONFIG_HZ); 300 Hz leave no whole microseconds."""
LATE_NS = 4_000
"""So long after its time a jiffy is counted: the timer's interrupt has to be taken in first (tick_do_update_jiffies64,
kernel/time/tick-sched.c)."""


def read_samples(trial: FlowTrial, host: str) -> dict[int, pl.DataFrame]:
    """The chronographs of each connection at `host`, by time: sample_ns, and `CLOCKS`.

    Raises:
        RecordError: the table cannot be read.
    """
    source = trial.table("tcp_info", host)
    if source is None:
        return {}
    shift = trial.zero_mono_ns + trial.ends[host].offset_ns
    with reported_unreadable(source.path):
        table = source.rows
        if not {"connection", "sample_mono_ns", *CLOCKS} <= set(table.collect_schema()):
            return {}
        samples = (
            table.select(
                "connection",
                (pl.col("sample_mono_ns").cast(pl.Int64) - shift).alias("sample_ns"),
                *[pl.col(name).cast(pl.Int64) for name in CLOCKS],
            )
            .drop_nulls()
            .sort("connection", "sample_ns")
            .collect()
        )
    parts = samples.partition_by("connection", as_dict=True, include_key=False)
    return {int(number): rows for (number,), rows in parts.items()}


def with_samples(life: tuple[int, int], samples: pl.DataFrame | None) -> tuple[int, int]:
    """The life and the time between the first and the last sample: the kernel's clocks run before the load too."""
    if samples is None or samples.is_empty():
        return life
    return min(life[0], int(samples["sample_ns"][0])), max(life[1], int(samples["sample_ns"][-1]))


def _tick_ns(samples: pl.DataFrame) -> int:
    """The length of a jiffy: what all that the kernel counted is a multiple of; 1 where that shows nothing."""
    counted = [samples[name].to_numpy() for name in CLOCKS]
    tick = int(np.gcd.reduce(np.concatenate(counted)))
    return tick if tick in JIFFIES_NS else 1


def is_buffer_counted(samples: pl.DataFrame | None) -> bool:
    """True where the kernel counted more time limited by the send buffer than its tolerance."""
    if samples is None or samples.height < 2:
        return False
    first, last = samples.row(0, named=True), samples.row(-1, named=True)
    counted = last["send_buffer_limited_ns"] - first["send_buffer_limited_ns"]
    return bool(counted > max(TOLERANCE_NS, TOLERANCE_RATIO * (last["sample_ns"] - first["sample_ns"])))


def compared(
    samples: pl.DataFrame | None, gaps: Gaps, clocks: Mapping[str, Bools], zero_mono_ns: int
) -> list[Chronograph]:
    """Each clock next to the gaps that it counts, between the first and the last of one connection's `samples`.

    The kernel counts ticks, so what lies between two of them is nothing to it: where work is started by ticks, as on a
    busy host, that is not random. The gaps are counted the same way; `zero_mono_ns` is the start of the load
    on the end's own clock, whose multiples the ticks are (tick_setup_sched_timer, kernel/time/tick-sched.c).
    """
    if samples is None or samples.height < 2:
        return []
    first, last = samples.row(0, named=True), samples.row(-1, named=True)
    start, end = first["sample_ns"], last["sample_ns"]
    starts, ends = (np.clip(times, start, end) for times in (gaps.start, gaps.end))
    ticks = ends - starts
    tick = _tick_ns(samples)
    if tick > 1:
        zero = zero_mono_ns - LATE_NS
        ticks = ((ends + zero) // tick - (starts + zero) // tick) * tick
    allowed = max(TOLERANCE_RATIO * (end - start), TOLERANCE_NS)
    found = []
    for name, column in (("busy", "busy_ns"), ("rwnd_limited", "rwnd_limited_ns"), ("sndbuf_limited", CLOCKS[2])):
        kernel, budget = last[column] - first[column], int(ticks[clocks[column]].sum())
        found.append(
            Chronograph.model_validate(
                {"name": name, "kernel_ns": kernel, "budget_ns": budget, "agrees": abs(kernel - budget) <= allowed}
            )
        )
    return found


def coarse_budgets(
    trial: str,
    host: str,
    samples: Mapping[int, pl.DataFrame],
    attached: Mapping[int, Lifespan] | None = None,
    running_ratio: float = 0.0,
) -> list[Budget]:
    """A budget for each connection of a sending end; `samples` is of `read_samples`.

    The rest of the busy time is UNKNOWN: congestion window, pacing, device and CPU look alike. A full receive window
    is taken for a small buffer, since the reader was not watched.

    `attached` says from when to when connections of other programs were watched. Nobody set their buffers, so theirs
    have states that leave open what is not known: RECEIVE_WINDOW and IN_FLIGHT.

    `running_ratio` is how long the busiest thread of the own load ran: between neighbors ACKs come at once, and the
    kernel counts as idle what the thread takes for the next write. That part is UNKNOWN, too.
    """
    if attached is None:
        found = [
            _coarse(trial, host, connection, rows, running_ratio=running_ratio) for connection, rows in samples.items()
        ]
    else:
        found = [
            _coarse(trial, host, connection, samples[connection], life=life)
            for connection, life in attached.items()
            if connection in samples
        ]
    return [budget for budget in found if budget is not None]


def _coarse(
    trial: str,
    host: str,
    connection: int,
    rows: pl.DataFrame,
    *,
    life: Lifespan | None = None,
    running_ratio: float = 0.0,
) -> Budget | None:
    first, last = rows.row(0, named=True), rows.row(-1, named=True)
    start, end = first["sample_ns"], last["sample_ns"]
    if end <= start:
        return None
    # The kernel counts in jiffies, so its sums may pass the time between two samples by a little.
    left = end - start
    sums: dict[str, int] = {}
    window, buffer = (last[name] - first[name] for name in ("rwnd_limited_ns", "send_buffer_limited_ns"))
    busy = last["busy_ns"] - first["busy_ns"] - window - buffer
    full, rest = (
        (SenderState.RECEIVE_WINDOW_BUFFER, SenderState.UNKNOWN)
        if life is None
        else (SenderState.RECEIVE_WINDOW, SenderState.IN_FLIGHT)
    )
    for state, ns in (
        (full, window),
        (SenderState.SEND_BUFFER, buffer),
        (rest, busy),
        (SenderState.NOT_WRITING, left),
    ):
        sums[state] = min(max(ns, 0), left)
        left -= sums[state]
    asleep = min(sums[SenderState.NOT_WRITING], round((1 - running_ratio) * (end - start)))
    sums[rest] += sums[SenderState.NOT_WRITING] - asleep
    sums[SenderState.NOT_WRITING] = asleep
    if life is not None:
        # Before the first sample and after the last nothing is known.
        sums[SenderState.UNKNOWN] = max(0, start - life[0]) + max(0, life[1] - end)
        start, end = min(start, life[0]), max(end, life[1])
    return budget_of_sums(
        trial=trial,
        host=host,
        role="sender",
        connection=connection,
        begin_ns=start,
        end_ns=end,
        sums={state: (ns, 1) for state, ns in sums.items() if ns},
    )


def running_ratio(trial: FlowTrial, host: str) -> float:
    """Part of the measured time that the busiest thread of the load at `host` ran; 0 where that is not known.

    Raises:
        RecordError: the table cannot be read.
    """
    source = trial.table("threads", host)
    if source is None:
        return 0.0
    with reported_unreadable(source.path):
        rows = source.rows.filter(pl.col("phase") == "measure")
        wall = pl.col("end_mono_ns").cast(pl.Int64) - pl.col("start_mono_ns").cast(pl.Int64)
        sums = rows.group_by("thread").agg(pl.col("cpu_ns").cast(pl.Int64).sum(), wall.sum().alias("wall_ns"))
        ran = sums.filter(pl.col("wall_ns") > 0).select((pl.col("cpu_ns") / pl.col("wall_ns")).max()).collect().item()
    return min(1.0, ran or 0.0)
