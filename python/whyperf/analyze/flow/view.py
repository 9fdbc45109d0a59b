"""A trial as it would be with less evidence: the tables of higher levels are hidden, nothing is copied."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Literal

from whyperf.analyze.flow.trial import LEVELS, WATCHED, EndEvidence, FlowTrial

Level = Literal["user", "counters", "segments"]

TABLES: Mapping[Level, tuple[str, ...]] = {
    "user": (),
    "counters": ("counters", "sizes", "softirqs"),
    "segments": ("segments", "calls"),
}
"""Tables that a level adds to those below it (docs/background/evidence.md)."""


def at_levels(trial: FlowTrial, levels: Mapping[str, Level]) -> FlowTrial:
    """The trial with at most these levels of evidence, by role; a role that is not named keeps what it has."""
    hidden = set(trial.hidden)
    ends = dict(trial.ends)
    for host, end in trial.ends.items():
        if (level := levels.get(end.role)) is None:
            continue
        above = LEVELS[LEVELS.index(level) + 1 :]
        hidden |= {(table, host) for name, tables in TABLES.items() if name in above for table in tables}
        ends[host] = replace(end, evidence=_at_most(end.evidence, level))
    return replace(trial, ends=ends, hidden=frozenset(hidden))


OWN_LOAD_TABLES = ("transactions", "latencies", "datagrams")
"""Tables in which the own load counts what it does; of another program nobody does."""


def as_watched(trial: FlowTrial, role: str | None = None) -> FlowTrial:
    """The trial as if its payload were another program's and only one role's host had been watched; both without a
    role."""
    ends = {host: end for host, end in trial.ends.items() if role in {None, end.role}}
    hidden = trial.hidden | {(table, host) for host in trial.ends for table in OWN_LOAD_TABLES}
    return replace(trial, ends=ends, hidden=frozenset(hidden), origin=WATCHED)


def _at_most(evidence: EndEvidence, level: Level) -> EndEvidence:
    """The report that the host would have made with this level."""
    if LEVELS.index(evidence.got) <= LEVELS.index(level):
        return evidence
    if level == "user":
        return EndEvidence()
    return EndEvidence(asked=level, got=level, missing=evidence.missing, missed_runs_count=evidence.missed_runs_count)
