"""Round trips of the probe that runs beside a trial: percentiles under load, and while no flow was to send.

Percentiles are those of `latency.percentiles`, over the answered requests of all trials of a cell.
"""

import polars as pl

from whyperf.analyze.inputs import Inputs
from whyperf.analyze.latency import percentiles
from whyperf.analyze.summary import Latency, RttProbe

LOAD, IDLE = "load", "idle"


def cell_round_trips(inputs: Inputs, trials: pl.DataFrame) -> dict[str, RttProbe]:
    """By cell; cells without a request in a trial's window are left out.

    `trials` are rows of `goodput.measure`. Only requests within the window of their trial count; of a trial with a
    schedule those at a time at which no flow was to send are idle.
    """
    windows = trials.select("trial", "cell", "window_start_ns", "window_end_ns").drop_nulls()
    sent = pl.col("sent_mono_ns")
    requests = (
        inputs.round_trips.drop("cell")
        .join(windows, on="trial", how="inner")
        .filter((sent >= pl.col("window_start_ns")) & (sent < pl.col("window_end_ns")))
        .with_row_index("request")
    )
    if requests.is_empty():
        return {}
    state = pl.when("is_idle").then(pl.lit(IDLE)).otherwise(pl.lit(LOAD)).alias("state")
    by_cell = requests.join(_is_idle(requests, inputs.schedule), on="request").with_columns(state)
    return {
        str(cell): RttProbe(
            sent_count=rows.height,
            lost_count=rows["rtt_ns"].null_count(),
            load=_latency(rows, LOAD),
            idle=_latency(rows, IDLE),
        )
        for (cell,), rows in by_cell.partition_by("cell", as_dict=True).items()
    }


def _is_idle(requests: pl.DataFrame, schedule: pl.DataFrame) -> pl.DataFrame:
    """Of each `request`: `is_idle`. Trials without a schedule are never idle."""
    turns = schedule.select("trial", "trial_start_ns", "start_ns", "stop_ns").unique()
    since_ns = pl.col("sent_mono_ns") - pl.col("trial_start_ns")
    is_outside = (since_ns < pl.col("start_ns")) | (since_ns >= pl.col("stop_ns"))
    return (
        requests.select("request", "trial", "sent_mono_ns")
        .join(turns, on="trial", how="left")
        .group_by("request")
        .agg(is_outside.fill_null(value=False).all().alias("is_idle"))
    )


def _latency(rows: pl.DataFrame, state: str) -> Latency | None:
    answered = rows.filter(pl.col("state") == state)["rtt_ns"].drop_nulls().cast(pl.Int64)
    value = pl.col("rtt_ns")
    histogram = pl.DataFrame({"rtt_ns": answered}).group_by(value).len("count").sort("rtt_ns")
    found = percentiles(histogram.select("count", value.alias("low"), value.alias("high")))
    return None if found is None else Latency.model_validate({"kind": state, **found})
