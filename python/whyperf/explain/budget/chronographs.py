"""The kernel's own clocks of what limits a sender, compared with the states that mean the same.

`tcp_get_info_chrono_stats` (net/ipv4/tcp.c) gives three sums: busy (anything unacknowledged or unsent), and of it
limited by the receive window (`tcp_write_xmit` could not send because the window was full) and by the send buffer
(`tcp_cwnd_validate`: all is sent, the congestion window is not full, and the application waits for room).
"""

from collections.abc import Mapping

import numpy as np
import polars as pl

from whyperf.analyze.flow import FlowTrial
from whyperf.analyze.flow.trial import reported_unreadable
from whyperf.explain.budget.gaps import Gaps
from whyperf.explain.explanation import TOLERANCE_NS, Chronograph
from whyperf.explain.segment_log import Bools

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
