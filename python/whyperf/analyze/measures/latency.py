"""Latency: percentiles from histograms, merged over threads, groups and trials, and those of the RTT probe.

Histograms are merged by adding the counts of equal values, which loses nothing. A percentile is the
smallest recorded value below or at which that part of all transactions lies (nearest rank), and of the
values in one bin of a histogram the largest, so percentiles are never underestimated. It is null where fewer
transactions were counted than it takes to see it once (100,000 for 99.999 %).
"""

from fractions import Fraction

import numpy as np
import polars as pl

from whyperf.analyze.measures.transactions import IS_NEAR
from whyperf.analyze.read.inputs import Inputs
from whyperf.analyze.summary import Latency, RttProbe

#: Percentiles of the result, by the name of their field.
PERCENTILES: dict[str, Fraction] = {
    "p50_ns": Fraction(50, 100),
    "p90_ns": Fraction(90, 100),
    "p99_ns": Fraction(99, 100),
    "p99_9_ns": Fraction(999, 1000),
    "p99_99_ns": Fraction(9999, 10_000),
    "p99_999_ns": Fraction(99_999, 100_000),
}
#: Latency from the intended start where there is one, else from the start.
OPEN, CLOSED = "intended", "service"
MEASURE = "measure"

Percentiles = dict[str, int | float | None]


def merged(latencies: pl.DataFrame, by: tuple[str, ...]) -> pl.DataFrame:
    """Histograms of phase `measure` on the near hosts, merged: `by`, `kind`, `low`, `high`, `count`, ascending."""
    chosen = latencies.filter((pl.col("phase") == MEASURE) & IS_NEAR)
    return (
        chosen.group_by(*by, "kind", "latency_ns_low", "latency_ns_high")
        .agg(pl.col("latency_count").cast(pl.Int64).sum().alias("count"))
        .rename({"latency_ns_low": "low", "latency_ns_high": "high"})
        .with_columns(pl.col("low").cast(pl.Int64), pl.col("high").cast(pl.Int64))
        .sort(*by, "kind", "low")
    )


def percentiles(histogram: pl.DataFrame) -> Percentiles | None:
    """The percentiles of one histogram with its count, smallest, largest and mean; None when it is empty.

    The mean takes each value as the center of its bin of the histogram.
    """
    counts = histogram["count"].to_numpy()
    total = int(counts.sum())
    if total == 0:
        return None
    low, high = histogram["low"].to_numpy(), histogram["high"].to_numpy()
    below = np.cumsum(counts)
    found: Percentiles = {"count": total, "min_ns": int(low[0]), "max_ns": int(high[-1])}
    found["mean_ns"] = float(np.sum(counts * (low.astype(np.float64) + high) / 2) / total)
    for name, part in PERCENTILES.items():
        seen = total * (1 - part) >= 1
        found[name] = int(high[_place(below, part)]) if seen or part <= Fraction(1, 2) else None
    return found


def percentile(histogram: pl.DataFrame, part: Fraction) -> int:
    """One percentile of a histogram that is not empty, however few it counts."""
    return int(histogram["high"][_place(np.cumsum(histogram["count"].to_numpy()), part)])


def _place(below: "np.ndarray[tuple[int], np.dtype[np.int64]]", part: Fraction) -> int:
    """The bin that has the nearest rank of a part, from the counts up to each bin."""
    # The rank is exact: counted in fractions, because 0.99 in binary is more than 99 %.
    rank = -(-int(below[-1]) * part.numerator // part.denominator)
    return int(np.searchsorted(below, rank))


def curve(histogram: pl.DataFrame) -> tuple[list[float], list[int]]:
    """For drawing: the part of all transactions above each value (1 down to 1 / count), and the value in ns."""
    counts = histogram["count"].to_numpy()
    total = int(counts.sum())
    if total == 0:
        return [], []
    above = total - np.cumsum(counts) + counts
    return (above / total).tolist(), histogram["high"].to_list()


LOAD, IDLE = "load", "idle"


def cell_round_trips(inputs: Inputs, trials: pl.DataFrame) -> dict[str, RttProbe]:
    """By cell; cells without a request in a trial's window are left out.

    `trials` are rows of `goodput.measure`. Only requests within the window of their trial count, and those before the
    first flow of a schedule; of a trial with a schedule those at a time at which no flow was to send are idle.
    """
    by_cell = probe_requests(inputs, trials)
    return {
        str(cell): RttProbe(
            sent_count=rows.height,
            lost_count=rows["rtt_ns"].null_count(),
            load=_latency(rows, LOAD),
            idle=_latency(rows, IDLE),
        )
        for (cell,), rows in by_cell.partition_by("cell", as_dict=True).items()
    }


def probe_requests(inputs: Inputs, trials: pl.DataFrame) -> pl.DataFrame:
    """The requests of `cell_round_trips`, in the order in which they were sent: `trial`, `cell`, `state`, `rtt_ns`.

    `state` is `LOAD` or `IDLE`; `rtt_ns` is null where no answer came.
    """
    # What was sent before the first flow of a schedule measured the idle path.
    start = pl.col("window_start_ns") - pl.col("lead_ns")
    windows = trials.select("trial", "cell", start, "window_end_ns").drop_nulls()
    sent = pl.col("sent_mono_ns")
    requests = (
        inputs.round_trips.drop("cell")
        .join(windows, on="trial", how="inner")
        .filter((sent >= pl.col("window_start_ns")) & (sent < pl.col("window_end_ns")))
        .sort("trial", "sent_mono_ns")
        .with_row_index("request")
    )
    state = pl.when("is_idle").then(pl.lit(IDLE)).otherwise(pl.lit(LOAD)).alias("state")
    states = _is_idle(requests, inputs.schedule)
    return requests.join(states, on="request", maintain_order="left").select("trial", "cell", state, "rtt_ns")


def _is_idle(requests: pl.DataFrame, schedule: pl.DataFrame) -> pl.DataFrame:
    """Of each `request`: `is_idle`. Trials without a schedule are never idle."""
    start, stop = (pl.col("trial_start_ns") + pl.col(name) for name in ("start_ns", "stop_ns"))
    # Of all flows that had started, the one that stops last says whether any was to send.
    spans = (
        schedule.select("trial", start.alias("sent_mono_ns"), stop.alias("until_ns"))
        .sort("sent_mono_ns")
        .with_columns(pl.col("until_ns").cum_max().over("trial"))
    )
    is_busy = (pl.col("until_ns") > pl.col("sent_mono_ns")).fill_null(value=False)
    is_scheduled = pl.col("trial").is_in(spans["trial"].unique().to_list())
    return (
        requests.select("request", "trial", pl.col("sent_mono_ns").cast(pl.Int64))
        .sort("sent_mono_ns")
        .join_asof(spans, on="sent_mono_ns", by="trial", check_sortedness=False)
        .select("request", (is_scheduled & ~is_busy).alias("is_idle"))
    )


def _latency(rows: pl.DataFrame, state: str) -> Latency | None:
    answered = rows.filter(pl.col("state") == state)["rtt_ns"].drop_nulls().cast(pl.Int64)
    value = pl.col("rtt_ns")
    histogram = pl.DataFrame({"rtt_ns": answered}).group_by(value).len("count").sort("rtt_ns")
    found = percentiles(histogram.select("count", value.alias("low"), value.alias("high")))
    return None if found is None else Latency.model_validate({"kind": state, **found})
