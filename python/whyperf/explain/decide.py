"""One decision: how probable each cause is as what limits, from what every limit takes of a trial.

Every cause is a candidate, and "another", which stands for what cannot be removed or has no name here. The likelihood
of a cause grows with the share that its limit takes and with what its change would bring, and depends on the evidence
level: a multinomial logit (McFadden 1974). All causes have the same weights of these figures, but for what their own
situations show to be different. The weights are by maximum likelihood, with a normal prior, on drawn situations whose
causes were removed one by one (`lab/situations/fitting.py`); nobody sets any by hand.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import exp, log
from typing import Literal

from whyperf.explain.calibration.tables import Weights, weights
from whyperf.explain.causes import ANOTHER, GENERAL, Cause
from whyperf.explain.explanation import CauseProbability
from whyperf.explain.limits.limit import Limit
from whyperf.explain.trial_facts import Facts

CANDIDATES: tuple[str, ...] = (*(str(cause) for cause in Cause if cause is not Cause.NOT_KNOWN), ANOTHER)
"""All that is weighed."""

NAMED_FROM = 0.65
"""The probability from which on a cause is named as the limit: on situations left out of the fit, 8 to 11 % of the
verdicts are wrong then, and 11 to 14 % from 0.6 on (docs/laboratory/accuracy.md)."""
HIGH, MEDIUM = 0.9, 0.5
"""Probabilities from which on confidence is high, or medium."""

MIN_PROBABILITY = 0.005
"""Less is 0 % as it is printed."""

MIN_SHARE, MAX_GAIN = 0.02, 10.0
"""Bounds of the logarithms of shares and gains: beyond them a difference says nothing more of which cause limits."""
NO_GAIN = 1.05
"""A change that brings less does nothing that a user would notice."""


@dataclass(frozen=True)
class Candidate:
    """A cause that takes a share of a trial.

    Attributes:
        cause: what.
        share: part of the time, or of the rate, that it takes.
        gain: what removing it would bring, as a ratio of rates; None where nothing predicts it.
        ceiling: the rate that it allows over the present one; None where nothing shows it.
    """

    cause: Cause
    share: float
    gain: float | None = None
    ceiling: float | None = None

    @property
    def features(self) -> dict[str, float]:
        """Figures that speak for it, by the names of the weights."""
        # What takes a part of the time brings no more than the rest allows (Amdahl, AFIPS 1967).
        alone = 1 / max(1 / MAX_GAIN, 1 - self.share)
        gain = 0.0 if self.gain is None else log(min(alone, max(1.0, self.gain)))
        return {
            "share.log": log(min(1.0, max(MIN_SHARE, self.share))),
            "share": self.share,
            "gain": gain,
            "gain.missing": float(self.gain is None),
            "gain.none": float(self.gain is not None and self.gain < NO_GAIN),
            "gain.share": gain * self.share,
            "ceiling": 0.0 if self.ceiling is None else abs(log(min(MAX_GAIN, max(1 / MAX_GAIN, self.ceiling)))),
            "ceiling.missing": float(self.ceiling is None),
        }


FEATURES: tuple[str, ...] = tuple(Candidate(Cause.NOT_KNOWN, 0.0).features)
"""The names of what is weighed."""


def candidates_of(found: Sequence[Limit]) -> list[Candidate]:
    """The limits as they are weighed: of each cause the one that takes most."""
    most: dict[Cause, Limit] = {}
    for limit in found:
        if limit.cause not in most or limit.share > most[limit.cause].share:
            most[limit.cause] = limit
    return [
        Candidate(cause, limit.share, None if limit.gain is None else limit.gain.ratio, limit.ceiling)
        for cause, limit in most.items()
        if cause is not Cause.NOT_KNOWN
    ]


def ranked_causes(found: Sequence[Candidate], facts: Facts) -> list[CauseProbability]:
    """The probability of each cause by the checked-in weights; the most probable first."""
    return as_ranked(probabilities(found, level_of(facts), weights()), found)


def as_ranked(probable: Mapping[str, float], found: Sequence[Candidate]) -> list[CauseProbability]:
    """Probabilities as a result has them: without those that round to 0 %."""
    ranked = sorted(probable.items(), key=lambda each: (-each[1], each[0]))
    names = {str(candidate.cause) for candidate in found}
    return [
        CauseProbability(cause=name, probability=round(value, 4), is_found=name in names)
        for name, value in ranked
        if value >= MIN_PROBABILITY
    ]


def as_named(ranked: Sequence[CauseProbability]) -> dict[Cause, float]:
    """The probability that a verdict of each cause is right.

    One that is general is right whatever case of it there is, and is named where no case is probable enough. That a
    host can do no more is right where nothing that has a name limits. So they do not add up to 1.
    """
    each = {found.cause: found.probability for found in ranked}
    probable = {Cause(cause): value for cause, value in each.items() if cause != ANOTHER}
    for general, cases in GENERAL.items():
        known = [probable.get(cause, 0.0) for cause in cases]
        if max(known) < NAMED_FROM:
            probable[general] = probable.get(general, 0.0) + sum(known)
    probable[Cause.CAPACITY] = probable.get(Cause.CAPACITY, 0.0) + each.get(ANOTHER, 0.0)
    return probable


def confidence_in(probability: float) -> Literal["high", "medium", "low"]:
    """The word for the probability of a verdict."""
    return "high" if probability >= HIGH else "medium" if probability >= MEDIUM else "low"


def level_of(facts: Facts) -> str:
    """The evidence level, and the sides of another program's connection that were watched."""
    return f"{facts.level}.{facts.watched_sides}" if facts.watched_sides else facts.level


def probabilities(found: Sequence[Candidate], level: str, by: Weights) -> dict[str, float]:
    """The probability of each of `CANDIDATES`; together 1.

    Args:
        found: what takes some of the trial.
        level: of the evidence (`level_of`).
        by: the weights.
    """
    found_scores = scores(found, level, by)
    greatest = max(found_scores.values())
    likelihoods = {name: exp(score - greatest) for name, score in found_scores.items()}
    whole = sum(likelihoods.values())
    return {name: value / whole for name, value in likelihoods.items()}


def scores(found: Sequence[Candidate], level: str, by: Weights) -> dict[str, float]:
    """The logarithm of the likelihood of each of `CANDIDATES`, but for a constant; arguments as of `probabilities`.

    A cause that takes nothing of the trial may have left no trace, above all on a side that was not watched.
    """
    each: dict[str, Mapping[str, float]] = {str(candidate.cause): candidate.features for candidate in found}
    each[ANOTHER] = {}
    none: Mapping[str, float] = {}
    return {
        name: _dot(by.features, each[name])
        + _dot(by.own.get(name, none), each[name])
        + by.levels.get(name, none).get(level, 0.0)
        + by.levels.get(name, none).get("", 0.0)
        if name in each
        else by.features.get(UNFOUND, 0.0) + sum(by.levels.get(name, none).get(key, 0.0) for key in unfound_keys(level))
        for name in CANDIDATES
    }


UNFOUND = "unfound"
"""The name of the weight of a cause that takes nothing."""


def unfound_keys(level: str) -> tuple[str, ...]:
    """The names of the weights that a cause that takes nothing has of its own, at an evidence level."""
    side = level.partition(".")[2]
    return (UNFOUND, f"{UNFOUND}.{side}") if side in {"sender", "receiver"} else (UNFOUND,)


def _dot(weighed: Mapping[str, float], values: Mapping[str, float]) -> float:
    return sum(weighed.get(name, 0.0) * value for name, value in values.items())
