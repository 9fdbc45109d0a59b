"""Judges whether a trial reached a steady state, and says what was cut to get there."""

from dataclasses import dataclass

import numpy as np

from whyperf.analyze.steady import MATERIAL_RATIO
from whyperf.analyze.steady.changepoint import pettitt
from whyperf.analyze.steady.levels import two_levels
from whyperf.analyze.steady.rates import Floats
from whyperf.analyze.steady.warmup import mser5

MIN_INTERVALS = 20
"""Shorter series are not judged: Pettitt's test is at its best sure to 0.2 % of a change at the center of 20 values
(its p value is 2 exp(-6 K^2 / (n^3 + n^2)) with K = n^2 / 4), to 1.5 % of one in 14."""

CHANGE_P_VALUE = 0.01
"""Pettitt's test must be this sure."""

TWO_LEVELS_EXPLAINED_RATIO = 0.85
"""Between a uniform population (0.75) and two clean levels (1)."""

TWO_LEVELS_GAP_RATIO = 0.10
"""Gap between the levels, as part of the mean."""

TWO_LEVELS_FEWER_RATIO = 0.10
"""A single outlier is not a level."""


@dataclass(frozen=True)
class Steadiness:
    """The verdict on one series of interval rates.

    `steady` is None when the series is too short to judge. `reason` is None, `never_settled`,
    `level_changed` or `two_levels`; then `from_bps`, `to_bps` and, for a change, `change_index`
    (position in the whole series) are the evidence.
    """

    drop_count: int
    steady: bool | None
    reason: str | None = None
    from_bps: float | None = None
    to_bps: float | None = None
    change_index: int | None = None


def judge(rates_bps: Floats) -> Steadiness:
    """Cuts the rest of the warm-up from `rates_bps`, shape (n,), and judges what remains."""
    if rates_bps.size < MIN_INTERVALS:
        return Steadiness(0, steady=None)
    truncation = mser5(rates_bps)
    drop = truncation.drop_count
    kept = rates_bps[drop:]
    mean = float(np.mean(kept))
    if mean <= 0:
        return Steadiness(drop, steady=None)
    if truncation.at_limit:
        early = float(np.mean(rates_bps[:drop]))
        if abs(mean - early) >= MATERIAL_RATIO * mean:
            # A step there is a change of level; a slope, of which two levels explain less, is not.
            step = two_levels(rates_bps).explained_ratio >= TWO_LEVELS_EXPLAINED_RATIO
            reason = "level_changed" if step else "never_settled"
            return Steadiness(drop, False, reason, early, mean, drop)
    change = pettitt(kept)
    if change.p_value < CHANGE_P_VALUE and abs(change.after - change.before) >= MATERIAL_RATIO * mean:
        return Steadiness(drop, False, "level_changed", change.before, change.after, drop + change.index)
    levels = two_levels(kept)
    if (
        levels.explained_ratio >= TWO_LEVELS_EXPLAINED_RATIO
        and levels.fewer_ratio >= TWO_LEVELS_FEWER_RATIO
        and levels.high - levels.low >= TWO_LEVELS_GAP_RATIO * mean
    ):
        return Steadiness(drop, False, "two_levels", levels.low, levels.high)
    return Steadiness(drop, steady=True)
