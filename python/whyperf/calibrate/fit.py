"""The fit: costs within their bounds with which the model says what was measured, and an ensemble of near-best ones.

Differential evolution (Storn and Price, Journal of Global Optimization 11, 1997) in the logarithms of the costs; every
generation is one batch of questions to the model. Few directions of so many costs can be distinguished by throughputs
alone, so no single best set is believed: what is said later is said by all of the ensemble.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from whyperf.calibrate.costs import Prior
from whyperf.calibrate.grid import Point
from whyperf.calibrate.simulator import Answer

Costs = dict[str, float]
Ask = Callable[[Sequence[tuple[Mapping[str, float], Point]]], list[Answer | None]]
"""Answers of the model to costs and a point's factors each."""

#: Sets that are kept.
MEMBERS = 30
#: The ratio by which the loss of what is kept may exceed the best.
NEAR_BEST = 0.25
#: Where those are too few, because the search was short, up to this much.
STILL_KEPT = 1.0
#: Weights of what a point says in addition to its goodput, and of how far costs are from their priors.
BUSY_WEIGHT = 0.15
ACK_WEIGHT = 0.1
PRIOR_WEIGHT = 0.02
#: From here on an error counts by its size only, not by its square (Huber): one point does not rule the others.
LARGE_ERROR = 0.3
#: The most that a number may be off that is written and read again.
ROUNDING = 1e-12
#: Loss of a run that did not come to its end.
NO_ANSWER = 3.0


@dataclass(frozen=True)
class Member:
    """A set of costs and its loss."""

    costs: Costs
    loss: float


@dataclass(frozen=True)
class Fit:
    """The ensemble, the best first, and how many sets were tried."""

    members: tuple[Member, ...]
    tried: int

    @property
    def best(self) -> Member:
        """The set with the least loss."""
        return self.members[0]


def fit(
    priors: Sequence[Prior],
    points: Sequence[Point],
    ask: Ask,
    *,
    generations: int,
    population: int = 32,
    members: int = MEMBERS,
    seed: int = 1,
    on_generation: Callable[[int, float], None] = lambda _generation, _loss: None,
) -> Fit:
    """Finds costs of which the model says what `points` say.

    Args:
        priors: the costs that may move.
        points: what was measured and may be seen.
        ask: the model.
        generations: how many times the population is renewed.
        population: sets of costs in a generation.
        members: sets that are kept.
        seed: of the search.
        on_generation: called after each generation with its number and the least loss so far.
    """
    from scipy import optimize, stats  # noqa: PLC0415 - takes a second to load

    low, high, center = (np.log([getattr(prior, name) for prior in priors]) for name in ("low", "high", "value"))
    tried: list[tuple[NDArray[np.float64], float]] = []
    generation = 0

    def losses(sets: NDArray[np.float64]) -> NDArray[np.float64]:
        """Of a population, shape (costs, sets)."""
        nonlocal generation
        all_costs = [_costs(priors, column) for column in sets.T]
        answers = ask([(costs, point) for costs in all_costs for point in points])
        result = np.empty(len(all_costs))
        for number, column in enumerate(sets.T):
            mine = answers[number * len(points) : (number + 1) * len(points)]
            result[number] = _loss(points, mine) + PRIOR_WEIGHT * float(
                np.mean(((column - center) / (high - low)) ** 2)
            )
            tried.append((column.copy(), float(result[number])))
        on_generation(generation, min(loss for _, loss in tried))
        generation += 1
        return result

    # Around the priors, wider than they are sure: everything that is plausible has a share of the population.
    spread = stats.qmc.LatinHypercube(len(priors), rng=np.random.default_rng(seed)).random(population - 1)
    first = center + stats.norm.ppf(np.clip(spread, 0.02, 0.98)) * (high - low) / 6
    optimize.differential_evolution(
        losses,  # type: ignore[arg-type]  # the stubs do not know vectorized=True
        bounds=optimize.Bounds(low, high),
        init=np.clip(np.vstack([center, first]), low, high),
        maxiter=generations,
        mutation=(0.4, 0.9),
        recombination=0.8,
        rng=np.random.default_rng(seed),
        vectorized=True,
        updating="deferred",
        polish=False,
        tol=0,
    )
    return Fit(_ensemble(priors, tried, members), len(tried))


def _costs(priors: Sequence[Prior], logarithms: NDArray[np.float64]) -> Costs:
    pairs = zip(priors, np.exp(logarithms), strict=True)
    return {prior.key: float(np.clip(cost, *_inside(prior))) for prior, cost in pairs}


def _inside(prior: Prior) -> tuple[float, float]:
    """Bounds that rounding cannot carry a cost over: the model reads a cost and its bounds by two parsers, and their
    last bits may differ.
    """
    return prior.low + ROUNDING * abs(prior.low), prior.high - ROUNDING * abs(prior.high)


def _loss(points: Sequence[Point], answers: Sequence[Answer | None]) -> float:
    return float(np.mean([_error(point, answer) for point, answer in zip(points, answers, strict=True)]))


def _error(point: Point, answer: Answer | None) -> float:
    if answer is None or answer.goodput_bps <= 0:
        return NO_ANSWER
    error = _huber(float(np.log(answer.goodput_bps / point.goodput_bps)))
    for said, was in zip(answer.busy, point.busy, strict=True):
        if was is not None:
            error += BUSY_WEIGHT * _huber(said - was)
    if point.bytes_per_ack is not None and answer.bytes_per_ack is not None:
        error += ACK_WEIGHT * _huber(float(np.log(answer.bytes_per_ack / point.bytes_per_ack)))
    return error


def _huber(error: float) -> float:
    size = abs(error)
    return size**2 if size <= LARGE_ERROR else LARGE_ERROR * (2 * size - LARGE_ERROR)


def _ensemble(
    priors: Sequence[Prior], tried: Sequence[tuple[NDArray[np.float64], float]], members: int
) -> tuple[Member, ...]:
    """The best set, then of those that are nearly as good the ones farthest from all that are kept already."""
    best = min(loss for _, loss in tried)
    ordered = sorted(tried, key=lambda candidate: candidate[1])
    near = [candidate for candidate in ordered if candidate[1] <= best * (1 + NEAR_BEST)] or ordered[:1]
    if len(near) < members:
        near = [candidate for candidate in ordered[:members] if candidate[1] <= best * (1 + STILL_KEPT)]
    places = np.array([place for place, _ in near])
    kept = [0]
    distance = np.linalg.norm(places - places[0], axis=1)
    while len(kept) < min(members, len(near)):
        farthest = int(np.argmax(distance))
        if distance[farthest] == 0:
            break
        kept.append(farthest)
        distance = np.minimum(distance, np.linalg.norm(places - places[farthest], axis=1))
    chosen = sorted(kept, key=lambda index: near[index][1])
    return tuple(Member(_costs(priors, near[index][0]), near[index][1]) for index in chosen)
