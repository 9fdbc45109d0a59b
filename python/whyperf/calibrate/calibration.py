"""A calibration, from timed steps and a measured grid to costs, ensemble and verdict."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial
from typing import Any

from whyperf import __version__
from whyperf.calibrate.costs import Prior, priors, profile
from whyperf.calibrate.errors import CalibrationError
from whyperf.calibrate.fit import Fit, fit
from whyperf.calibrate.grid import Point, held_out
from whyperf.calibrate.identify import Found, Narrowed, identify, narrowing
from whyperf.calibrate.judge import Verdict, judge
from whyperf.calibrate.simulator import Answer, Model, model, question
from whyperf.calibrate.steps import Measured, Steps


@dataclass(frozen=True)
class Calibration:
    """Everything that was found: what is printed and written."""

    base: str
    measured_on: Mapping[str, Any]
    steps: Steps
    priors: Sequence[Prior]
    fit: Fit
    found: Sequence[Found]
    points: Sequence[Point]
    verdict: Verdict
    staged: Mapping[str, Measured] = field(default_factory=dict)
    """Costs that stage times show, by key."""
    narrowed: Narrowed | None = None
    """The degree to which these narrow the ensemble; None without any."""


def calibration_of(
    base: str,
    steps: Steps,
    points: Sequence[Point],
    *,
    generations: int,
    seed: int,
    staged: Mapping[str, Measured] | None = None,
    on_generation: Callable[[int, float], None] = lambda _generation, _loss: None,
) -> Calibration:
    """Fits the costs of `base` to half of the points, and judges them by the other half.

    Args:
        base: expression of the host of the model.
        steps: what was timed.
        points: the grid.
        generations: how long the fit searches.
        seed: of the search, and of what is held out.
        staged: costs that stage times of the grid show, by key. With any, the fit is made without them, too, to report
            how much they narrow the ensemble.
        on_generation: called after each generation with its number and the least loss so far.

    Raises:
        CalibrationError: nothing can be held out, or the model refuses the host.
    """
    is_out = held_out(points, seed)
    known = priors(steps.measured, staged)
    seen = [point for point, out in zip(points, is_out, strict=True) if not out]
    if not seen or len(seen) == len(points):
        raise CalibrationError("the grid has one window or one write size only; half of its cells must be held out")
    with model() as simulator:
        ask = partial(_ask, simulator, profile(base, known))
        done = fit(known, seen, ask, generations=generations, seed=seed, on_generation=on_generation)
        narrowed = None
        if staged:
            timed = priors(steps.measured)
            # The bounds of the model's costs are those of their priors.
            other = partial(_ask, simulator, profile(base, timed))
            without = fit(timed, seen, other, generations=generations, seed=seed, on_generation=on_generation)
            narrowed = narrowing(identify(known, done), identify(timed, without), staged)
        said = ask([(member.costs, point) for point in points for member in done.members])
    count = len(done.members)
    rates = [_rates(said[number * count : (number + 1) * count]) for number in range(len(points))]
    return Calibration(
        base=base,
        measured_on=_measured_on(steps),
        steps=steps,
        priors=known,
        fit=done,
        found=identify(known, done),
        points=points,
        verdict=judge(points, is_out, rates),
        staged=staged or {},
        narrowed=narrowed,
    )


def _rates(answers: Sequence[Answer | None]) -> list[float]:
    """Goodput in bit/s; 0 of a run that did not come to its end."""
    return [0.0 if answer is None else answer.goodput_bps for answer in answers]


def _ask(simulator: Model, host: str, asked: Sequence[tuple[Mapping[str, float], Point]]) -> list[Answer | None]:
    return simulator.answers([question(host, costs, point.factors) for costs, point in asked])


def _measured_on(steps: Steps) -> dict[str, object]:
    facts = ("hostname", "kernel", "machine", "distribution", "cpu_model")
    return {name: steps.host[name] for name in facts} | {
        "cpus": len(steps.host["cpus"]),
        "date": f"{datetime.now():%Y-%m-%d}",
        "whyperf": __version__,
    }
