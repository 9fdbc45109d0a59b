"""A quantity over the trials of each cell: median, interval, mean, standard deviation."""

from collections.abc import Iterable, Sequence

from pydantic import BaseModel, ConfigDict

from whyperf.analyze.bootstrap import CONFIDENCE, MIN_TRIALS, coverage_limit, median_intervals


class FrozenModel(BaseModel):
    """A part of the result: frozen, and no field by accident."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class Spread(FrozenModel):
    """A quantity over the trials of a cell. `low` and `high` are the ends of the 95 % bootstrap
    interval of the median; with two trials their range, with one null. `interval_name` says which it is.
    """

    median: float | None = None
    low: float | None = None
    high: float | None = None
    mean: float | None = None
    stdev: float | None = None


def interval_name(trials_counts: Iterable[int]) -> str:
    """The name of `low` and `high` of spreads over so many trials: `range`, `interval` or `95 % interval`.

    Between 3 and 5 trials no interval of the median covers 95 % (see `coverage_limit`). A single trial has neither.
    """
    # With no spread at all there is nothing to be named; the name is that of the least.
    counts = [trials for trials in trials_counts if trials > 1] or [1]
    if max(counts) < MIN_TRIALS:
        return "range"
    if min(counts) < MIN_TRIALS:
        return "interval or range"
    return "95 % interval" if coverage_limit(min(counts)) >= CONFIDENCE else "interval"


def spreads(samples: Sequence[Sequence[float]], seed: int) -> list[Spread]:
    """The spread of each sample, in the order of `samples`; their intervals are taken together."""
    import numpy as np  # noqa: PLC0415 - printing a stored result needs none

    intervals = median_intervals(samples, seed)
    return [
        Spread(
            median=float(np.median(values)),
            low=low,
            high=high,
            mean=float(np.mean(values)),
            stdev=float(np.std(values, ddof=1)) if len(values) > 1 else None,
        )
        if values
        else Spread()
        for values, (low, high) in zip(samples, intervals, strict=True)
    ]
