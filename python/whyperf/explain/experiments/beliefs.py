"""The probabilities of causes, before and after experiments, and what the next one could show."""

from collections.abc import Collection, Mapping, Sequence

from whyperf.explain.decide import CANDIDATES
from whyperf.explain.experiments.outcomes import LOWERED, RAISED_IF_RELIEVED, RAISED_IN_PART, Gains, likelihood
from whyperf.explain.experiments.signs import Slower, empties_queue, ends_losses, signs_likelihood
from whyperf.explain.experiments.tries import Planned
from whyperf.explain.explanation import CauseProbability

Beliefs = Mapping[str, float]
"""The probability of each candidate, by name; together 1."""

MIN_SHARE, MIN_REMOVABLE = 0.0025, 0.02
"""The probability of a cause that the evidence leaves none; and of one that can be removed, to choose experiments by.
Counters left none to the cause in 9 of 74 situations (seed 20261203): 12 % for 48 causes. The evidence names a wrong
cause first in 5 to 14 of 100 situations (lab/first-looks.txt)."""


def prior_of(ranked: Sequence[CauseProbability], excluded: Collection[str] = ()) -> Beliefs:
    """The probabilities that the evidence gave; each cause has some, and next to nothing what is `excluded` by the
    load's own settings.
    """
    given = {each.cause: each.probability for each in ranked}
    found = {name: max(MIN_SHARE, given.get(name, 0.0)) for name in CANDIDATES}
    return _whole({name: share if name not in excluded else _NONE * share for name, share in found.items()})


def curious(prior: Beliefs, tries: Sequence[Planned], excluded: Collection[str] = ()) -> Beliefs:
    """The same with more of what a remedy of `tries` can remove: by these the next experiments are chosen."""
    removable = {str(cause) for each in tries if each.is_remedy for cause in each.relieves} - set(excluded)
    return _whole({name: max(MIN_REMOVABLE, share) if name in removable else share for name, share in prior.items()})


_NONE = 0.001
"""A part that no experiment makes probable again, unless all others fail: with ten times as much, a bottleneck that a
path without a rate cannot have came back to 0.22 (report cpu-quota, first look)."""


def updated(
    beliefs: Beliefs, tries: Sequence[Planned], found: Mapping[str, Gains], slower: Mapping[str, Slower] | None = None
) -> Beliefs:
    """The beliefs after the outcomes of experiments, and after the signs of those at a slower pace."""
    now = dict(beliefs)
    for each in tries:
        if each.is_slower:
            signs = (slower or {}).get(each.name, Slower())
            now = {name: share * signs_likelihood(signs, name) for name, share in now.items()}
            now = dict(_whole(now))
        elif each.name in found:
            often = {name: raised(each, name) for name in now}
            likely = {of: likelihood(found[each.name], of) for of in set(often.values())}
            now = dict(_whole({name: share * likely[often[name]] for name, share in now.items()}))
    return now


def raised(tried: Planned, cause: str) -> float:
    """The probability that an experiment raises the rate where this cause limits."""
    if cause in tried.relieves:
        return RAISED_IF_RELIEVED
    return max(RAISED_IN_PART, tried.raises_else) if cause in tried.may_raise else tried.raises_else


def information(beliefs: Beliefs, together: Sequence[Planned]) -> float:
    """By how many nats experiments lower the entropy of the beliefs on average, all of them together."""
    import numpy as np  # noqa: PLC0415 - printing what was found needs none

    shares = np.array(list(beliefs.values()))
    # A row for each combination of outcomes, a column for each cause.
    joint = shares[None, :]
    for tried in together:
        for outcomes in _outcomes(beliefs, tried):
            joint = (joint[:, None, :] * np.array(outcomes)[None, :, :]).reshape(-1, len(shares))
    joint = np.maximum(joint, np.finfo(float).tiny)
    whole = joint.sum(axis=1)
    left = -(joint * np.log(joint / whole[:, None])).sum()
    return max(0.0, float(-(shares * np.log(shares)).sum() - left))


def _outcomes(beliefs: Beliefs, tried: Planned) -> list[list[list[float]]]:
    """Outcomes an experiment can show: for each of its signs a row for each outcome, with its probability by cause."""
    if tried.is_slower:
        ended = [[of(name) for name in beliefs] for of in (ends_losses, empties_queue)]
        return [[yes, [1 - each for each in yes]] for yes in ended]
    up = [raised(tried, name) for name in beliefs]
    return [[up, [LOWERED] * len(up), [max(0.0, 1 - each - LOWERED) for each in up]]]


def _whole(shares: Mapping[str, float]) -> dict[str, float]:
    total = sum(shares.values())
    return {name: share / total for name, share in shares.items()}
