"""The median of times of which some are only known to be longer than what was seen."""

import warnings
from collections.abc import Sequence

import numpy as np

from whyperf.analyze.transports.adapting import Wait
from whyperf.analyze.transports.result import Duration

HALF = 0.5
#: Differences of sums of probabilities that are no differences.
EXACT = 1e-12


def duration(waits: Sequence[Wait]) -> Duration:
    """Median and 95 % interval of `waits`, pooled over flows, regions and trials.

    The product-limit estimator (E. L. Kaplan, P. Meier, JASA 53, 1958), which takes a wait that was cut for what it
    is; the interval is that of R. Brookmeyer and J. Crowley (Biometrics 38, 1982) with log-log transformed limits.
    A median is None where half of the waits or more were cut before.
    """
    cut = sum(not wait.reached for wait in waits)
    if not waits or cut == len(waits):
        return Duration(count=len(waits), cut_count=cut)
    from scipy import stats  # noqa: PLC0415 - takes a second to load, and few verbs need it

    reached = [wait.seconds for wait in waits if wait.reached]
    beyond = [wait.seconds for wait in waits if not wait.reached]
    survival = stats.ecdf(stats.CensoredData(uncensored=reached, right=beyond)).sf
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        # Where the curve is 1 or 0 there are no limits.
        warnings.simplefilter("ignore")
        limits = survival.confidence_interval(method="log-log")

    def half(curve: object) -> float | None:
        probabilities = np.asarray(curve.probabilities)  # type: ignore[attr-defined]
        below = np.flatnonzero(probabilities <= HALF + EXACT)
        return float(np.asarray(survival.quantiles)[below[0]]) if below.size else None

    known = len(reached) > 2
    return Duration(
        median_s=half(survival),
        low_s=half(limits.low) if known else None,
        high_s=half(limits.high) if known else None,
        count=len(waits),
        cut_count=cut,
    )
