"""Which costs the measurements determine, and which they do not: read from the ensemble.

A cost that all near-best sets agree on is determined by the data. One that goes from bound to bound is not; often
another one goes in the opposite direction, and only their sum is known.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass

import numpy as np

from whyperf.calibrate.costs import STAGE_TIMES, Prior
from whyperf.calibrate.fit import Fit

#: A cost is determined when the ensemble needs less than this part of the plausible range, in logarithms.
DETERMINED_RATIO = 0.35
#: Two costs stand for each other from this correlation of their logarithms on.
TRADED = -0.6


@dataclass(frozen=True)
class Found:
    """A cost after the fit: the ensemble's median and its 5 and 95 % quantiles, in the unit of its key.

    `used_ratio` is how much of the plausible range the ensemble needs, in logarithms; `traded_with` are the costs that
    fall where this one rises.
    """

    prior: Prior
    best: float
    median: float
    low: float
    high: float
    used_ratio: float
    traded_with: tuple[str, ...]

    @property
    def is_determined(self) -> bool:
        """True where the data say what it is: stage times alone, or all near-best sets of costs."""
        return self.is_staged or self.used_ratio <= DETERMINED_RATIO

    @property
    def is_staged(self) -> bool:
        """True where stage times show it, within whose bounds the ensemble may use all."""
        return self.prior.source == STAGE_TIMES


@dataclass(frozen=True)
class Narrowed:
    """Width of the ensemble with stage times over its width without, in logarithms (medians over costs): of the
    costs that stages show, and of the others.
    """

    staged_ratio: float
    others_ratio: float | None


def narrowing(found: Sequence[Found], without: Sequence[Found], staged: Collection[str]) -> Narrowed:
    """Compares the ensembles of two fits of the same costs."""
    widths = {
        cost.prior.key: float(np.log(cost.high / cost.low) / max(np.log(other.high / other.low), 1e-9))
        for cost, other in zip(found, without, strict=True)
    }
    own = [width for key, width in widths.items() if key in staged]
    rest = [width for key, width in widths.items() if key not in staged]
    return Narrowed(float(np.median(own)), float(np.median(rest)) if rest else None)


def identify(priors: Sequence[Prior], fit: Fit) -> list[Found]:
    """Every cost with what the ensemble says of it, in the order of the priors."""
    sets = np.log([[member.costs[prior.key] for prior in priors] for member in fit.members])
    low, median, high = np.quantile(sets, [0.05, 0.5, 0.95], axis=0)
    with np.errstate(invalid="ignore"):
        correlations = np.corrcoef(sets.T) if len(sets) > 2 else np.zeros((len(priors), len(priors)))
    correlations = np.nan_to_num(np.atleast_2d(correlations))
    return [
        Found(
            prior=prior,
            best=fit.best.costs[prior.key],
            median=float(np.exp(median[index])),
            low=float(np.exp(low[index])),
            high=float(np.exp(high[index])),
            used_ratio=float((high[index] - low[index]) / np.log(prior.high / prior.low)),
            traded_with=tuple(
                other.key for number, other in enumerate(priors) if correlations[index, number] <= TRADED
            ),
        )
        for index, prior in enumerate(priors)
    ]
