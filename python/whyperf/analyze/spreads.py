"""A quantity over the trials of each cell: median, interval, mean, deviation."""

from collections.abc import Sequence

import numpy as np

from whyperf.analyze.intervals import median_intervals
from whyperf.analyze.spread import Spread


def spreads(samples: Sequence[Sequence[float]], seed: int) -> list[Spread]:
    """The spread of each sample, in the order of `samples`; their intervals are taken together."""
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
