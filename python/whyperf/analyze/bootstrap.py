"""Bootstrap intervals of medians, for many cells at once.

B. Efron, "Better bootstrap confidence intervals", JASA 82 (1987) 171-185, as implemented by
`scipy.stats.bootstrap`. BCa where it is defined, the percentile interval where it is not (all
resampled medians equal). With n trials no distribution-free interval of the median covers more
than 1 - 2^(1-n): 75 % for 3 trials, 94 % for 5.
"""

import warnings
from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

CONFIDENCE = 0.95
RESAMPLES = 2000
MIN_TRIALS = 3
"""Below this there is no interval, only a range."""

_BATCH_VALUES = 8_000_000
"""Resampled values held in memory at once (64 MB)."""

Interval = tuple[float | None, float | None]


def coverage_limit(trials_count: int) -> float:
    """The largest coverage any interval between two of `trials_count` trials can have."""
    return 1 - 2.0 ** (1 - trials_count) if trials_count > 0 else 0.0


def median_intervals(samples: Sequence[Sequence[float]], seed: int) -> list[Interval]:
    """The 95 % interval of the median of each sample; same order as `samples`.

    Fewer than three values give their range, one or none gives (None, None). Samples of equal size
    are resampled together with one generator seeded by `seed`, so a result does not depend on how
    many other samples there are.
    """
    import numpy as np  # noqa: PLC0415 - printing a stored result needs none

    result: list[Interval] = [(None, None)] * len(samples)
    by_size: dict[int, list[int]] = {}
    for index, sample in enumerate(samples):
        by_size.setdefault(len(sample), []).append(index)
    for size, indices in by_size.items():
        if size < 2:
            continue
        values = np.array([samples[index] for index in indices], dtype=np.float64)
        low, high = _range(values) if size < MIN_TRIALS else _bootstrap(values, seed)
        for row, index in enumerate(indices):
            result[index] = (float(low[row]), float(high[row]))
    return result


def _range(values: "NDArray[np.float64]") -> "tuple[NDArray[np.float64], NDArray[np.float64]]":
    return values.min(axis=1), values.max(axis=1)


def _bootstrap(values: "NDArray[np.float64]", seed: int) -> "tuple[NDArray[np.float64], NDArray[np.float64]]":
    """Interval ends of the row medians of `values`, shape (samples, size)."""
    import numpy as np  # noqa: PLC0415 - as above

    low, high = _scipy(values, seed, "BCa")
    undefined = ~(np.isfinite(low) & np.isfinite(high))
    if undefined.any():
        low[undefined], high[undefined] = _scipy(values[undefined], seed, "percentile")
    return low, high


def _scipy(values: "NDArray[np.float64]", seed: int, method: str) -> "tuple[NDArray[np.float64], NDArray[np.float64]]":
    import numpy as np  # noqa: PLC0415 - as above
    from scipy import stats  # noqa: PLC0415 - takes a second to load, and few verbs need it

    with warnings.catch_warnings():
        # Degenerate rows come back as NaN and are handled by the caller.
        warnings.simplefilter("ignore")
        interval = stats.bootstrap(
            (values,),
            np.median,
            n_resamples=RESAMPLES,
            confidence_level=CONFIDENCE,
            batch=max(1, _BATCH_VALUES // values.size),
            axis=-1,
            vectorized=True,
            method="BCa" if method == "BCa" else "percentile",
            rng=np.random.default_rng(seed),
        ).confidence_interval
    return np.array(interval.low, ndmin=1), np.array(interval.high, ndmin=1)
