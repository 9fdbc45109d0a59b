"""Points of a curve that stand out from their neighbors: peaks, drops, and where a curve falls off."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from whyperf.explain.anomalies.curves import Curve, Floats, spread_of

MIN_DIFFERENCE = 0.1
MIN_LOG = float(np.log1p(MIN_DIFFERENCE))
"""By so much a rate must differ from what its neighbors predict, and that in logarithms."""

NEAR_LOG = MIN_LOG / 2
"""By so much at least it must differ from each of them, so that it is a peak or a drop and no bend."""

REACH = 4
"""Levels on either side among which a peak or drop is sought: what is wider is the curve's own shape."""

FALSE_RATIO = 0.05
"""Of the points that stand out in an experiment so many may do so at random (Benjamini and Hochberg 1995)."""

Kind = Literal["peak", "drop"]


@dataclass(frozen=True)
class Candidate:
    """A point that is higher or lower than its neighbors: `ratio` is its rate over what they predict.

    `neighbors` are the nearest points on either side that do not share in it; only the one before where the curve
    stays low. `p_value` is how probable such a ratio is from the trials' spread alone, None where no cell has two.
    """

    curve: Curve
    at: int
    kind: Kind
    ratio: float
    neighbors: tuple[int, ...]
    p_value: float | None


def standing_out(curves: Sequence[Curve]) -> list[Candidate]:
    """The points of all curves that stand out by 10 % and more, and not at random, the farthest first."""
    found = [point for curve in curves for point in _of_curve(curve) if not _overlaps(point)]
    p_values = np.array([1.0 if point.p_value is None else point.p_value for point in found])
    if not p_values.size:
        return []
    from scipy import stats  # noqa: PLC0415 - takes a second to load

    adjusted = stats.false_discovery_control(p_values)
    kept = [point for point, p in zip(found, adjusted, strict=True) if point.p_value is None or p <= FALSE_RATIO]
    return sorted(kept, key=lambda point: -abs(float(np.log(point.ratio))))


def _of_curve(curve: Curve) -> list[Candidate]:
    """A point before which or at which the curve falls and stays lower is no peak and no drop in addition."""
    falls = list(_falls(curve))
    reported = {fall.at for fall in falls} | {fall.at - 1 for fall in falls}
    return [*falls, *(point for point in _extremes(curve) if point.at not in reported)]


def _extremes(curve: Curve) -> Iterator[Candidate]:
    """Local maxima and minima, against the nearest points on either side that are clearly off.

    Of the two neighbors the farther one counts at most twice the nearer: before a cliff nothing is a peak.
    """
    from scipy import signal  # noqa: PLC0415 - takes a second to load

    logs = np.log(curve.rates)
    for kind, signed in (("peak", logs), ("drop", -logs)):
        places, _ = signal.find_peaks(signed, prominence=NEAR_LOG, wlen=2 * REACH + 1)
        for at in places.tolist():
            before = next((near for near in range(at - 1, -1, -1) if signed[at] - signed[near] >= NEAR_LOG), None)
            after = next((near for near in range(at + 1, logs.size) if signed[at] - signed[near] >= NEAR_LOG), None)
            if before is None or after is None:
                continue
            nearer, farther = sorted((float(signed[at] - signed[before]), float(signed[at] - signed[after])))
            off = (nearer + min(farther, 2 * nearer)) / 2
            ratio = float(np.exp(off if kind == "peak" else -off))
            if abs(ratio - 1) < MIN_DIFFERENCE:
                continue
            p_value = _p_value(curve, at, (before, after), ratio)
            yield Candidate(curve, at, "peak" if kind == "peak" else "drop", ratio, (before, after), p_value)


def _falls(curve: Curve) -> Iterator[Candidate]:
    """Where the rate falls from one level to the next by more than the curve falls there anyway, and does not come back
    halfway.
    """
    logs = np.log(curve.rates)
    trends = _trends(curve)
    for at in range(1, logs.size):
        step = float(logs[at - 1] - logs[at])
        beyond = step - float(trends[at - 1])
        behind, ahead = logs[at : at + REACH + 1], logs[max(0, at - REACH) : at]
        stays = bool((behind <= logs[at] + step / 2).all())
        # A peak is reported as one: before a fall the curve is high for two levels or more.
        was = ahead.size < 2 or bool(ahead[-2] >= logs[at] + step / 2)
        if beyond >= MIN_LOG and stays and was:
            p_value = _p_value(curve, at, (at - 1,), float(np.exp(-beyond)))
            yield Candidate(curve, at, "drop", float(np.exp(-step)), (at - 1,), p_value)


def _trends(curve: Curve) -> Floats:
    """The fall of the rate in each step by its own trend, shape (n - 1,): by the steeper slope of its two sides.

    The slope of a smooth curve, which falls ever faster or ever less, is between those of the steps next to it.
    """
    widths = np.diff(curve.steps)
    slopes: Floats = -np.diff(np.log(curve.rates)) / widths
    return np.array([max(0.0, _on(slopes, step, -1), _on(slopes, step, 1)) for step in range(slopes.size)]) * widths


def _on(slopes: Floats, step: int, side: int) -> float:
    """The slope on a side of a step; 0 where the curve ends.

    A slope that the step behind it does not have is a fall of its own, which may take two steps, and no trend. In a
    first or last step a trend goes on as it changed before.
    """
    first, second = step + side, step + 2 * side
    if not 0 <= first < slopes.size or slopes[first] <= 0:
        return 0.0
    here = float(slopes[first])
    if not 0 <= second < slopes.size:
        # Behind the last step nothing shows whether it is a fall; what comes before this one does.
        before = float(slopes[step - side])
        return here if before * MAX_STEEPER**2 >= here else 0.0
    behind = float(slopes[second])
    if behind * MAX_STEEPER < here:
        return behind
    if 0 <= step - side < slopes.size or behind <= 0:
        return here
    return max(here, 2 * here - behind, here * here / behind)


MAX_STEEPER = 4.0
"""The largest ratio of the steepness of a step of a smooth curve to that of the one before it."""


def _overlaps(point: Candidate) -> bool:
    """True where the 95 % interval of the point has a rate in common with that of a neighbor."""
    spreads = [spread_of(point.curve.cells[at]) for at in (point.at, *point.neighbors)]
    known = [(spread.low, spread.high) for spread in spreads if spread.low is not None and spread.high is not None]
    if len(known) < len(spreads):
        return False
    (low, high), others = known[0], known[1:]
    return any(low <= their_high and their_low <= high for their_low, their_high in others)


def _p_value(curve: Curve, at: int, neighbors: tuple[int, ...], ratio: float) -> float | None:
    """The probability of a ratio so far from 1 where there is none: Student's t of the log rates."""
    if curve.freedom == 0 or not np.isfinite(curve.errors[at]):
        return None
    from scipy import stats  # noqa: PLC0415 - takes a second to load

    error = float(np.hypot(curve.errors[at], curve.errors[list(neighbors)].max()))
    if error == 0:
        return 0.0
    return float(2 * stats.t.sf(abs(np.log(ratio)) / error, curve.freedom))
