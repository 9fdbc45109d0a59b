"""The budgets of a trial: which evidence each host has, and what is made of it."""

from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

import polars as pl

from whyperf.analyze.flow import FlowEnd, FlowTrial
from whyperf.explain.budget.from_counters import (
    attached,
    coarse_budgets,
    read_queues,
    read_samples,
    running_ratio,
    sampled_spans,
)
from whyperf.explain.budget.host import HostBudgets, HostEvidence, explain_receiver, explain_sender, read_evidence
from whyperf.explain.budget.shares import SPAN_COLUMNS, sender_lifetime
from whyperf.explain.explanation import Budget, Spell, Value
from whyperf.explain.segment_log import SegmentLogs
from whyperf.explain.wording.catalog import render


@dataclass(frozen=True)
class TrialBudgets:
    """The budgets of a trial.

    `spans` has the columns `SPAN_COLUMNS`, by host, connection and time: runs of one state, which follow each other
    without gap or overlap through the life of each connection on each side that has a log. `longest` has the longest
    of them by host and state. `missing` says in sentences what evidence there is none of.
    """

    budgets: list[Budget]
    spans: pl.DataFrame
    missing: list[str]
    longest: Mapping[str, Mapping[str, tuple[Spell, ...]]] = field(default_factory=dict)


def budgets_of(trial: FlowTrial, logs: SegmentLogs) -> TrialBudgets:
    """Where the time of each connection of `trial` went, on each side.

    Args:
        trial: whose, live or simulated.
        logs: its segment logs.

    Raises:
        RecordError: a table cannot be read.
    """
    if trial.is_watched:
        return _watched(trial, logs)
    ends = {end.role: end for end in trial.ends.values()}
    with ThreadPoolExecutor(2) as readers:
        reading = {role: readers.submit(read_evidence, trial, end, getattr(logs, role)) for role, end in ends.items()}
        logged = {role: read.result() for role, read in reading.items()}
    sender, receiver = logged.get("sender"), logged.get("receiver")
    received = HostBudgets() if receiver is None else explain_receiver(receiver, _starts(sender))
    if sender is not None:
        sent = explain_sender(sender, received.peers)
    else:
        sent = HostBudgets()
        if "sender" in ends:
            samples = read_samples(trial, ends["sender"].host)
            running = running_ratio(trial, ends["sender"].host)
            sent.budgets = coarse_budgets(trial.trial, ends["sender"].host, samples, running_ratio=running)
    spans = [*sent.spans, *received.spans]
    return TrialBudgets(
        budgets=[*sent.budgets, *received.budgets],
        spans=pl.concat(spans) if spans else pl.DataFrame(schema=dict(SPAN_COLUMNS)),
        missing=_missing(ends, logged),
        longest={
            ends[role].host: found.longest for role, found in (("sender", sent), ("receiver", received)) if role in ends
        },
    )


def _watched(trial: FlowTrial, logs: SegmentLogs) -> TrialBudgets:
    """The budgets of connections of other programs, from attaching to detaching: by the log where there is one, else by
    samples. There may be one side only, and a level of evidence of its own on each.
    """
    ends = {end.role: end for end in trial.ends.values()}
    logged = {role: read_evidence(trial, end, getattr(logs, role)) for role, end in ends.items()}
    sent, received = HostBudgets(), HostBudgets()
    if (end := ends.get("receiver")) is not None:
        lives, queues = attached(trial, end), read_queues(trial, end)
        if (evidence := logged["receiver"]) is not None:
            received = explain_receiver(evidence, {}, lives, queues)
        known = {budget.connection for budget in received.budgets}
        for connection in sorted(lives.keys() - known):
            spans = sampled_spans(queues.get(connection), lives[connection])
            received.add(trial.trial, end.host, "receiver", connection=connection, spans=spans)
    if (end := ends.get("sender")) is not None:
        lives = attached(trial, end)
        if (evidence := logged["sender"]) is not None:
            sent = explain_sender(evidence, received.peers, lives)
        known = {budget.connection for budget in sent.budgets}
        samples = {number: rows for number, rows in read_samples(trial, end.host).items() if number not in known}
        sent.budgets += coarse_budgets(trial.trial, end.host, samples, lives)
    all_spans = [*sent.spans, *received.spans]
    return TrialBudgets(
        budgets=[*sent.budgets, *received.budgets],
        spans=pl.concat(all_spans) if all_spans else pl.DataFrame(schema=dict(SPAN_COLUMNS)),
        missing=_missing_of_watched(ends, logged),
        longest={
            ends[role].host: found.longest for role, found in (("sender", sent), ("receiver", received)) if role in ends
        },
    )


def _missing_of_watched(ends: Mapping[str, FlowEnd], logged: Mapping[str, HostEvidence | None]) -> list[str]:
    """The parts of the evidence of which there is none, a sentence each."""
    found = []
    for role, other in (("sender", "receiver"), ("receiver", "sender")):
        if role not in ends:
            host = ends[other].host if other in ends else ""
            found.append(render("missing", f"one_sided_{other}", {"host": host}))
            continue
        end, evidence = ends[role], logged[role]
        if evidence is None:
            found.append(render("missing", f"samples_{role}", {"host": end.host}))
        elif evidence.calls is None:
            found.append(render("missing", f"calls_{role}", {"host": end.host}))
        if end.evidence.broken_off:
            broken: dict[str, Value | None] = {"role": role, "host": end.host, "reason": end.evidence.broken_off}
            found.append(render("missing", "log_breaks_off", broken))
    return found


def _starts(sender: HostEvidence | None) -> dict[int, int]:
    """When each connection's first byte was written."""
    if sender is None:
        return {}
    lives = {number: sender_lifetime(segments, sender.calls_on(number)) for number, segments in sender.connections()}
    return {number: life[0] for number, life in lives.items() if life is not None}


def _missing(ends: Mapping[str, FlowEnd], logged: Mapping[str, HostEvidence | None]) -> list[str]:
    """A sentence for each thing missing, by role; nothing when all is there."""
    found = []
    for role in ("sender", "receiver"):
        if role not in ends:
            found.append(render("missing", "no_role", {"role": role}))
            continue
        end, evidence = ends[role], logged[role]
        if evidence is None:
            found.append(render("missing", f"budget_log_{role}", {"host": end.host}))
            continue
        if evidence.calls is None:
            found.append(render("missing", f"calls_{role}", {"host": end.host}))
        if end.evidence.broken_off:
            broken: dict[str, Value | None] = {"role": role, "host": end.host, "reason": end.evidence.broken_off}
            found.append(render("missing", "log_breaks_off", broken))
    return found
