"""The signs of a slower pace next to the rate: whether losses end, and whether the path's queue empties.

Losses of a full queue or of a policer end where the sender stays below what it carries; those of a bad cable stay.
What stands in a queue leaves it, unless others fill it. That separates causes that no remedy takes away.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import mean

from whyperf.explain.causes import Cause


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
