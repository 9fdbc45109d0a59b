"""Asks the limits of each population of connections by itself, and says of how many connections a limit is true."""

from collections.abc import Callable, Sequence
from dataclasses import replace

from whyperf.explain.causes import Cause
from whyperf.explain.limits.limit import Limit
from whyperf.explain.trial_facts import Facts, Population

Ask = Callable[[Facts], Sequence[Limit]]

GLOBAL = frozenset({Cause.BOTTLENECK, Cause.ASKED_RATE})
"""Causes of all connections together, in whichever of them they show."""


def of_populations(facts: Facts, ask: Ask) -> list[Limit]:
    """The limits of each population of connections by itself.

    A limit that all of them share is that of all connections. One of a part counts for that part of the connections,
    and for what a full path leaves: on a full path other connections only share what there is.
    """
    whole = list(ask(facts))
    if not facts.populations:
        return whole
    parts = [(population, list(ask(_of(facts, population)))) for population in facts.populations]
    codes = [{limit.code for limit in found} for _, found in parts]
    shared = set.intersection(*codes)
    kept = [limit for limit in whole if limit.code in shared]
    kept += [limit for limit in whole if limit.cause in GLOBAL and limit not in kept]
    known = {limit.code for limit in kept}
    for _, found in parts:
        for limit in found:
            if limit.cause in GLOBAL and limit.code not in known:
                kept.append(limit)
                known.add(limit.code)
    left = 1 - max((_use(limit) for limit in kept if limit.cause is Cause.BOTTLENECK), default=0.0)
    for population, found in parts:
        kept += [_part(limit, population, left) for limit in found if limit.code not in known]
    return kept


def _of(facts: Facts, population: Population) -> Facts:
    sender = replace(facts.sender, shares=population.shares)
    return replace(facts, sender=sender, windows=population.windows, populations=())


def _use(limit: Limit) -> float:
    use = limit.values.get("use_ratio")
    return float(use) if isinstance(use, int | float) else 1.0


def _part(limit: Limit, population: Population, left: float) -> Limit:
    """A limit about some of the connections; how much all together would gain is not predicted."""
    values = {
        "lost_ratio": limit.share,
        **limit.values,
        "part_count": population.connections,
        "whole_count": population.of,
    }
    share = limit.share * population.connections / population.of * left
    return replace(limit, share=share, gain=None, values=values)
