"""Latency: percentiles from the histograms of the record, merged over threads, groups and trials.

Histograms are merged by adding the counts of equal values, which loses nothing. A percentile is the
smallest recorded value below or at which that part of all transactions lies (nearest rank), and of the
values that a histogram does not tell apart the largest: it never flatters. It is null where fewer
transactions were counted than it takes to see it once (100,000 for 99.999 %).
"""

from fractions import Fraction

import numpy as np
import polars as pl

from whyperf.analyze.transactions import IS_NEAR

#: Percentiles of the result, by the name of their field.
PERCENTILES: dict[str, Fraction] = {
    "p50_ns": Fraction(50, 100),
    "p90_ns": Fraction(90, 100),
    "p99_ns": Fraction(99, 100),
    "p99_9_ns": Fraction(999, 1000),
    "p99_99_ns": Fraction(9999, 10_000),
    "p99_999_ns": Fraction(99_999, 100_000),
}
#: Latency from the intended begin where there is one, else from the begin.
OPEN, CLOSED = "intended", "service"
MEASURE = "measure"

Percentiles = dict[str, int | float | None]


def merged(latencies: pl.DataFrame, by: tuple[str, ...]) -> pl.DataFrame:
    """Histograms of phase `measure` at the near ends, merged: `by`, `kind`, `low`, `high`, `count`, ascending."""
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

    The mean takes each value as the middle of those that the histogram does not tell apart.
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
        # The rank is exact: counted in fractions, because 0.99 in binary is more than 99 %.
        rank = -(-total * part.numerator // part.denominator)
        found[name] = int(high[int(np.searchsorted(below, rank))]) if seen or part <= Fraction(1, 2) else None
    return found


def curve(histogram: pl.DataFrame) -> tuple[list[float], list[int]]:
    """For drawing: the part of all transactions above each value (1 down to 1 / count), and the value in ns."""
    counts = histogram["count"].to_numpy()
    total = int(counts.sum())
    if total == 0:
        return [], []
    above = total - np.cumsum(counts) + counts
    return (above / total).tolist(), histogram["high"].to_list()
