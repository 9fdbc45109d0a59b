"""The error of the model: at points that no fit has seen, and in what changes."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from whyperf.calibrate.grid import Point

#: Pairs whose goodput differs by less say nothing of a sign.
MIN_DIFFERENCE_RATIO = 0.1
#: The bars that issue and documents ask for.
WANTED_ERROR_RATIO = 0.15
WANTED_SIGNS_RATIO = 0.9


@dataclass(frozen=True)
class Judged:
    """A point and what the ensemble says of it: median, least and most, in bit/s."""

    point: Point
    is_held_out: bool
    said_bps: float
    low_bps: float
    high_bps: float

    @property
    def error_ratio(self) -> float:
        """Said over measured, less 1."""
        return self.said_bps / self.point.goodput_bps - 1


@dataclass(frozen=True)
class Signs:
    """Pairs of points that differ in one factor and by more than 10 %: of how many the model says which is more."""

    right: int
    pairs: int

    @property
    def ratio(self) -> float | None:
        """None without a pair."""
        return self.right / self.pairs if self.pairs else None


@dataclass(frozen=True)
class Verdict:
    """The errors over held-out and over fitted points as ratios, and the signs of what-if pairs."""

    points: tuple[Judged, ...]
    held_out_median: float
    held_out_worst: Judged
    fitted_median: float
    held_out_signs: Signs
    signs: Signs

    @property
    def holds(self) -> bool:
        """True where both bars are met at held-out points."""
        ratio = self.held_out_signs.ratio
        return self.held_out_median <= WANTED_ERROR_RATIO and (ratio is None or ratio >= WANTED_SIGNS_RATIO)


def judge(points: Sequence[Point], is_held_out: Sequence[bool], said_bps: Sequence[Sequence[float]]) -> Verdict:
    """Compares what was measured with what each member of the ensemble says.

    Args:
        points: what was measured.
        is_held_out: of each.
        said_bps: of each, the goodput by each member.
    """
    judged = tuple(
        Judged(point, out, float(np.median(said)), float(np.min(said)), float(np.max(said)))
        for point, out, said in zip(points, is_held_out, said_bps, strict=True)
    )
    held, fitted = ([judgment for judgment in judged if judgment.is_held_out is out] for out in (True, False))
    return Verdict(
        points=judged,
        held_out_median=_median(held),
        held_out_worst=max(held, key=lambda point: abs(point.error_ratio)),
        fitted_median=_median(fitted),
        held_out_signs=_signs([pair for pair in combinations(held, 2) if _is_what_if(*pair)]),
        signs=_signs([pair for pair in combinations(judged, 2) if _is_what_if(*pair) and _is_new(*pair)]),
    )


def _median(judged: Sequence[Judged]) -> float:
    return float(np.median([abs(judgment.error_ratio) for judgment in judged])) if judged else float("nan")


def _is_what_if(first: Judged, other: Judged) -> bool:
    """True where one factor changes, and the goodput by enough."""
    changed = sum(a != b for a, b in zip(first.point.place, other.point.place, strict=True))
    small, large = sorted((first.point.goodput_bps, other.point.goodput_bps))
    return changed == 1 and large > small * (1 + MIN_DIFFERENCE_RATIO)


def _is_new(first: Judged, other: Judged) -> bool:
    return first.is_held_out or other.is_held_out


def _signs(pairs: Sequence[tuple[Judged, Judged]]) -> Signs:
    right = sum(
        (first.point.goodput_bps < other.point.goodput_bps) == (first.said_bps < other.said_bps)
        for first, other in pairs
    )
    return Signs(right, len(pairs))
