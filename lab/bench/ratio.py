"""Ratios of pairs, with an interval."""

from dataclasses import dataclass

import numpy as np

RESAMPLES = 10_000


@dataclass(frozen=True)
class Ratio:
    """Median of the ratios of pairs, with its 95 % bootstrap percentile interval over pairs."""

    median: float
    low: float
    high: float
    pairs: int


def ratio_of_pairs(ours: list[float], theirs: list[float], seed: int) -> Ratio:
    """Compares two lists whose entries belong together pair by pair.

    The pairs are resampled whole: what both sides of a pair share, a slow moment of the machine,
    cancels in the ratio. Percentile method: Efron and Tibshirani, An Introduction to the
    Bootstrap, 1993, section 13.3.
    """
    if len(ours) != len(theirs) or not ours:
        raise ValueError(f"{len(ours)} and {len(theirs)} samples do not pair")
    ratios = np.asarray(ours, dtype=float) / np.asarray(theirs, dtype=float)
    rng = np.random.default_rng(seed)
    drawn = rng.choice(ratios, size=(RESAMPLES, ratios.size))
    low, high = np.quantile(np.median(drawn, axis=1), [0.025, 0.975])
    return Ratio(float(np.median(ratios)), float(low), float(high), ratios.size)


def text_of(ratio: Ratio) -> str:
    """`-1.2 % (-2.0 to -0.4)`: median and 95 % interval of the change."""
    return f"{ratio.median - 1:+.2%} ({(ratio.low - 1) * 100:+.2f} to {(ratio.high - 1) * 100:+.2f})"
