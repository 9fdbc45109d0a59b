"""Judges each population of connections by itself, and says of how many connections a finding is true."""

from collections.abc import Callable, Sequence
from dataclasses import replace

from whyperf.explain.causes import Cause
from whyperf.explain.rules.finding import Finding
from whyperf.explain.trial_facts import Facts, Population

Ask = Callable[[Facts], Sequence[Finding]]

GLOBAL = frozenset({Cause.BOTTLENECK, Cause.ASKED_RATE})
"""Causes of all connections together, in whichever of them they show."""


def of_populations(facts: Facts, ask: Ask) -> list[Finding]:
    """Findings of the rules, for each population of connections by itself.

    A finding that all of them share is that of all connections. One of a part counts for that part of the connections,
    and for what a full path leaves: on a full path other connections only share what there is.
    """
    whole = list(ask(facts))
    if not facts.populations:
        return whole
    parts = [(population, list(ask(_of(facts, population)))) for population in facts.populations]
    codes = [{finding.code for finding in found} for _, found in parts]
    shared = set.intersection(*codes)
    kept = [finding for finding in whole if finding.code in shared]
    kept += [finding for finding in whole if finding.cause in GLOBAL and finding not in kept]
    known = {finding.code for finding in kept}
    for _, found in parts:
        for finding in found:
            if finding.cause in GLOBAL and finding.code not in known:
                kept.append(finding)
                known.add(finding.code)
    left = 1 - max((_use(finding) for finding in kept if finding.cause is Cause.BOTTLENECK), default=0.0)
    for population, found in parts:
        kept += [_part(finding, population, left) for finding in found if finding.code not in known]
    return kept


def _of(facts: Facts, population: Population) -> Facts:
    sender = replace(facts.sender, shares=population.shares)
    return replace(facts, sender=sender, windows=population.windows, populations=())


def _use(finding: Finding) -> float:
    use = finding.values.get("use_ratio")
    return float(use) if isinstance(use, int | float) else 1.0


def _part(finding: Finding, population: Population, left: float) -> Finding:
    """A finding about some of the connections; how much all together would gain is not predicted."""
    values = {
        "lost_ratio": finding.lost,
        **finding.values,
        "part_count": population.connections,
        "whole_count": population.of,
    }
    lost = finding.lost * population.connections / population.of * left
    return replace(finding, lost=lost, gain=None, values=values)
