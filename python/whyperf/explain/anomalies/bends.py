"""Where a curve bends: the knee from which more brings little, or nothing."""

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from whyperf.explain.anomalies.curves import Curve

Floats = NDArray[np.float64]

FEWEST_POINTS = 5
FEWEST_BEHIND = 2
"""Points, and points behind the bend (before it, two)."""

STEEP = 0.2
"""A curve rises before its bend by at least this slope: the rate's ratio over the level's, in logarithms."""

LESS = 0.4
"""Behind a bend the slope is at most this part of what it was."""

FLAT = 0.1
"""A plateau's rate changes by less than this from its start to its end."""

BETTER = 0.5
"""Two lines must leave at most this part of the squares that one line leaves."""


@dataclass(frozen=True)
class Bend:
    """The point `at` of a curve from which it rises less (`knee`) or not (`plateau`), with both slopes."""

    curve: Curve
    at: int
    kind: Literal["knee", "plateau"]
    before: float
    behind: float


def find_bend(curve: Curve, left_out: frozenset[int] = frozenset()) -> Bend | None:
    """The bend of a curve, if two lines that meet say so much more than one (segmented regression, Muggeo 2003).

    Lines are of log rate over log level. `left_out` are points that stand out: they are not the curve's shape.
    """
    kept = np.array([point for point in range(curve.rates.size) if point not in left_out])
    if kept.size < FEWEST_POINTS or not (curve.levels > 0).all():
        return None
    x, y = curve.steps[kept], np.log(curve.rates[kept])
    straight = _left(np.column_stack([np.ones_like(x), x]), y)[1]
    fits = []
    for at in range(1, kept.size - FEWEST_BEHIND):
        terms = np.column_stack([np.ones_like(x), x, np.maximum(0, x - x[at])])
        weights, left = _left(terms, y)
        fits.append((left, at, float(weights[1]), float(weights[1] + weights[2])))
    left, at, before, behind = min(fits)
    if left > BETTER * straight or before < STEEP or behind > LESS * before:
        return None
    tail = y[at:]
    is_flat = float(tail.max() - tail.min()) < np.log1p(FLAT)
    if not is_flat and behind < -FLAT:
        return None
    return Bend(curve, int(kept[at]), "plateau" if is_flat else "knee", before, behind)


def _left(terms: Floats, y: Floats) -> tuple[Floats, float]:
    """Weights of the least squares, and the squares that they leave."""
    weights: Floats = np.linalg.lstsq(terms, y, rcond=None)[0].astype(np.float64)
    return weights, float(((y - terms @ weights) ** 2).sum())
