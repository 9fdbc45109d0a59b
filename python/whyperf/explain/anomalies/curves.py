"""Curves over the levels of a factor, and where they bend."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from whyperf.analyze.spread import Spread
from whyperf.analyze.summary import CellResult

Floats = NDArray[np.float64]

FEWEST_POINTS = 4
"""With fewer a point has no neighbors on both sides that have some themselves."""


@dataclass(frozen=True)
class Curve:
    """Cells by ascending level of `factor`: `levels` and `rates` (bit/s, or transactions a second), shapes (n,).

    `errors` are standard errors of the logarithm of the rate, of all trials of the curve where a cell has few; NaN
    where no cell has two trials. `freedom` are their degrees of freedom. `others` are the factors that are fixed here
    and vary in the sweep.
    """

    sweep: str
    factor: str
    cells: tuple[CellResult, ...]
    levels: Floats
    rates: Floats
    errors: Floats
    freedom: int
    unit: str
    others: tuple[str, ...] = ()

    @property
    def steps(self) -> Floats:
        """Levels as distances: their logarithms where all are positive, for rates follow sizes by ratio."""
        return np.log(self.levels) if (self.levels > 0).all() else self.levels


def curves_of(cells: Sequence[CellResult], varied: Sequence[str]) -> list[Curve]:
    """Every curve of every sweep. Factors whose levels go with those of another one count as that one."""
    sweeps: dict[str, list[CellResult]] = {}
    for cell in cells:
        sweeps.setdefault(cell.sweep, []).append(cell)
    return [curve for name, own in sweeps.items() for curve in _of_sweep(name, own, varied)]


def _of_sweep(name: str, cells: list[CellResult], varied: Sequence[str]) -> Iterator[Curve]:
    factors = [factor for factor in varied if len({_text(cell.factors.get(factor)) for cell in cells}) > 1]
    alike = _alike(cells, factors)
    for factor, tied in alike.items():
        if not all(is_number(cell.factors.get(factor)) for cell in cells):
            continue
        others = [other for other in factors if other != factor and other not in tied]
        groups: dict[tuple[str, ...], list[CellResult]] = {}
        for cell in cells:
            groups.setdefault(tuple(_text(cell.factors.get(other)) for other in others), []).append(cell)
        for own in groups.values():
            curve = _curve(name, factor, own, tuple(others))
            if curve is not None:
                yield curve


def _alike(cells: Sequence[CellResult], factors: Sequence[str]) -> dict[str, tuple[str, ...]]:
    """The first of the factors that vary together, with the others of them."""
    kinds: dict[tuple[int, ...], list[str]] = {}
    for factor in factors:
        numbers: dict[str, int] = {}
        texts = [_text(cell.factors.get(factor)) for cell in cells]
        kinds.setdefault(tuple(numbers.setdefault(text, len(numbers)) for text in texts), []).append(factor)
    return {names[0]: tuple(names[1:]) for names in kinds.values()}


def _curve(sweep: str, factor: str, cells: Sequence[CellResult], others: tuple[str, ...]) -> Curve | None:
    measured = [(float(str(cell.factors[factor])), cell, spread_of(cell)) for cell in cells]
    found = sorted(
        ((level, cell, spread) for level, cell, spread in measured if spread.median), key=lambda point: point[0]
    )
    levels = np.array([level for level, _, _ in found])
    if levels.size < FEWEST_POINTS or (np.diff(levels) <= 0).any():
        return None
    own = [cell for _, cell, _ in found]
    errors, freedom = _errors(own)
    return Curve(
        sweep=sweep,
        factor=factor,
        cells=tuple(own),
        levels=levels,
        rates=np.array([spread.median for _, _, spread in found], dtype=np.float64),
        errors=errors,
        freedom=freedom,
        unit="bit/s" if own[0].metric != "transactions" else "transactions/s",
        others=others,
    )


def spread_of(cell: CellResult) -> Spread:
    """The quantity that a cell is measured in: transactions per second, else goodput."""
    if cell.metric == "transactions" and cell.transactions is not None:
        return cell.transactions.per_s
    return cell.goodput_bps


def _errors(cells: Sequence[CellResult]) -> tuple[Floats, int]:
    """Standard errors of the log rates: each cell's own deviation, but not below that of all cells together.

    With a few trials a cell's own deviation is small at random now and then, and a point would stand out that does not.
    """
    trials = np.array([max(1, cell.trials) for cell in cells], dtype=np.float64)
    spreads = [spread_of(cell) for cell in cells]
    known = np.array([spread.stdev is not None and bool(spread.mean) for spread in spreads])
    if not known.any():
        return np.full(len(cells), np.nan), 0
    relative = np.array([(spread.stdev or 0.0) / (spread.mean or 1.0) for spread in spreads])
    weights = np.where(known, trials - 1, 0)
    pooled = float(np.sqrt((weights * relative**2).sum() / weights.sum()))
    errors: Floats = np.maximum(relative, pooled) / np.sqrt(trials)
    return errors, int(weights.sum())


def is_number(level: object) -> bool:
    """True where a level has a distance from others."""
    return isinstance(level, int | float) and not isinstance(level, bool)


def _text(level: object) -> str:
    return repr(level)


FEWEST_OF_BEND = 5
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
    if kept.size < FEWEST_OF_BEND or not (curve.levels > 0).all():
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
