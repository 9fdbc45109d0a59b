"""The quantities that everybody may ask of his own sockets (level 0), as differences of TCP_INFO samples."""

import polars as pl

from whyperf.analyze.flow.levels.quantities import Values
from whyperf.analyze.flow.steps import quotient
from whyperf.analyze.flow.tables import SAMPLED, read_user
from whyperf.analyze.flow.trial import FlowEnd, FlowTrial


def user_values(trial: FlowTrial, end: FlowEnd, connection: int | None, *, whole_life: bool) -> Values:
    """The values that TCP_INFO and the load's calls know of the measured phase, or of the whole life.

    Without a sample before the measured phase its counts begin at 0: handshake and preamble are in. Those of another
    program's connection begin with the first sample.
    """
    user = read_user(trial, end.host)
    samples, calls = user.tcp_info, user.intervals
    if connection is not None:
        samples, calls = (table.filter(pl.col("connection") == connection) for table in (samples, calls))
    way, back = ("out", "in") if end.role == "sender" else ("in", "out")
    windows = pl.col("peer_window_bytes" if end.role == "sender" else "own_window_bytes")
    measured = samples if whole_life else samples.filter(pl.col("phase") == "measure")
    if measured.is_empty():
        return {}
    before = samples.clear() if whole_life else samples.filter(pl.col("phase") == "warm-up")
    if trial.is_watched:
        # The connection may have been open long before.
        before = samples.sort("sample_ns").group_by("connection", maintain_order=True).first().select(samples.columns)
    counts = _grown(measured, before)
    sums: dict[str, float | None] = {
        "data_bytes": counts["bytes_sent" if way == "out" else "bytes_received"],
        "data_segments": counts[f"data_segments_{way}"],
        "acks_count": _difference(counts[f"segments_{back}"], counts[f"data_segments_{back}"]),
        "retransmitted_segments": counts["retransmitted_segments"],
        "out_of_order_packets": counts["out_of_order_segments"],
    }
    low, high = measured.select(windows.min().alias("low"), windows.max().alias("high")).row(0)
    size = f"{'write' if end.role == 'sender' else 'read'}_size_bytes_mean"
    return {**sums, "window_bytes_min": low, "window_bytes_max": high, size: _mean_call(calls, whole_life=whole_life)}


def _grown(measured: pl.DataFrame, before: pl.DataFrame) -> dict[str, float | None]:
    """By how much the counts grew, over all connections; None where the kernel does not count."""

    def highest(samples: pl.DataFrame) -> pl.DataFrame:
        return samples.group_by("connection").agg(pl.col(SAMPLED).max().cast(pl.Int64))

    both = highest(measured).join(highest(before), on="connection", how="left", suffix="_before")
    grown = both.select((pl.col(name) - pl.col(f"{name}_before").fill_null(0)).alias(name) for name in SAMPLED)
    known = grown.select(pl.when(pl.col(name).null_count() == 0).then(pl.col(name).sum()) for name in SAMPLED)
    return known.row(0, named=True)


def _difference(all_of_them: float | None, part: float | None) -> float | None:
    return None if all_of_them is None or part is None else all_of_them - part


def _mean_call(intervals: pl.DataFrame, *, whole_life: bool) -> float | None:
    rows = intervals if whole_life else intervals.filter(pl.col("phase") == "measure")
    return quotient(int(rows["payload_bytes"].sum()), int(rows["calls_count"].sum()))
