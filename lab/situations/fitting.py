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
from lab.situations.judge import Outcome, weighed_outcome
from whyperf.explain.calibration.tables import Weights
from whyperf.explain.causes import ANOTHER, Cause
from whyperf.explain.decide import CANDIDATES, FEATURES, UNFOUND, as_ranked, probabilities, unfound_keys

Floats = NDArray[np.float64]
FOLDS = 6
"""Parts of the situations, each judged with the weights of the others."""
MAX_STEPS = 250
OF_FEATURES, OF_CAUSES, OF_LEVELS, OF_ALL, OF_UNFOUND = 0.05, 0.5, 2.0, 0.5, 4.0
"""Precisions of the normal priors: of a figure of all limits, of what is different for a cause, of a level for a cause,
of a cause, and of one that takes nothing. Of 0.1 to 30 those with the greatest likelihood on situations left out (seed
20261203; the last one with those of seed 20261210 and of programs)."""
MIN_OWN = {"share.log": -0.5, "share": -0.9}
"""The least that a share counts less for a cause than for all, so that a larger one hardly makes it less probable."""
MIN_PROBABILITY = 1e-9


def fit(rows: Sequence[Weighed]) -> Weights:
    """The weights with which what was right is most probable; each situation counts alike."""
    return _Fit(rows).weights


def left_out(rows: Sequence[Weighed], seed: int = 1) -> list[dict[str, float]]:
    """The probabilities of each row's candidates, by weights fitted without its situation."""
    names = sorted({row.situation for row in rows})
    Random(seed).shuffle(names)
    part = {name: number % FOLDS for number, name in enumerate(names)}
    found: dict[int, dict[str, float]] = {}
    for fold in range(FOLDS):
        weights = fit([row for row in rows if part[row.situation] != fold])
        found |= {number: predicted(row, weights) for number, row in enumerate(rows) if part[row.situation] == fold}
    return [found[number] for number in range(len(rows))]


def predicted(row: Weighed, weights: Weights) -> dict[str, float]:
    """The probabilities of a row's candidates."""
    return probabilities(row.found, row.level, weights)


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

    def __post_init__(self) -> None:
        rows, causes = self.rows, {name: number for number, name in enumerate(CANDIDATES)}
        self.levels = ["", *sorted({row.level for row in rows})]
        self.level = np.zeros((len(rows), len(self.levels)))
        self.found = np.zeros((len(rows), len(causes), len(FEATURES)))
        self.unfound_keys = sorted({key for row in rows for key in unfound_keys(row.level)})
        self.unfound = np.array([[float(key in unfound_keys(row.level)) for key in self.unfound_keys] for row in rows])
        self.right = np.zeros((len(rows), len(causes)))
        self.is_found = np.zeros((len(rows), len(causes)))
        self.is_found[:, causes[ANOTHER]] = 1
        for number, row in enumerate(rows):
            self.level[number, [0, self.levels.index(row.level)]] = 1
            for candidate in row.found:
                self.found[number, causes[candidate.cause]] = list(candidate.features.values())
                self.is_found[number, causes[candidate.cause]] = 1
            self.right[number, [causes[name] for name in row.right]] = 1
        seen = Counter(row.situation for row in rows)
        # The levels of a trial say much of the same: a situation counts as the square root of how often it was seen.
        self.each = np.array([1 / seen[row.situation] for row in rows]) * math.sqrt(len(rows) / len(seen))

    @cached_property
    def weights(self) -> Weights:
        causes, figures = len(CANDIDATES), len(FEATURES)
        shapes = [(figures + 1,), (causes, figures), (causes, len(self.levels)), (causes, len(self.unfound_keys))]
        ends = np.cumsum([math.prod(shape) for shape in shapes])
        levels = np.full(shapes[2], float(OF_LEVELS))
        levels[:, 0] = OF_ALL
        precision = np.concatenate(
            [
                np.full(figures + 1, OF_FEATURES),
                np.full(causes * figures, OF_CAUSES),
                levels.ravel(),
                np.full(math.prod(shapes[3]), OF_UNFOUND),
            ]
        )

        def parts(values: Floats) -> list[Floats]:
            split = np.split(values, ends[:-1])
            return [part.reshape(shape) for part, shape in zip(split, shapes, strict=True)]

        def loss(values: Floats) -> tuple[float, Floats]:
            features, own, by_level, hidden = parts(values)
            seen = np.einsum("rcf,cf->rc", self.found, features[None, :-1] + own) + self.level @ by_level.T
            scores = np.where(self.is_found == 1, seen, features[-1] + self.unfound @ hidden.T)
            likelihoods = np.exp(scores - scores.max(axis=1, keepdims=True))
            probable = likelihoods / likelihoods.sum(axis=1, keepdims=True)
            right = (probable * self.right).sum(axis=1) + MIN_PROBABILITY
            slope = (probable - probable * self.right / right[:, None]) * self.each[:, None]
            of_found, unfound = np.einsum("rc,rcf->cf", slope, self.found), (slope * (1 - self.is_found)).sum()
            by_level = (slope * self.is_found).T @ self.level
            of_hidden = (slope * (1 - self.is_found)).T @ self.unfound
            gradient = np.concatenate(
                [of_found.sum(axis=0), [unfound], of_found.ravel(), by_level.ravel(), of_hidden.ravel()]
            )
            value = 0.5 * (precision * values**2).sum() - (self.each * np.log(right)).sum()
            return float(value), gradient + precision * values

        least = np.full(ends[-1], -np.inf)
        least[ends[0] : ends[1]] = np.tile([MIN_OWN.get(name, -np.inf) for name in FEATURES], causes)
        bounds = [(low, None) for low in least]
        found = minimize(loss, np.zeros(ends[-1]), jac=True, bounds=bounds, options={"maxiter": MAX_STEPS})
        features, own, by_level, hidden = parts(found.x)
        return Weights(
            features=_named((*FEATURES, UNFOUND), features),
            own={name: _named(FEATURES, row) for name, row in zip(CANDIDATES, own, strict=True)},
            levels={
                name: _named(self.levels, row) | _named(self.unfound_keys, other)
                for name, row, other in zip(CANDIDATES, by_level, hidden, strict=True)
            },
        )


def _named(names: Sequence[str], values: Floats) -> dict[str, float]:
    return {name: float(value) for name, value in zip(names, values, strict=True)}
