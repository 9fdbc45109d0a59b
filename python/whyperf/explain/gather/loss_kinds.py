"""Whether losses are a queue's or random, and whether random losses are single or in bursts.

Both are decided by likelihood ratios, so that few losses show little, and how little they show is a figure.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from whyperf.explain.trial_facts import LostRun

OVERRUN_POWER, STRAY_RATIO = 20.0, 0.1
"""Ranks of a queue's drops have the density of the highest of 20 segments drawn at random, 0.95 on average, as they
have in real logs; one in ten lies anywhere, for a host that was late makes the computed backlog wrong."""
ONE_SIDED = 0.05
"""Probability beyond each bound of an interval."""
MIN_BURST_RATIO = 0.5
"""The probability that the segment after a lost one is lost too, in bursts of two on average, the shortest called so
(Gilbert, Bell System Technical Journal 1960, with 1 - r of it)."""
_STEPS = 200


@dataclass(frozen=True)
class RandomPart:
    """The random part of the loss events: its expected value, and its 90 % interval."""

    mean: float
    low: float
    high: float


def loss_events(runs: Sequence[LostRun], span_ns: float) -> list[LostRun]:
    """The first run of each loss event; losses within a round trip are one to a congestion control (RFC 5348
    section 5.2).

    Args:
        runs: in the order of time.
        span_ns: a round trip.
    """
    found: list[LostRun] = []
    for run in runs:
        if not found or run.begin_ns - found[-1].begin_ns > span_ns:
            found.append(run)
    return found


def random_part(ranks: Sequence[float]) -> RandomPart | None:
    """How many of the loss events came without regard to the backlog; None without one.

    Random losses have evenly spread ranks, those of a queue that overflows are at the top: this is the part of the
    first kind in such a mixture, with a uniform prior.
    """
    if not ranks:
        return None
    parts = (np.arange(_STEPS) + 0.5) / _STEPS
    likely = np.log(parts + (1 - parts) * _overrun_density(ranks)[:, None]).sum(axis=0)
    belief = np.exp(likely - likely.max())
    belief /= belief.sum()
    upto = np.cumsum(belief)
    low, high = (parts[min(_STEPS - 1, int(np.searchsorted(upto, at)))] for at in (ONE_SIDED, 1 - ONE_SIDED))
    return RandomPart(float((parts * belief).sum()), float(low), float(high))


def random_weights(ranks: Sequence[float | None], part: float) -> list[float]:
    """How likely each loss is random, where `part` of all is; 1 where no rank is known."""
    return [1.0 if rank is None else part / (part + (1 - part) * float(_overrun_density([rank])[0])) for rank in ranks]


def burst_likelihood_log10(sizes: Sequence[int], weights: Sequence[float], lost_ratio: float) -> float:
    """The decimal logarithm of the likelihood ratio of burst losses over independent losses; 0 is as likely.

    Args:
        sizes: lengths of runs.
        weights: how likely each is random.
        lost_ratio: the probability of a segment to be lost, if losses are independent.
    """
    alone = min(max(lost_ratio, 1e-9), MIN_BURST_RATIO)
    # A run goes on size - 1 times, and ends once.
    on, off = np.log10(MIN_BURST_RATIO / alone), np.log10((1 - MIN_BURST_RATIO) / (1 - alone))
    return float(sum(weight * ((size - 1) * on + off) for size, weight in zip(sizes, weights, strict=True)))


def _overrun_density(ranks: Sequence[float]) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    top = OVERRUN_POWER * np.asarray(ranks, dtype=np.float64) ** (OVERRUN_POWER - 1)
    return np.asarray((1 - STRAY_RATIO) * top + STRAY_RATIO)
