"""The kernel's counts of a run, from the tables that the agents of a watch sent: pure functions of frames."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from lab.tools.tool_runs import Load, Progress, Side, SideUse, SocketFacts, Variant
from whyperf.analyze.read.watched import RECEIVED_PAYLOAD, SENT_PAYLOAD

MIN_THREAD = 0.05
"""Threads that used less than this part of the busiest one's CPU time carry no load."""
NS_PER_S = 1e9

Samples = Sequence[tuple[int, int]]
"""Instants in ns of CLOCK_MONOTONIC, with the payload bytes that the receiving kernel had by then; growing."""
_START_BYTES = 4096
"""Payload of each connection that may be a greeting: cookies, tokens and parameters."""


def data_connections(tables: Mapping[str, Path], count: int, start_ns: int, *, sent: bool = False) -> list[int]:
    """The numbers of the connections that received most, or `sent` most, after the load was started, at most `count`.

    The others are for control, or were left by the run before.
    """
    moved = (SENT_PAYLOAD if sent else RECEIVED_PAYLOAD).alias("bytes")
    rows = pl.scan_parquet(tables["tcp_info"]).select("connection", pl.col("sample_mono_ns").cast(pl.Int64), moved)
    before = pl.col("bytes").filter(pl.col("sample_mono_ns") < start_ns).max().fill_null(0)
    grown = (
        rows.group_by("connection")
        .agg((pl.col("bytes").max() - before).alias("grown"))
        .filter(pl.col("grown") > 0)
        .sort("grown", "connection", descending=[True, False])
        .head(count)
        .collect()
    )
    return grown["connection"].to_list()


def samples_of(tables: Mapping[str, Path], connections: Sequence[int]) -> Samples:
    """The payload that the connections have received together, at each sample of any of them."""
    rows = (
        pl.scan_parquet(tables["tcp_info"])
        .filter(pl.col("connection").is_in(connections))
        .select("connection", pl.col("sample_mono_ns").cast(pl.Int64).alias("ns"), RECEIVED_PAYLOAD.alias("bytes"))
        .sort("ns")
        .collect()
    )
    if rows.is_empty():
        return ()
    wide = rows.pivot("connection", index="ns", values="bytes", aggregate_function="last").sort("ns")
    filled = wide.with_columns(pl.exclude("ns").forward_fill().fill_null(0))
    total = filled.select("ns", pl.sum_horizontal(pl.exclude("ns")).alias("bytes"))
    return list(total.iter_rows())


def progress_of(samples: Samples, load: Load, start_ns: int, payload_bytes: int | None = None) -> Progress | None:
    """The rates of a run; None where nothing moved, or it was over before the window ended.

    Args:
        samples: the payload over time; between two samples it grows evenly.
        load: what was asked for. The window begins `warmup_s` after the first byte of payload.
        start_ns: when the load was started: no payload came before, and connections may be found later.
        payload_bytes: the payload of the whole run, where another counter has it exactly.
    """
    if len(samples) < 2:
        return None
    if samples[0][1] > _greeting(load, samples[-1][1]) and start_ns < samples[0][0]:
        samples = [(start_ns, 0), *samples]
    at = np.array([ns for ns, _ in samples], dtype=float)
    moved = np.array([count for _, count in samples], dtype=float)
    last = moved[-1]
    if last <= 0:
        return None
    first = max(0, int(np.searchsorted(moved, _greeting(load, last), side="right")) - 1)
    end = int(np.searchsorted(moved, last, side="left"))
    # The own load starts at a known instant, between two samples.
    start_ns, end_ns = max(at[first], float(start_ns)), at[end]
    window = start_ns + NS_PER_S * load.warmup_s, start_ns + NS_PER_S * load.seconds
    # The last sample of a tool that ends by itself comes up to a sample too early.
    bounds = np.interp([start_ns, *window], at, moved)
    span_s = (min(window[1], end_ns) - window[0]) / NS_PER_S
    if end_ns <= start_ns or span_s <= load.duration_s / 2:
        return None
    return Progress(
        payload_bytes=int(last) if payload_bytes is None else payload_bytes,
        seconds=(end_ns - start_ns) / NS_PER_S,
        whole_bps=8 * (last - bounds[0]) * NS_PER_S / (end_ns - start_ns),
        window_bps=8 * (bounds[2] - bounds[1]) / span_s,
        first_bps=8 * (bounds[1] - bounds[0]) / load.warmup_s if load.warmup_s else None,
    )


def _greeting(load: Load, last: float) -> float:
    """Payload in bytes up to which a run of `last` bytes has only greeted."""
    return min(_START_BYTES * load.connections, last / 100)


def own_rate(trials: pl.DataFrame, transactions: pl.DataFrame, load: Load, variant: Variant | None) -> float | None:
    """The figure of a trial of the own load: its goodput in bit/s, or its transactions per second; None without one.

    Goodput lacks what is left of the warm-up. The variant `warm_up` has the rate of the whole run: it counts from the
    first byte, as tools do. Of transactions nothing is left out.

    Args:
        trials: frame as of `analyze.measures.goodput.measure`, of one trial.
        transactions: frame as of `analyze.measures.transactions.trial_transactions`, of the same trial.
        load: what was asked for.
        variant: what the own load did as a tool does.
    """
    if load.workload == "rr":
        rates = transactions["transactions_per_s"]
    else:
        rates = trials["whole_bps" if variant == "warm_up" else "goodput_bps"]
    return next((float(rate) for rate in rates if rate is not None), None)


def use_of(tables: Mapping[str, Path], connections: Sequence[int], side: Side, cpu_s: tuple[float, float]) -> SideUse:
    """A side's activity: its calls by the kernel's counts, its threads by CPU time; `cpu_s` is user and system."""
    calls = _calls(tables, connections, side)
    return SideUse(
        user_s=cpu_s[0],
        system_s=cpu_s[1],
        calls_count=None if calls is None else calls[0],
        calls_bytes=None if calls is None else calls[1],
        threads=_threads(tables),
    )


def _calls(tables: Mapping[str, Path], connections: Sequence[int], side: Side) -> tuple[int, int] | None:
    """Number of calls that moved payload, and the amount; None where the kernel has no such tracepoint (Linux 6.3)."""
    if "sizes" not in tables:
        return None
    rows = (
        pl.scan_parquet(tables["sizes"])
        .filter(
            pl.col("connection").is_in(connections)
            & (pl.col("what").cast(pl.String) == ("write_call" if side == "sender" else "read_call"))
            & (pl.col("sizes_bytes") > 0)
        )
        .select(pl.col("sizes_count").sum(), pl.col("sizes_bytes").sum())
        .collect()
    )
    count, moved = rows.row(0)
    return (int(count), int(moved)) if count else None


def _threads(tables: Mapping[str, Path]) -> int | None:
    if "threads" not in tables:
        return None
    used = (
        pl.scan_parquet(tables["threads"]).group_by("thread").agg(pl.col("cpu_ns").sum().cast(pl.Float64)).collect()
    )["cpu_ns"]
    most = used.max()
    return None if not isinstance(most, float) or most <= 0 else int((used >= MIN_THREAD * most).sum())


def sockets_of(
    sender: Mapping[str, Path], receiver: Mapping[str, Path], connections: tuple[Sequence[int], Sequence[int]]
) -> SocketFacts:
    """The sockets' properties: the sender's congestion control and send buffer, the receiver's receive buffer."""
    return SocketFacts(
        congestion_control=_only(sender, "flows", "congestion_control", connections[0]) or "",
        send_buffer_fixed=_only(sender, "watched", "send_buffer_fixed", connections[0]),
        receive_buffer_fixed=_only(receiver, "watched", "receive_buffer_fixed", connections[1]),
    )


def _only(tables: Mapping[str, Path], table: str, column: str, connections: Sequence[int]) -> Any:
    """The one value that all the connections have."""
    if table not in tables:
        return None
    rows = pl.scan_parquet(tables[table]).filter(pl.col("connection").is_in(connections))
    found = rows.select(pl.col(column).drop_nulls().unique()).collect()[column].to_list()
    return found[0] if len(found) == 1 else None
