"""One decision: how probable each cause is as what limits, from all that was observed.

Every cause is a candidate, and "another", which stands for what can not be removed or has no name here. The likelihood
of a cause is the product of what each observation says for it, what the evidence level says, whether it lacks the trace
that it would leave (traces.py), and, where a rule finds it, what the finding's share, certainty and gain say: a
multinomial logit (McFadden 1974). The weights are by maximum likelihood, with a normal prior, on drawn situations whose
causes were removed one by one (`lab/situations/fitting.py`); nobody sets any by hand. What rules put first is the
verdict unless that is improbable.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from math import exp, log, log10
from typing import Literal

from whyperf.explain.calibration.weights import Weights, weights
from whyperf.explain.causes import ANOTHER, Cause
from whyperf.explain.explanation import CauseProbability
from whyperf.explain.observe import NAMED, Observation, Observations, observe
from whyperf.explain.traces import LACKING, lacking
from whyperf.explain.trial_facts import Facts

CANDIDATES: tuple[str, ...] = (*(str(cause) for cause in Cause if cause is not Cause.NOT_KNOWN), ANOTHER)
"""All that is weighed."""

NAMED_FROM = 0.7
"""The probability from which on a cause may be named as the limit: of drawn situations left out of the fit 5 to 8 % are
then wrong at the levels of our own load, and 4 to 10 % of programs of others (`whyperf-lab fit`, seeds 20261129 and
20261130)."""

KEPT_FROM = 0.3
"""The probability from which on what the rules put first stays there."""
HIGH, MEDIUM = 0.9, 0.5
"""Probabilities from which on confidence is high, or medium."""

MIN_PROBABILITY = 0.005
"""Less is 0 % as it is printed."""

MIN_SHARE, MAX_GAIN = 0.02, 10.0
"""Bounds of the logarithms of shares and gains: beyond them a difference says nothing more of which cause limits."""
NO_GAIN = 1.05
"""A change that brings less does nothing that a user would notice."""
MAX_RATIO = 1.5
"""The bound of ratios, of which few are above 1; `MAX_TIMES` that of factors."""
MAX_TIMES = 20.0
DECADES = 3.0
"""Sizes, times and rates spread over about so many: the weights of all observations are of one order."""


@dataclass(frozen=True)
class Candidate:
    """A cause that a rule finds, or leaves open.

    Attributes:
        cause: what.
        share: part of the time, or of the rate, that it takes.
        certainty: how well the rule separates it from others.
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

    @property
    def features(self) -> dict[str, float]:
        """Figures that speak for it, by the names of the weights."""
        gain = self.gain
        return {
            "found": 1.0,
            "share": log(min(1.0, max(MIN_SHARE, self.share))),
            "certainty": self.certainty,
            "strength": self.share * self.certainty,
            "gain": 0.0 if gain is None else log(min(MAX_GAIN, max(1.0, gain))),
            "gain.missing": float(gain is None),
            "gain.none": float(gain is not None and gain < NO_GAIN),
            "counted": float(self.is_counted),
            "open": float(self.is_open),
        }


FEATURES: tuple[str, ...] = tuple(Candidate(Cause.NOT_KNOWN, 0, 0).features)
"""The names of what is weighed of a candidate itself."""


def ranked_causes(found: Sequence[Candidate], facts: Facts) -> list[CauseProbability]:
    """The probability of each cause by the checked-in weights; the most probable first."""
    observed = observe(facts, NAMED)
    probable = probabilities(found, scaled(observed), level_of(facts), weights(), lacking(facts, observed))
    if not any(candidate.cause is Cause.RECEIVER_LOSS for candidate in found):
        # The kernel counts these losses where they happen: where its counts show none, there are none.
        del probable[str(Cause.RECEIVER_LOSS)]
    whole = sum(probable.values())
    return as_ranked({name: value / whole for name, value in probable.items()}, found)


def as_ranked(probable: Mapping[str, float], found: Sequence[Candidate]) -> list[CauseProbability]:
    """Probabilities as a result has them: without those that round to 0 %."""
    ranked = sorted(probable.items(), key=lambda each: (-each[1], each[0]))
    names = {str(candidate.cause) for candidate in found}
    return [
        CauseProbability(cause=name, probability=round(value, 4), is_found=name in names)
        for name, value in ranked
        if value >= MIN_PROBABILITY
    ]


def confidence_in(probability: float) -> Literal["high", "medium", "low"]:
    """The word for the probability of a verdict."""
    return "high" if probability >= HIGH else "medium" if probability >= MEDIUM else "low"


def level_of(facts: Facts) -> str:
    """The evidence level, and the sides of another program's connection that were watched."""
    return f"{facts.level}.{facts.watched_sides}" if facts.watched_sides else facts.level


def probabilities(
    found: Sequence[Candidate],
    shown: Mapping[str, float],
    level: str,
    by: Weights,
    lacking_trace: Collection[str] = (),
) -> dict[str, float]:
    """The probability of each of `CANDIDATES`; together 1.

    Args:
        found: what rules find.
        shown: the observations as weights take them (`scaled`).
        level: of the evidence (`level_of`).
        by: the weights.
        lacking_trace: the causes that hardly limit (`traces.lacking`).
    """
    found_scores = scores(found, shown, level, by, lacking_trace)
    greatest = max(found_scores.values())
    likelihoods = {name: exp(score - greatest) for name, score in found_scores.items()}
    whole = sum(likelihoods.values())
    return {name: value / whole for name, value in likelihoods.items()}


def scores(
    found: Sequence[Candidate], shown: Mapping[str, float], level: str, by: Weights, lacking_trace: Collection[str]
) -> dict[str, float]:
    """The logarithm of the likelihood of each of `CANDIDATES`, but for a constant; arguments as of `probabilities`."""
    of_rules = {str(candidate.cause): candidate.features for candidate in found}
    return {
        name: _dot(by.observations.get(name, {}), shown)
        + by.levels.get(name, {}).get(level, 0.0)
        + by.levels.get(name, {}).get("", 0.0)
        + _dot(by.features, of_rules.get(name, {}))
        + (log(LACKING) if name in lacking_trace else 0.0)
        for name in CANDIDATES
    }


def scaled(observed: Observations) -> dict[str, float]:
    """Observations as weights take them: ratios as they are, all else by its order of magnitude.

    What is missing says nothing, and of sizes, times and rates only those whose order of magnitude does on any path.
    """
    return {name: _scaled(seen) for name, seen in observed.items() if seen.value is not None and _is_weighed(seen)}


def _is_weighed(seen: Observation) -> bool:
    return seen.named.unit in {"ratio", "times", "count", "log10"} or seen.named.name in ABSOLUTE


ABSOLUTE = frozenset(
    {
        "rtt.least",
        "segment.bytes",
        *(f"{side}.{name}" for side in ("sender", "receiver") for name in ("mss", "calls.bytes", "calls.time")),
    }
)
"""Sizes and times that are small or large by themselves: of a call, of a segment, and of a path, whose length separates
neighbors from others. Rates and windows are weighed by what they allow (`CEILINGS`): on situations left out of the fit
that is more probable, and more so on stored trials of other catalogs."""


def _scaled(observation: Observation) -> float:
    value = observation.value or 0.0
    if observation.named.unit == "ratio":
        return min(MAX_RATIO, value)
    if observation.named.unit == "log10":
        return max(-DECADES, min(DECADES, value))
    if observation.named.unit == "times":
        return log(min(MAX_TIMES, max(1 / MAX_TIMES, value)))
    return log10(1 + max(0.0, value)) / DECADES


def _dot(weighed: Mapping[str, float], values: Mapping[str, float]) -> float:
    return sum(weighed.get(name, 0.0) * value for name, value in values.items())
