"""The sender's budget from the kernel's chronographs alone, where there is no segment log.

`tcp_chrono_start` and `tcp_chrono_stop` (net/ipv4/tcp_output.c) split a connection's life into idle,
busy, limited by the receive window and limited by the send buffer. What busy time waited for, and when
anything was, they do not show.
"""

from collections.abc import Mapping

import polars as pl

from whyperf.analyze.flow import FlowTrial
from whyperf.analyze.flow.trial import reported_unreadable
from whyperf.explain.budget.attached import Lifespan
from whyperf.explain.budget.shares import budget_of_sums
from whyperf.explain.explanation import Budget
from whyperf.explain.states import SenderState


def coarse_budgets(
    trial: str,
    host: str,
    samples: Mapping[int, pl.DataFrame],
    attached: Mapping[int, Lifespan] | None = None,
    running_ratio: float = 0.0,
) -> list[Budget]:
    """A budget for each connection of a sending end; `samples` is of `chronographs.read_samples`.

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
