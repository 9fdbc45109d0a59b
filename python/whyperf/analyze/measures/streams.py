"""Single connections of a cell: goodput, retransmissions and round-trip time of each; and the round trips of all."""

import polars as pl

from whyperf.analyze.measures.segments import connection_segments
from whyperf.analyze.read.inputs import Inputs
from whyperf.analyze.summary import MAX_STREAMS, Rtt, Stream


def cell_streams(inputs: Inputs, trials: pl.DataFrame, connections: pl.DataFrame) -> dict[str, list[Stream]]:
    """By cell, in the order of the connections' numbers; cells with more than `MAX_STREAMS` are left out.

    `trials` are rows of `goodput.measure`, `connections` those of `goodput.window_octets`. Everything is of the
    trial's window and the median over the trials. The round-trip time is what the sender's kernel smoothed, or the
    library; its minimum is over the life of the connection.
    """
    shares = connections.join(trials.select("trial", "cell"), on="trial").with_columns(
        pl.col("connection").cast(pl.Int64)
    )
    few = shares.group_by("cell").agg(pl.col("connection").n_unique()).filter(pl.col("connection") <= MAX_STREAMS)
    shares = shares.join(few.select("cell"), on="cell", how="semi")
    if shares.is_empty():
        return {}
    kept = trials.join(few.select("cell"), on="cell", how="semi")
    tcp_info = inputs.tcp_info.join(kept, on="trial", how="semi")
    transport_info = inputs.transport_info.join(kept, on="trial", how="semi")
    again = connection_segments(tcp_info, transport_info, kept).select(
        "trial", "connection", pl.col("retransmitted_segments").round().cast(pl.Int64)
    )
    by_trial = shares.join(_typed(again), on=["trial", "connection"], how="left").join(
        _typed(_round_trips(tcp_info, transport_info, kept)), on=["trial", "connection"], how="left"
    )
    by_cell = (
        by_trial.group_by("cell", "connection")
        .agg(
            pl.col("goodput_bps").median(),
            pl.col("retransmitted_segments").median(),
            pl.col("rtt_ns").median(),
            pl.col("rtt_ns_min").min(),
        )
        .sort("cell", "connection")
    )
    found: dict[str, list[Stream]] = {}
    for row in by_cell.iter_rows(named=True):
        found.setdefault(row.pop("cell"), []).append(Stream(**row))
    return found


def cell_rtts(inputs: Inputs, trials: pl.DataFrame) -> dict[str, Rtt]:
    """By cell, the round-trip times of all its sending connections; `trials` as in `cell_streams`."""
    found = _round_trips(inputs.tcp_info, inputs.transport_info, trials).join(
        trials.select("trial", "cell"), on="trial"
    )
    by_cell = found.group_by("cell").agg(pl.col("rtt_ns").median(), pl.col("rtt_ns_min").min())
    return {row.pop("cell"): Rtt(**row) for row in by_cell.iter_rows(named=True)}


def trial_rtts(inputs: Inputs, trials: pl.DataFrame) -> dict[str, Rtt]:
    """By trial, the round-trip times of its sending connections; `trials` as in `cell_streams`."""
    found = _round_trips(inputs.tcp_info, inputs.transport_info, trials).drop_nulls("rtt_ns")
    by_trial = found.group_by("trial").agg(pl.col("rtt_ns").median(), pl.col("rtt_ns_min").min())
    return {row.pop("trial"): Rtt(**row) for row in by_trial.iter_rows(named=True)}


def _typed(frame: pl.DataFrame) -> pl.DataFrame:
    """Connections are numbered in another type by each table."""
    return frame.with_columns(pl.col("connection").cast(pl.Int64))


def _round_trips(tcp_info: pl.DataFrame, transport_info: pl.DataFrame, trials: pl.DataFrame) -> pl.DataFrame:
    """Of each sending connection with a sample in its trial's window: `rtt_ns`, the median, and `rtt_ns_min`."""
    at = pl.col("sample_mono_ns")
    columns = ("trial", "connection", "role", "sample_mono_ns", "rtt_ns")
    samples = pl.concat(
        [
            tcp_info.select(*columns, pl.col("rtt_ns_min").cast(pl.Int64)),
            transport_info.select(*columns, pl.lit(None, pl.Int64).alias("rtt_ns_min")),
        ],
        how="vertical_relaxed",
    )
    windows = trials.drop_nulls(["window_start_ns", "window_end_ns"]).select(
        "trial", "window_start_ns", "window_end_ns"
    )
    return (
        samples.filter((pl.col("role") == "sender") & (pl.col("rtt_ns") > 0))
        .join(windows, on="trial", how="inner")
        .filter((at >= pl.col("window_start_ns")) & (at <= pl.col("window_end_ns")))
        .group_by("trial", "connection")
        .agg(pl.col("rtt_ns").cast(pl.Float64).median(), pl.col("rtt_ns_min").min())
    )
