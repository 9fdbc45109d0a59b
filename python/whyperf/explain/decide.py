"""One decision: how likely each cause is what limits, from all that was observed.

What the rules find are the candidates, and "another" is one, too. The odds of a candidate are the product of what its
share of the time, its gain, its cause and each observation say for its family: a multinomial logit (McFadden 1974). The
weights are by maximum likelihood, with a normal prior, on drawn situations whose causes were removed one by one
(`lab/situations/fitting.py`); nobody sets any by hand.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import exp, log, log10

from whyperf.explain.calibration.weights import weights
from whyperf.explain.causes import Cause
from whyperf.explain.model import Chance
from whyperf.explain.observe import NAMED, Observation, Observations, observe
from whyperf.explain.trial_facts import Facts

ANOTHER = "another"
"""The candidate that stands for every cause that no rule names."""

FAMILIES: Mapping[str, frozenset[Cause]] = {
    "window": frozenset(
        {
            Cause.RECEIVE_BUFFER,
            Cause.SEND_BUFFER,
            Cause.WINDOW_SCALING,
            Cause.WRITE_WINDOW_MISMATCH,
            Cause.MEMORY_LIMIT,
        }
    ),
    "application": frozenset(
        {
            Cause.SLOW_WRITER,
            Cause.SLOW_READER,
            Cause.THINK_TIME,
            Cause.ROUND_TRIP,
            Cause.NAGLE_DELAYED_ACK,
            Cause.DELAYED_ACK,
            Cause.CONNECTION_SETUP,
            Cause.ASKED_RATE,
            Cause.PACING_RATE,
            Cause.SLOW_START,
            Cause.PAUSE,
        }
    ),
    "link": frozenset({Cause.BOTTLENECK, Cause.SHARED_BOTTLENECK, Cause.LOCAL_QUEUE}),
    "loss": frozenset(
        {
            Cause.RANDOM_LOSS,
            Cause.BURST_LOSS,
            Cause.PATH_LOSS,
            Cause.POLICER,
            Cause.SMALL_QUEUE,
            Cause.REORDERING,
            Cause.RECEIVER_LOSS,
        }
    ),
    "acks": frozenset({Cause.ACK_PATH, Cause.ACK_THINNING}),
}
"""Causes for which the same observations speak; all others are of the CPUs."""
_FAMILY_OF = {cause: family for family, causes in FAMILIES.items() for cause in causes}

LEAST_SHARE, MOST_GAIN = 0.02, 10.0
"""Bounds of the logarithms of shares and gains: beyond them a difference says nothing more of which cause limits."""
MOST_RATIO = 1.5
"""The same of ratios, of which few are above 1."""


@dataclass(frozen=True)
class Candidate:
    """A cause that may be what limits, as a rule finds it.

    Attributes:
        cause: what.
        share: part of the time, or of the rate, that it takes.
        certainty: how well the rule tells it from others.
        gain: what removing it would bring, as a ratio of rates; None where nothing predicts it.
        is_counted: the kernel counts it where it happens.
        is_open: the evidence fits another cause as well.
    """

    cause: Cause
    share: float
    certainty: float
    gain: float | None = None
    is_counted: bool = False
    is_open: bool = False


def chances_of(candidates: Sequence[Candidate], facts: Facts) -> list[Chance]:
    """How probable each candidate is by the checked-in weights, and another cause; the most probable first."""
    level = level_of(facts)
    found = probabilities(candidates, observe(facts, NAMED), level, weights())
    names = [*(str(candidate.cause) for candidate in candidates), ANOTHER]
    ranked = sorted(zip(names, found, strict=True), key=lambda chance: (-chance[1], chance[0]))
    return [Chance(cause=name, probability=round(value, 4)) for name, value in ranked]


def level_of(facts: Facts) -> str:
    """The evidence level, and the sides of another program's connection that were watched."""
    return f"{facts.level}.{facts.watched_sides}" if facts.watched_sides else facts.level


def probabilities(
    candidates: Sequence[Candidate], observed: Observations, level: str, weights: Mapping[str, float]
) -> list[float]:
    """The probability of each candidate, and at the end that of another cause; together 1."""
    scores = [_score(features(candidate, observed, level), weights) for candidate in candidates]
    scores.append(_score(features_of_another(observed, level), weights))
    greatest = max(scores)
    odds = [exp(score - greatest) for score in scores]
    return [odd / sum(odds) for odd in odds]


def features(candidate: Candidate, observed: Observations, level: str) -> dict[str, float]:
    """What speaks for a candidate or against it, by the names of the weights."""
    gain = candidate.gain
    found = {
        "share": log(min(1.0, max(LEAST_SHARE, candidate.share))),
        "certainty": candidate.certainty,
        "strength": candidate.share * candidate.certainty,
        "gain": 0.0 if gain is None else log(min(MOST_GAIN, max(1.0, gain))),
        "gain.missing": float(gain is None),
        "gain.none": float(gain is not None and gain < NO_GAIN),
        "counted": float(candidate.is_counted),
        "open": float(candidate.is_open),
        f"cause.{candidate.cause}": 1.0,
        f"cause.{candidate.cause}@{level}": 1.0,
    }
    family = _FAMILY_OF.get(candidate.cause, "cpu")
    return found | _of_family(family, observed)


NO_GAIN = 1.05
"""A change that brings less does nothing that a user would notice."""


def features_of_another(observed: Observations, level: str) -> dict[str, float]:
    """The same of "another"."""
    return {f"cause.{ANOTHER}": 1.0, f"cause.{ANOTHER}@{level}": 1.0} | _of_family(ANOTHER, observed)


def _of_family(family: str, observed: Observations) -> dict[str, float]:
    found = {}
    for name, observation in observed.items():
        if observation.value is None:
            found[f"{family}.{name}.missing"] = 1.0
        elif (scaled := _scaled(observation)) != 0:
            found[f"{family}.{name}"] = scaled
    return found


def _scaled(observation: Observation) -> float:
    """A value as weights take it: ratios as they are, all else by its order of magnitude."""
    value = observation.value or 0.0
    if observation.named.unit == "ratio":
        return min(MOST_RATIO, value)
    if observation.named.unit == "times":
        return log(min(MOST_TIMES, max(1 / MOST_TIMES, value)))
    return log10(1 + max(0.0, value)) / DECADES


MOST_TIMES = 20.0
DECADES = 3.0
"""Sizes, times and rates spread over about so many: the weights of all observations are of one order."""


def _score(found: Mapping[str, float], weights: Mapping[str, float]) -> float:
    return sum(weights.get(name, 0.0) * value for name, value in found.items())
