"""The probabilities of causes, before and after experiments and their signs, and what the next one could show.

Losses of a full queue or of a policer end where the sender stays below what it carries; those of a bad cable stay. What
stands in a queue leaves it, unless others fill it. That separates causes that no remedy takes away.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from math import log
from statistics import mean

from whyperf.explain.causes import Cause
from whyperf.explain.decide import CANDIDATES
from whyperf.explain.experiments.outcomes import (
    HALVED,
    HALVED_ELSE,
    RAISED_IF_RELIEVED,
    RAISED_IN_PART,
    RAISES_FROM,
    Gains,
    doubled_where,
    likelihood,
    likelihood_of_half,
    lowered_where,
)
from whyperf.explain.experiments.tries import Planned
from whyperf.explain.explanation import CauseProbability


@dataclass(frozen=True)
class Sign:
    """The counts of the sending kernel in a trial.

    Attributes:
        again: data segments that were sent again, and `sent` all data segments.
        round_trip_s: the median of the smoothed round-trip times under load; None without one.
        least_s: the shortest round trip of any connection's life; None where it is not known.
    """

    again: int
    sent: int
    round_trip_s: float | None
    least_s: float | None = None


@dataclass(frozen=True)
class Slower:
    """The signs in the trials of a slower pace next to the original: None where they do not say.

    Attributes:
        losses_end: whether next to nothing is lost any more.
        queue_empties: whether round trips are shorter.
        has_queue: whether round trips of the original are longer than the shortest one, so that something waits.
    """

    losses_end: bool | None = None
    queue_empties: bool | None = None
    has_queue: bool | None = None


CONGESTED = frozenset({Cause.BOTTLENECK, Cause.LOCAL_QUEUE, Cause.SMALL_QUEUE, Cause.POLICER})
"""Causes that lose segments because more are sent than something carries."""
RANDOM = frozenset({Cause.RANDOM_LOSS, Cause.BURST_LOSS, Cause.PATH_LOSS, Cause.REORDERING})
"""Causes that lose segments, or seem to, at any pace."""
QUEUED = frozenset({Cause.BOTTLENECK, Cause.LOCAL_QUEUE})
"""Causes whose queue is full of the load's own segments."""

MIN_AGAIN = 5
"""Segments sent again from which on their part of all is known to a half: the error of a count is its root."""
ENDED, STAYED = 0.25, 0.5
"""Parts of the losses of the original that are left where they ended, at most, and where they stayed, at least."""
HAS_QUEUE = 1.3
"""Round trips of the original over the shortest one from which on a queue stands: smoothed ones of a quiet path differ
from it by 10 %."""
EMPTIED, SAME = 0.7, 0.85
"""The same of round trips: smoothed ones of trials on a quiet path differ by 10 %."""
SURE, SELDOM, OPEN = 0.9, 0.1, 0.4
"""Probability that a sign is seen where the cause makes it, where it makes the other, and where it makes neither. On
ten situations of seed 20261203 with a sign, each was that of the cause."""


def slower_of(original: Sequence[Sign], paced: Sequence[Sign]) -> Slower:
    """Compares the signs of some trials of both."""
    if not original or not paced:
        return Slower()
    lost, left = (_part(of) for of in (original, paced))
    ends = None
    if sum(of.again for of in original) >= MIN_AGAIN:
        ends = True if left <= ENDED * lost else False if left >= STAYED * lost else None
    long, short = (_round_trip(of) for of in (original, paced))
    empties = None
    if long and short:
        empties = True if short <= EMPTIED * long else False if short >= SAME * long else None
    least = min((of.least_s for of in (*original, *paced) if of.least_s), default=None)
    return Slower(ends, empties, long >= HAS_QUEUE * least if long and least else None)


def _part(of: Sequence[Sign]) -> float:
    return sum(each.again for each in of) / max(1, sum(each.sent for each in of))


def _round_trip(of: Sequence[Sign]) -> float:
    return mean([each.round_trip_s for each in of if each.round_trip_s is not None] or [0.0])


def ends_losses(cause: str) -> float:
    """The probability that losses end at a slower pace where this cause limits."""
    return SURE if cause in CONGESTED else SELDOM if cause in RANDOM else OPEN


def empties_queue(cause: str) -> float:
    """The same of the path's queue."""
    return SURE if cause in QUEUED else OPEN if cause == Cause.SHARED_BOTTLENECK else SELDOM


def keeps_queue(cause: str) -> float:
    """The probability that a queue stands where it does not empty at a slower pace: only others fill it then."""
    return SURE if cause == Cause.SHARED_BOTTLENECK else OPEN if cause in QUEUED else OPEN / 2


def signs_likelihood(found: Slower, cause: str) -> float:
    """The probability of these signs where the cause limits."""
    out = 1.0
    signs = [(found.losses_end, ends_losses(cause)), (found.queue_empties, empties_queue(cause))]
    if found.queue_empties is False:
        signs.append((found.has_queue, keeps_queue(cause)))
    for seen, probability in signs:
        if seen is not None:
            out *= probability if seen else 1 - probability
    return out


def merged(signs: Mapping[int, Mapping[str, Sign]]) -> dict[str, list[Sign]]:
    """The signs of all blocks, by the name of the experiment."""
    out: dict[str, list[Sign]] = {}
    for block in signs.values():
        for name, sign in block.items():
            out.setdefault(name, []).append(sign)
    return out


Beliefs = Mapping[str, float]
"""The probability of each candidate, by name; together 1."""

MIN_SHARE, MIN_OWN, MIN_REMOVABLE, MIN_CHOSEN = 0.001, 0.05, 0.02, 0.25
"""The probability of a cause that the evidence leaves none, and of one that the load's own kind is; and, to choose
experiments by, of one that can be removed, and of one that somebody's own setting is.

Counters left next to none to the cause in 9 of 168 trials (seeds 20261401 and 20261403): 5 % for 48 causes. The
evidence names a wrong cause first in 5 to 14 of 100 situations (lab/first-looks.txt). Remedies that take back a chosen
setting raised the rate in 55 of 129 trials, others in 14 of 112 (seeds 20261401, 20261403 and 20261501). With 0.25
instead of 0.05 for those, simulated ladders of all stored situations prove 94 % of what can be removed within 12 trials
instead of 84 %; with 0.4 no more.
"""


def prior_of(
    ranked: Sequence[CauseProbability], excluded: Collection[str] = (), chosen: Collection[str] = ()
) -> Beliefs:
    """The probabilities that the evidence gave; each cause has some, more what is `chosen` by the load's own settings,
    and next to nothing what is `excluded` by them.
    """
    given = {each.cause: each.probability for each in ranked}
    found = {name: max(MIN_OWN if name in chosen else MIN_SHARE, given.get(name, 0.0)) for name in CANDIDATES}
    return _whole({name: share if name not in excluded else _NONE * share for name, share in found.items()})


def curious(prior: Beliefs, tries: Sequence[Planned], excluded: Collection[str] = ()) -> Beliefs:
    """The same with more of what a remedy of `tries` can remove: by these the next experiments are chosen."""
    least: dict[str, float] = {}
    for each in tries:
        for cause in each.relieves if each.is_remedy and not each.parts else ():
            least[cause] = max(least.get(cause, 0.0), MIN_CHOSEN if each.takes_back else MIN_REMOVABLE)
    return _whole(
        {name: share if name in excluded else max(least.get(name, 0.0), share) for name, share in prior.items()}
    )


_NONE = 0.001
"""A part that no experiment makes probable again, unless all others fail: with ten times as much, a bottleneck that a
path without a rate cannot have came back to 0.22 (report cpu-quota, first look)."""


def updated(
    beliefs: Beliefs, tries: Sequence[Planned], found: Mapping[str, Gains], slower: Mapping[str, Slower] | None = None
) -> Beliefs:
    """The beliefs after the outcomes of experiments, and after the signs of those at a slower pace."""
    now = dict(beliefs)
    if (slowest := slowest_of(tries, found)) is not None:
        signs = (slower or {}).get(slowest.name, Slower())
        now = dict(_whole({name: share * signs_likelihood(signs, name) for name, share in now.items()}))
    for each in tries:
        if each.name in found and not each.is_slower:
            now = dict(_whole(_weighed(now, each, found[each.name])))
    return now


def _weighed(beliefs: Beliefs, tried: Planned, found: Gains) -> dict[str, float]:
    """Each belief times the likelihood of the outcome where this cause limits."""
    if tried.halves:
        half = {is_limit: likelihood_of_half(found, is_limit=is_limit) for is_limit in (True, False)}
        return {name: share * half[name in tried.halves] for name, share in beliefs.items()}
    if tried.may_raise and not tried.relieves and found.mean < 0:
        # It takes nothing away: that it does harm says nothing.
        return dict(beliefs)
    often = {name: raised(tried, name) for name in beliefs}
    likely = {of: likelihood(found, of) for of in set(often.values())}
    return {name: share * likely[often[name]] for name, share in beliefs.items()}


def slowest_of(tries: Sequence[Planned], found: Mapping[str, Gains]) -> Planned | None:
    """The experiment of the slowest pace that was kept, whose signs say what limits; None without one."""
    kept = [each for each in tries if each.name in found and keeps_pace(each, found[each.name])]
    return min(kept, key=lambda each: each.pace or 1.0, default=None)


def keeps_pace(tried: Planned, found: Gains) -> bool:
    """True where the rate is that of the pace.

    A higher one was not held back. A lower one had another limit for a part of the time, as on a path that is slower
    then: queues fill and segments are lost there at that pace, too.
    """
    return tried.pace is not None and abs(found.mean - log(tried.pace)) <= log(RAISES_FROM) + found.error


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
    if tried.halves:
        half = [HALVED if name in tried.halves else HALVED_ELSE for name in beliefs]
        return [[half, [1 - each for each in half]]]
    up = [raised(tried, name) for name in beliefs]
    twice, down = [each * doubled_where(each) for each in up], [lowered_where(each) for each in up]
    more = [each - double for each, double in zip(up, twice, strict=True)]
    return [[more, twice, down, [max(0.0, 1 - each - less) for each, less in zip(up, down, strict=True)]]]


def _whole(shares: Mapping[str, float]) -> dict[str, float]:
    total = sum(shares.values())
    return {name: share / total for name, share in shares.items()}
