"""Explains an experiment: each cell by its trial with the most evidence."""

import shlex
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from typing import Any, Literal, NamedTuple

from whyperf.analyze import Summary, summarize
from whyperf.analyze.cost.result import CellCost
from whyperf.analyze.fleet.inputs import label
from whyperf.analyze.fleet.result import Fleet
from whyperf.analyze.flow import FlowTrial, as_watched, at_levels, open_trial
from whyperf.analyze.flow.trial import of_pair
from whyperf.analyze.flow.view import Level
from whyperf.analyze.stages import TrialStages
from whyperf.explain.anomalies import anomalies_of
from whyperf.explain.budget import budgets_of
from whyperf.explain.causes import COUNTING_SEGMENTS, Cause
from whyperf.explain.changes.own_load import change_for
from whyperf.explain.explanation import Budget, CellExplanation, Change, Explanation, FleetDiagnosis, Verdict
from whyperf.explain.fleet import explain_fleet
from whyperf.explain.gather import (
    by_payload,
    carrying_device,
    costs_of,
    gather_facts,
    stages_of,
    stated_link_bps,
    with_costs,
    with_link_use,
    with_program,
    with_stages,
)
from whyperf.explain.headline import as_printed, cell_headline, experiment_headline, joint_as_printed
from whyperf.explain.limits.judge import judged
from whyperf.explain.limits.limit import Limit
from whyperf.explain.log_trials import best_trials, long_logs, not_read
from whyperf.explain.measured_cells import MeasuredCells
from whyperf.explain.parallel import compared_with_alternating
from whyperf.explain.pattern import patterns_of
from whyperf.explain.segment_log import read_logs
from whyperf.explain.setup import Setup
from whyperf.explain.states import SenderState
from whyperf.explain.trial_facts import Facts
from whyperf.explain.wording.catalog import render, uncapitalized
from whyperf.plan import LOG_PREFIX
from whyperf.profile import ProfileError, Schedule, Workload, parse
from whyperf.record import Experiment, RecordError

NO_LOG: Mapping[str, Level] = {"sender": "counters", "receiver": "counters"}
"""The evidence of a trial whose log is too long to be read."""
MAX_PATTERNS = 16
"""Connections whose segments are described; of many connections, all are alike."""


def explain_experiment(
    experiment: Experiment,
    *,
    cells: Collection[str] | None = None,
    rates: Mapping[str, float | None] | None = None,
    transactions: Mapping[str, float | None] | None = None,
    summary: Summary | None = None,
    by_plan: bool = True,
    max_logged: int | None = None,
    fleets: Mapping[str, Fleet] | None = None,
    explain_each: "ExplainEach | None" = None,
) -> Explanation:
    """Why the cells of an experiment are as fast as they are.

    Args:
        experiment: finished or not.
        cells: identifiers of those wanted; all when absent.
        rates: median goodput of each cell in bit/s, of the trials without a log; without, a trial's own rate is used.
        transactions: median per second of each cell whose metric they are, where there are such cells.
        summary: its result, in which points of sweeps may stand out; without, none is looked for.
        by_plan: whether what the plan adds to a trial shows more of a gain: another cell that is this one with the
            change, and the rate of the emulated path.
        max_logged: segments of a log that is read; of a cell with a longer one a trial without a log is.
        fleets: results of cells that many hosts measured at the same time, where the plan is one of a fleet; without,
            they are taken from `summary`, or computed.
        explain_each: explains the trials, such as on other hosts (`on_workers.py`); without, they are explained here.

    Raises:
        RecordError: the record cannot be read at all; a trial that cannot is reported in its cell.
    """
    trials = experiment.trials()
    costs, missing = costs_of(experiment, trials, cells)
    staged, unread = stages_of(experiment, trials, cells)
    missing += unread
    long = {} if max_logged is None else long_logs(experiment, trials.manifests, max_logged)
    best = best_trials({name: found for name, found in trials.manifests.items() if name not in long})
    # A watched connection has no other trial; without its log it still has the rest.
    without_log = {found.cell: name for name, found in long.items() if found.is_watched}
    wanted = [cell for cell in experiment.plan.cells if cells is None or cell.id in cells]
    one_machine = None if experiment.plan.watched is not None else _on_one_machine(experiment)
    are_known = rates is not None
    rates, measured = rates or {}, _measured_cells(experiment, rates or {}, by_plan=by_plan)

    def question_of(cell: str, pair: int | None = None, rate: float | None = None) -> TrialQuestion:
        return TrialQuestion(
            cell,
            best.get(cell) or without_log.get(cell),
            rate=rate,
            levels=NO_LOG if cell in without_log else None,
            one_machine=one_machine if pair is None else None,
            measured=measured if pair is None else None,
            by_plan=by_plan,
            cost=costs.get(cell) if pair is None else None,
            stages=staged.get(cell) if pair is None else None,
            pair=pair,
        )

    def of_pair_of(cell: str, pair: int | None, rate: float | None) -> CellExplanation:
        return question_of(cell, pair, rate).answer(experiment)

    diagnoses: list[FleetDiagnosis] = []
    of_fleet = {} if experiment.plan.fleet is None else fleets or _fleets(experiment, summary)
    alone = [cell.id for cell in wanted if cell.id not in of_fleet or best.get(cell.id) is None]
    asked = [question_of(cell, rate=rates.get(cell)) for cell in alone]
    answers = dict(zip(alone, (explain_each or explain_here)(experiment, asked), strict=True))
    explained = []
    for cell in wanted:
        if cell.id in answers:
            explained.append(answers[cell.id])
            continue
        whole, diagnosis = explain_fleet(
            cell.id, of_fleet[cell.id], partial(of_pair_of, cell.id), _machines(experiment)
        )
        rate = rates.get(cell.id)
        explained.append(whole if rate is None else whole.model_copy(update={"rate_bps": rate}))
        diagnoses.append(diagnosis)
    explained = compared_with_alternating(explained, experiment.plan)
    if are_known:
        explained = [with_whose_rate(found, rates.get(found.cell)) for found in explained]
    if transactions:
        explained = [
            found.model_copy(update={"transactions_per_s": transactions.get(found.cell)}) for found in explained
        ]
    missing += [render("missing", "damaged", {"trial": lost.trial, "reason": lost.reason}) for lost in trials.damaged]
    missing += [not_read(log, experiment) for log in long.values()]
    return Explanation(
        experiment=experiment.name,
        cells=explained,
        anomalies=[] if summary is None else anomalies_of(summary, explained),
        missing=missing,
        headline=experiment_headline(explained, "setting" if experiment.plan.watched is None else "connection"),
        fleet=diagnoses,
    )


def _fleets(experiment: Experiment, summary: Summary | None) -> dict[str, Fleet]:
    """The results of the cells of a fleet."""
    return (summary or summarize(experiment)).fleets()


@dataclass(frozen=True)
class TrialQuestion:
    """The question about a trial.

    Attributes:
        cell: whose trial.
        trial: its name; None where the cell has none.
        rate: the cell's goodput, where it was measured.
        levels: bounds of the evidence by role: what is above is treated as if it had not been recorded.
        watched: the trial is explained as a connection of another program, of which these sides were watched.
        one_machine: whether both sides run on the same machine; None: the record says.
        measured: the experiment's cells that may have been measured with a verdict's change.
        by_plan: whether the rate of the emulated path bounds predicted gains.
        cost: that of the cell, where its trials have stack samples.
        stages: what its trials with stage times show.
        pair: one of a fleet's, from 0: then only its two hosts are looked at.
    """

    cell: str
    trial: str | None
    rate: float | None = None
    levels: Mapping[str, Level] | None = None
    watched: Literal["", "sender", "receiver", "both"] = ""
    one_machine: bool | None = None
    measured: MeasuredCells | None = None
    by_plan: bool = True
    cost: CellCost | None = None
    stages: TrialStages | None = None
    pair: int | None = None

    def answer(self, experiment: Experiment) -> CellExplanation:
        """The explanation, from an experiment that has the trial."""
        if self.trial is None:
            return _unexplained(self, render("missing", "no_trial", {}))
        if not (experiment.folder / "trials" / self.trial).exists():
            return _unexplained(self, render("missing", "no_folder", {}))
        try:
            return _explained(experiment, self)
        except RecordError as error:
            return _unexplained(self, render("missing", "unreadable", {"trial": self.trial, "reason": str(error)}))


ExplainEach = Callable[[Experiment, Sequence[TrialQuestion]], Iterable[CellExplanation]]
"""Answers all questions, in their order."""


def explain_here(experiment: Experiment, questions: Sequence[TrialQuestion]) -> Iterator[CellExplanation]:
    """The explanations, one after the other."""
    return (question.answer(experiment) for question in questions)


def _measured_cells(
    experiment: Experiment, rates: Mapping[str, float | None], *, by_plan: bool
) -> MeasuredCells | None:
    """The cells that may show what a change brings. Connections of other programs show nothing of each other."""
    if not by_plan or experiment.plan.watched is not None:
        return None
    return MeasuredCells(experiment.plan.cells, rates)


def with_whose_rate(cell: CellExplanation, rate: float | None) -> CellExplanation:
    """Says so where the only known rate is one that the log has slowed down."""
    if rate is not None or cell.rate_bps is None or not (cell.trial or "").startswith(LOG_PREFIX):
        return cell
    why = render("missing", "only_logged_rate", {"trial": cell.trial})
    return cell.model_copy(update={"missing": [*cell.missing, why]})


class Gathered(NamedTuple):
    """The evidence of a trial, before anything is said of it."""

    facts: Facts
    setup: Setup
    budgets: Sequence[Budget]


def gathered(experiment: Experiment, question: TrialQuestion) -> Gathered:
    """Gathers what the asked trial shows.

    Raises:
        RecordError: it cannot be read.
    """
    trial = _opened(experiment, question)
    cell, pair = question.cell, trial.pair
    logs = read_logs(trial)
    budgets = budgets_of(trial, logs)
    one_machine = question.one_machine
    same = _on_one_machine(experiment, cell, pair) if one_machine is None else one_machine
    connections = sorted({budget.connection for budget in budgets.budgets})[:MAX_PATTERNS]
    # Neither needs the other, and both spend their time in loops over columns that let other threads run.
    with ThreadPoolExecutor(1) as next_to_facts:
        finding_patterns = next_to_facts.submit(patterns_of, trial, logs, connections)
        facts = gather_facts(trial, logs, budgets, one_machine=same)
        patterns = finding_patterns.result()
    setup = replace(_setup(experiment, cell, trial), knows_path_rate=question.by_plan)
    link = stated_link_bps(trial, setup.hosts, setup.factors)
    if link is not None:
        link *= facts.sender.limits.adapters_count
    facts = replace(facts, patterns=tuple(patterns), goodput_bps=question.rate, link_bps=link)
    facts = with_link_use(facts, trial, setup.hosts, setup.factors)
    facts = with_stages(with_costs(facts, question.cost), question.stages)
    if facts.is_watched:
        facts = with_program(facts, experiment, trial)
    return Gathered(facts, setup, budgets.budgets)


_NAMES_WHAT_IT_FOUND = frozenset({Cause.CPU_QUOTA, Cause.LOCAL_QUEUE})
"""Causes whose change names a group of processes or a device, which only their limit knows."""


def change_of(experiment: Experiment, found: CellExplanation, cause: Cause) -> Change | None:
    """The change that undoes a cause of a cell, where an experiment shows it and no limit does; None without one.

    Raises:
        RecordError: the trial cannot be read.
    """
    if found.trial is None or cause in _NAMES_WHAT_IT_FOUND:
        return None
    trial = gathered(experiment, TrialQuestion(found.cell, found.trial))
    return change_for(Limit(cause, 0.0), trial.facts, trial.setup)


def _opened(experiment: Experiment, question: TrialQuestion) -> FlowTrial:
    opened = open_trial(experiment.folder / "trials" / str(question.trial))
    of_both = opened if question.pair is None else of_pair(opened, question.pair)
    read = at_levels(by_payload(of_both), question.levels or {})
    return as_watched(read, None if question.watched == "both" else question.watched) if question.watched else read


def _explained(experiment: Experiment, question: TrialQuestion) -> CellExplanation:
    facts, setup, budgets = gathered(experiment, question)
    faults: list[str] = []
    verdicts, joint, probabilities = judged(facts, setup, on_fault=faults.append)
    if question.measured is not None:
        verdicts = [question.measured.gain_in(question.cell, verdict) for verdict in verdicts]
    verdicts = [as_printed(verdict, facts.level, is_watched=facts.is_watched) for verdict in verdicts]
    depends = any(verdict.cause in COUNTING_SEGMENTS for verdict in verdicts)
    shares = facts.sender.shares
    return CellExplanation(
        cell=question.cell,
        trial=facts.trial,
        rate_bps=facts.rate_bps if question.rate is None else question.rate,
        dominant_state=max(shares, key=lambda state: shares[state]) if shares else None,
        missing=[*facts.missing, *(facts.gaps if depends else ()), *faults],
        gaps=[] if depends else list(facts.gaps),
        budgets=list(budgets),
        patterns=list(facts.patterns),
        verdicts=verdicts,
        probabilities=probabilities,
        joint=joint_as_printed(joint),
        headline=" ".join((cell_headline(verdicts, facts.level, facts.transport), *faults)),
        is_turned=facts.is_turned,
    )


def _setup(experiment: Experiment, cell: str, trial: FlowTrial) -> Setup:
    hosts = _facts_of(experiment, trial.pair)
    hosts = {host: facts for host, facts in hosts.items() if not trial.is_watched or host in trial.ends}
    workloads, schedules = _own_parts(experiment.profile_text, experiment.plan.profile)
    watched = experiment.plan.watched
    return Setup(
        factors=next((planned.factors for planned in experiment.plan.cells if planned.id == cell), {}),
        testbed=experiment.plan.testbed.kind,
        hosts=hosts,
        devices={host: carrying_device(trial, host, facts) for host, facts in hosts.items()},
        workloads=workloads,
        schedules=schedules,
        # What somebody else's result names as a command may be anything.
        command=started_command(watched.command) if watched is not None and experiment.is_made_here else "",
    )


def _facts_of(experiment: Experiment, pair: int | None) -> dict[str, dict[str, Any]]:
    """The record's facts of each host; of a pair those of its two, as `near` and `far`."""
    hosts = experiment.hosts()
    if pair is None:
        return hosts
    return {side: hosts[label(side, pair)] for side in ("near", "far") if label(side, pair) in hosts}


def started_command(line: str) -> str:
    """The command of a watch after `--`, as for a shell; "" where that is nothing, or no text of one line."""
    try:
        arguments = shlex.split(line)
    except ValueError:
        return ""
    command = shlex.join(arguments[arguments.index("--") + 1 :]) if "--" in arguments else ""
    return command if command.isprintable() else ""


@lru_cache(maxsize=8)
def _own_parts(text: str, name: str) -> tuple[Mapping[str, Workload], Mapping[str, Schedule]]:
    """Workloads and schedules of the profile's own; none where it cannot be read any more."""
    try:
        profile = parse(text, name=name, where=name)
    except ProfileError:
        return {}, {}
    return profile.workloads, profile.schedules


def _unexplained(question: TrialQuestion, reason: str) -> CellExplanation:
    verdict = Verdict(
        cause=Cause.NOT_KNOWN,
        code="not_known.no_trial",
        values={"reason": reason},
        claim=render("claim", "not_known.no_trial", {"reason": uncapitalized(reason)}),
        confidence="low",
        evidence=[],
        refuted_by="",
    )
    return CellExplanation(
        cell=question.cell,
        trial=question.trial,
        rate_bps=question.rate,
        dominant_state=SenderState.UNKNOWN.value,
        missing=[reason],
        budgets=[],
        patterns=[],
        verdicts=[verdict],
        headline=verdict.claim,
    )


def _machines(experiment: Experiment) -> dict[str, str]:
    """The machine of each host of a fleet, by the host's name: several names may be of one machine."""
    found: dict[str, tuple[str, str]] = {}
    for number, pair in enumerate(experiment.plan.pairs):
        for end, facts in _facts_of(experiment, number).items():
            if (machine := _machine(facts)) is not None:
                found[pair.near if end.startswith("near") else pair.far] = machine
    boots: defaultdict[str, set[str]] = defaultdict(set)
    for name, boot in found.values():
        boots[name].add(boot)
    # Two machines may have one name.
    return {host: name if len(boots[name]) == 1 else f"{name} ({host})" for host, (name, _) in found.items()}


def _machine(facts: Mapping[str, Any]) -> tuple[str, str] | None:
    """The name and the boot of the machine that a host is; None where the record has no name."""
    name = facts.get("hostname")
    return (name, str(facts.get("boot_id") or "")) if isinstance(name, str) else None


def _on_one_machine(experiment: Experiment, cell: str = "", pair: int | None = None) -> bool:
    """True if both sides run on one machine: the testbed, the loopback, or hosts of one name. Of watched connections
    each is asked about by itself, because some may be on one machine and others not.
    """
    if experiment.plan.watched is not None:
        return any(
            planned.watched.on_one_host for planned in experiment.plan.cells if planned.id == cell and planned.watched
        )
    machines = {_machine(facts) for facts in _facts_of(experiment, pair).values()}
    return len(machines) == 1 and None not in machines
