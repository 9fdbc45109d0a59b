"""Fits the weights of the decision by maximum likelihood, and says how right it is on situations left out."""

import math
from collections import Counter
from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.sparse import csr_matrix

from lab.situations.evidence import Weighed
from lab.situations.judge import Outcome
from whyperf.explain.decide import ANOTHER

Floats = NDArray[np.float64]
FOLDS = 8
"""Parts of the situations, each judged with the weights of the others."""
PRIOR = 1.0
"""How strong the normal prior is; of 0.3, 1 and 3 the one with the greatest likelihood on situations left out."""
PRECISION = {"base": 0.05, "cause": 0.7, "level": 2.0, "observation": 3.0}
"""Of the prior of each kind of weight: few are of a candidate itself, many of observations."""
LEAST = 1e-9
NAMED = 3
"""Candidates that are looked at where nothing is certain."""


def fit(rows: Sequence[Weighed], prior: float = PRIOR) -> dict[str, float]:
    """The weights with which what was right is most probable; each situation counts once, however often it was seen."""
    data = _Matrix(rows)
    seen = Counter(row.situation for row in rows)
    each = np.array([1 / seen[row.situation] for row in rows]) * (len(rows) / len(seen)) ** 0.5
    precision = prior * np.array([PRECISION[_kind(name)] for name in data.names])

    def loss(values: Floats) -> tuple[float, Floats]:
        probable = data.probabilities(values)
        right = np.add.reduceat(probable * data.right, data.starts) + LEAST
        given = probable * data.right / np.repeat(right, data.sizes)
        slope = data.features.T @ ((probable - given) * np.repeat(each, data.sizes))
        return (
            float(0.5 * (precision * values**2).sum() - (each * np.log(right)).sum()),
            slope + precision * values,
        )

    found = minimize(loss, np.zeros(len(data.names)), jac=True, method="L-BFGS-B", options={"maxiter": 500})
    return {name: float(value) for name, value in zip(data.names, found.x, strict=True)}


def left_out(rows: Sequence[Weighed], prior: float = PRIOR) -> list[Floats]:
    """The probabilities of the candidates of each row, by weights fitted without its situation."""
    part = {name: number % FOLDS for number, name in enumerate(sorted({row.situation for row in rows}))}
    found: dict[int, Floats] = {}
    for fold in range(FOLDS):
        weights = fit([row for row in rows if part[row.situation] != fold], prior)
        found |= {number: predicted(row, weights) for number, row in enumerate(rows) if part[row.situation] == fold}
    return [found[number] for number in range(len(rows))]


def predicted(row: Weighed, weights: Mapping[str, float]) -> Floats:
    """The probabilities of a row's candidates."""
    scores = np.array([sum(weights.get(name, 0.0) * value for name, value in of.items()) for of in row.features])
    odds = np.exp(scores - scores.max())
    return odds / odds.sum()


def log_likelihood(rows: Sequence[Weighed], probable: Sequence[Floats]) -> float:
    """The mean over the rows."""
    right = (float(found[np.array(row.right)].sum()) for row, found in zip(rows, probable, strict=True))
    return sum(math.log(max(LEAST, value)) for value in right) / len(rows)


def outcome(row: Weighed, probable: Floats, bar: float) -> Outcome:
    """What the decision is worth where a verdict is named from a probability of `bar` on."""
    order = [int(number) for number in np.argsort(-probable)]
    first = order[0]
    if row.names[first] != ANOTHER and probable[first] >= bar:
        return "right" if row.right[first] else "wrong"
    if row.is_undisturbed:
        return "right"
    named = [number for number in order if row.names[number] != ANOTHER][:NAMED]
    return "candidate" if any(row.right[number] for number in named) else "not_known"


def _kind(name: str) -> str:
    if name.startswith("cause."):
        return "level" if "@" in name else "base" if name.endswith(ANOTHER) else "cause"
    return "observation" if "." in name and not name.startswith("gain.") else "base"


class _Matrix:
    """The features of all candidates of all rows."""

    def __init__(self, rows: Sequence[Weighed]) -> None:
        index: dict[str, int] = {}
        at: list[tuple[int, int, float]] = []
        number = 0
        for row in rows:
            for of in row.features:
                at += [(number, index.setdefault(name, len(index)), value) for name, value in of.items()]
                number += 1
        lines, columns, values = zip(*at, strict=True)
        self.names = list(index)
        self.features = csr_matrix((values, (lines, columns)), shape=(number, len(index)))
        self.sizes = np.array([len(row.names) for row in rows])
        self.starts = np.cumsum(self.sizes) - self.sizes
        self.right = np.array([right for row in rows for right in row.right], dtype=float)

    def probabilities(self, weights: Floats) -> Floats:
        """Of each candidate among those of its row."""
        scores = self.features @ weights
        odds = np.exp(scores - np.repeat(np.maximum.reduceat(scores, self.starts), self.sizes))
        return odds / np.repeat(np.add.reduceat(odds, self.starts), self.sizes)
