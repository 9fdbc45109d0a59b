"""Fits the weights of the decision by maximum likelihood, and says how right it is on situations left out."""

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from random import Random

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize

from lab.situations.evidence import Weighed
from lab.situations.families import FAMILIES, family_of
from lab.situations.judge import Outcome, weighed_outcome
from whyperf.explain.calibration.weights import Weights
from whyperf.explain.causes import Cause
from whyperf.explain.decide import CANDIDATES, FEATURES, as_ranked, probabilities, scores

Floats = NDArray[np.float64]
FOLDS = 6
"""Parts of the situations, each judged with the weights of the others."""
MAX_STEPS = 250
OF_FEATURES, OF_FAMILIES, OF_CAUSES, OF_LEVELS, OF_ALL = 0.05, 9.0, 60.0, 2.0, 0.5
"""Precisions of the normal priors: of what a finding itself has, of an observation for a family of causes, for a cause
alone, of a level for a cause, and of a cause. Of 1 to 30 those with the greatest likelihood on situations left out."""
MIN_PROBABILITY = 1e-9
MIN_SPREAD = 1e-3
"""Of a column; one that is 0 everywhere has none."""


def fit(rows: Sequence[Weighed], base: Weights | None = None) -> Weights:
    """The weights with which what was right is most probable; each situation counts alike.

    With `base`, what earlier situations gave is not forgotten: the prior is around these weights.
    """
    return _Fit(rows, base or Weights()).weights


def left_out(rows: Sequence[Weighed], seed: int = 1, base: Weights | None = None) -> list[dict[str, float]]:
    """The probabilities of each row's candidates, by weights fitted without its situation."""
    names = sorted({row.situation for row in rows})
    Random(seed).shuffle(names)
    part = {name: number % FOLDS for number, name in enumerate(names)}
    found: dict[int, dict[str, float]] = {}
    for fold in range(FOLDS):
        weights = fit([row for row in rows if part[row.situation] != fold], base)
        found |= {number: predicted(row, weights) for number, row in enumerate(rows) if part[row.situation] == fold}
    return [found[number] for number in range(len(rows))]


def predicted(row: Weighed, weights: Weights) -> dict[str, float]:
    """The probabilities of a row's candidates."""
    return probabilities(row.found, row.shown, row.level, weights, row.lacking)


def log_likelihood(rows: Sequence[Weighed], probable: Sequence[Mapping[str, float]]) -> float:
    """The mean over the rows."""
    right = (sum(found[name] for name in row.right) for row, found in zip(rows, probable, strict=True))
    return sum(math.log(max(MIN_PROBABILITY, value)) for value in right) / len(rows)


def outcome(row: Weighed, probable: Mapping[str, float], bar: float) -> Outcome:
    """The worth of the decision where a verdict is named from a probability of `bar` on."""
    accepted = {*row.right, *([str(Cause.NOT_KNOWN)] if row.is_undisturbed else [])}
    found = weighed_outcome(as_ranked(probable, row.found), accepted, bar)
    assert found is not None
    return found


@dataclass
class _Fit:
    """The rows as arrays, and the weights that fit them."""

    rows: Sequence[Weighed]
    base: Weights

    def __post_init__(self) -> None:
        rows, causes = self.rows, {name: number for number, name in enumerate(CANDIDATES)}
        self.observations = sorted({name for row in rows for name in row.shown})
        self.levels = ["", *sorted({row.level for row in rows})]
        column = {name: number for number, name in enumerate(self.observations)}
        self.shown = np.zeros((len(rows), len(column)))
        self.level = np.zeros((len(rows), len(self.levels)))
        self.found = np.zeros((len(rows), len(causes), len(FEATURES)))
        self.right = np.zeros((len(rows), len(causes)))
        self.offset = np.zeros((len(rows), len(causes)))
        for number, row in enumerate(rows):
            for name, value in row.shown.items():
                self.shown[number, column[name]] = value
            self.level[number, [0, self.levels.index(row.level)]] = 1
            for candidate in row.found:
                self.found[number, causes[candidate.cause]] = list(candidate.features.values())
            self.right[number, [causes[name] for name in row.right]] = 1
            self.offset[number] = list(scores(row.found, row.shown, row.level, self.base, row.lacking).values())
        # In units of its spread: what is seldom there, or small, may say as much as what always is.
        self.spread = np.maximum(MIN_SPREAD, np.sqrt((self.shown**2).mean(axis=0)))
        self.shown /= self.spread
        self.family = np.zeros((len(causes), len(FAMILIES)))
        self.family[range(len(causes)), [FAMILIES.index(family_of(name)) for name in CANDIDATES]] = 1
        seen = Counter(row.situation for row in rows)
        # The levels of a trial say much of the same: a situation counts as the square root of how often it was seen.
        self.each = np.array([1 / seen[row.situation] for row in rows]) * math.sqrt(len(rows) / len(seen))

    @cached_property
    def weights(self) -> Weights:
        causes, shown = len(CANDIDATES), len(self.observations)
        shapes = [(len(FEATURES),), (len(FAMILIES), shown), (causes, shown), (causes, len(self.levels))]
        ends = np.cumsum([math.prod(shape) for shape in shapes])
        levels = np.full(shapes[3], float(OF_LEVELS))
        levels[:, 0] = OF_ALL
        precision = np.concatenate(
            [
                np.full(ends[0], OF_FEATURES),
                np.full(ends[1] - ends[0], OF_FAMILIES),
                np.full(ends[2] - ends[1], OF_CAUSES),
                levels.ravel(),
            ]
        )

        def parts(values: Floats) -> list[Floats]:
            split = np.split(values, ends[:-1])
            return [part.reshape(shape) for part, shape in zip(split, shapes, strict=True)]

        def loss(values: Floats) -> tuple[float, Floats]:
            features, families, own, by_level = parts(values)
            scores = (
                self.found @ features
                + self.shown @ (self.family @ families + own).T
                + self.level @ by_level.T
                + self.offset
            )
            likelihoods = np.exp(scores - scores.max(axis=1, keepdims=True))
            probable = likelihoods / likelihoods.sum(axis=1, keepdims=True)
            right = (probable * self.right).sum(axis=1) + MIN_PROBABILITY
            slope = (probable - probable * self.right / right[:, None]) * self.each[:, None]
            of_shown = slope.T @ self.shown
            gradient = [
                np.einsum("rc,rcf->f", slope, self.found),
                self.family.T @ of_shown,
                of_shown,
                slope.T @ self.level,
            ]
            value = 0.5 * (precision * values**2).sum() - (self.each * np.log(right)).sum()
            return float(value), np.concatenate([part.ravel() for part in gradient]) + precision * values

        found = minimize(loss, np.zeros(ends[-1]), jac=True, method="L-BFGS-B", options={"maxiter": MAX_STEPS})
        features, families, own, by_level = parts(found.x)
        base, of_shown = self.base, (self.family @ families + own) / self.spread
        return Weights(
            features=_added(base.features, FEATURES, features),
            levels={
                name: _added(base.levels.get(name, {}), self.levels, row)
                for name, row in zip(CANDIDATES, by_level, strict=True)
            },
            observations={
                name: _added(base.observations.get(name, {}), self.observations, row)
                for name, row in zip(CANDIDATES, of_shown, strict=True)
            },
        )


def _added(base: Mapping[str, float], names: Sequence[str], values: Floats) -> dict[str, float]:
    return {**base, **{name: base.get(name, 0.0) + float(value) for name, value in zip(names, values, strict=True)}}
