"""The question of `whyperf why` to a result: of which cell, by which experiments, in trials of which length."""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from math import ceil

from whyperf.analyze import read_inputs, summarize
from whyperf.analyze.measures.goodput import counted_rows
from whyperf.analyze.read.inputs import Inputs
from whyperf.analyze.summary import CellResult, Summary
from whyperf.analyze.text import count
from whyperf.cli.exits import UsageError
from whyperf.cli.output.explanation import explained
from whyperf.cli.workflows.made_elsewhere import refuse_other_files, refuse_own_command, refuse_variables
from whyperf.explain.experiments.changing import FirstRate
from whyperf.explain.experiments.goals import (
    RATE,
    First,
    Goal,
    Obstacle,
    refuse_other_host,
    refuse_other_path,
    refuse_untriable,
    refuse_unwritable,
)
from whyperf.explain.experiments.ladder import MIN_PAIRS
from whyperf.explain.experiments.load_settings import excluded
from whyperf.explain.experiments.question import BLOCKS, Arrival, Lengths, lengths_of, question_of
from whyperf.explain.experiments.tries import Planned, is_foreign, making, planned, spared
from whyperf.explain.explanation import CellExplanation, Verdict
from whyperf.explain.setup import Setup
from whyperf.plan import Cell, Plan
from whyperf.profile import Profile, parse
from whyperf.record import Experiment
from whyperf.run import Kind, allowed_kind, describe_host

MUCH_LONGER = 1.5
"""Trials that do not have the rate of the first look are made anew where it is so many times as long: what they have
counts as much as what the same seconds could add."""
LOSING_FROM = 2
"""Segments sent again, from which on losses shape the rate: a single one may be a probe."""

UNKNOWN_HOST = {"hostname": "a host that it does not name", "cpu_model": "unknown CPU"}
"""The near host of a result that has no facts of it: no host is the same one."""


@dataclass(frozen=True)
class Question:
    """The question to be answered: of which cell, by which experiments, in how many seconds."""

    experiment: Experiment
    cell: CellExplanation
    tries: Sequence[Planned]
    excluded: Collection[str]
    profile: Profile
    plan: Plan
    budget_s: float
    goal: Goal
    first: First
    #: The number of times that a change has to raise the rate before it is proved.
    pairs: int = MIN_PAIRS
    #: The same with trials as long as the first look, in so many seconds; None where they are.
    longer: "Callable[[float], Question] | None" = None
    #: True where the user named the change: it is tried however little that can show.
    is_named: bool = False
    #: Names of experiments that are left out because others may use the path.
    spared: Sequence[str] = ()


def connections_of(plan: Plan, cell: Cell) -> int:
    """The number of connections that a trial of the cell opens."""
    if cell.schedule is not None:
        return sum(flow.connections for flow in cell.schedule)
    workload = plan.workload(cell.id)
    users = None if workload is None else workload.strands_count
    return int(cell.factors.get("connections", 1)) if users is None else users


@dataclass(frozen=True)
class FirstLook:
    """Evidence of the explained trial on the goal, and on how short others may be: its cell's result, and when
    what arrived.
    """

    result: CellResult | None
    moved: Sequence[Arrival]
    goal: Goal
    first: First

    def lengths(self, plan: Plan, cell: Cell, *, is_whole: bool = False) -> Lengths | None:
        """Lengths of the trials of the experiments, at least as the goal needs; None where the load ends by itself.

        They are as long as the first look where they are to be `is_whole`, else as short as it allows.
        """
        if "duration_s" not in cell.factors:
            return None
        first, result = Lengths(float(cell.factors["warmup_s"]), float(cell.factors["duration_s"])), self.result
        if is_whole:
            return self._enough(first)
        round_trip_s = 0.0 if result is None or result.rtt is None else result.rtt.rtt_ns / 1e9
        connections = connections_of(plan, cell)
        return self._enough(lengths_of(self.moved, first, round_trip_s, connections=connections, loses=self.loses))

    def _enough(self, lengths: Lengths) -> Lengths:
        return replace(lengths, duration_s=max(lengths.duration_s, ceil(10 * self.first.least_s) / 10))

    @property
    def loses(self) -> bool:
        """True where segments were lost."""
        lost = None if self.result is None else self.result.retransmitted_segments.median
        return (lost or 0) >= LOSING_FROM

    @property
    def announced_bytes(self) -> float | None:
        """The largest window that was announced; None where it is not known."""
        announced = None if self.result is None else self.result.window.announced_bytes
        return None if announced is None else announced.max


def first_look(
    experiment: Experiment, summary: Summary, inputs: Inputs, found: CellExplanation, goal: Goal = RATE
) -> FirstLook:
    """That of the explained trial of a cell.

    Raises:
        Obstacle: its load has no such goal.
    """
    rows = counted_rows(inputs, found.trial)
    begin_ns = min((begin_ns for begin_ns, _, _ in rows), default=0)
    moved = [Arrival((start - begin_ns) / 1e9, (end - begin_ns) / 1e9, octets) for start, end, octets in rows]
    result = next((of for of in summary.cells if of.id == found.cell), None)
    return FirstLook(result, moved, goal, goal.first(experiment.plan, inputs, found))


def asked(
    experiment: Experiment,
    cell: str | None,
    budget_s: float,
    *,
    allows_harm: bool,
    trial: str | None = None,
    verdict: int | None = None,
    pairs: int = MIN_PAIRS,
    goal: Goal = RATE,
) -> Question:
    """The question about a cell of a result, or about its only one, as a `trial` shows it.

    Raises:
        UsageError: its load cannot be made again here, and why.
    """
    plan = experiment.plan
    if plan.watched is not None:
        raise UsageError(str(Obstacle("watched")))
    if len(plan.pairs) > 1:
        raise UsageError(
            f"{experiment.name} has {len(plan.pairs)} pairs of hosts; measure one pair alone to try changes"
        )
    refuse_own_command(experiment)
    found = explained(experiment, trial, cell)
    if len(found.cells) != 1:
        raise UsageError(
            f"{experiment.name} has {len(found.cells)} cells; name one to try, such as --cell {plan.cells[0].id}"
        )
    (explanation,) = found.cells
    if explanation.trial is None:
        raise UsageError(
            f"{experiment.name} has no complete trial of {explanation.cell}, so there is nothing to explain"
        )
    try:
        look = first_look(experiment, summarize(experiment), read_inputs(experiment), explanation, goal)
        return question_about(
            experiment, explanation, look, budget_s, allows_harm=allows_harm, verdict=verdict, pairs=pairs
        )
    except Obstacle as obstacle:
        raise UsageError(str(obstacle)) from None


def question_about(
    experiment: Experiment,
    found: CellExplanation,
    look: FirstLook,
    budget_s: float,
    *,
    allows_harm: bool,
    profile: Profile | None = None,
    is_whole: bool = False,
    verdict: int | None = None,
    pairs: int = MIN_PAIRS,
) -> Question:
    """The same of a cell that is explained; `profile` is what the result was asked with, where it keeps none.

    Trials are as long as the first look where they are to be `is_whole`. Of a `verdict`, by its number from 1, only the
    change is tried.

    Raises:
        Obstacle: its load cannot be made again here, or no plan can make the change.
        UsageError: there is no such verdict.
    """
    plan = experiment.plan
    refuse_unwritable(experiment.folder)
    if plan.testbed.kind == "veth":
        kind, reason = allowed_kind(None)
        if kind is not Kind.VETH:
            raise Obstacle("no_testbed", problem=reason)
    refuse_other_host(plan, experiment.hosts().get("near") or UNKNOWN_HOST, describe_host(None))
    if profile is None:
        profile = parse(experiment.profile_text, name=plan.profile, where=str(experiment.folder))
    cell = plan.cell(found.cell)
    setup = Setup(
        cell.factors,
        plan.testbed.kind,
        hosts=experiment.hosts(),
        workloads=profile.workloads,
        schedules=profile.schedules,
    )
    seen = FirstRate(
        found.rate_bps,
        look.loses,
        look.announced_bytes,
        is_turned=found.is_turned,
        is_foreign=is_foreign(plan),
        allows_harm=allows_harm,
    )
    tries, out = planned(setup, seen, look.goal.kind), excluded(setup)
    left_out = spared(setup, seen, look.goal.kind)
    if verdict is not None:
        chosen = _verdict(found, verdict)
        refuse_untriable(chosen, verdict, found.verdicts)
        refuse_other_path(chosen, plan)
        tries, out, left_out = making(tries, chosen), out - {chosen.cause}, []
    # A plan has no more blocks.
    pairs = min(max(pairs, MIN_PAIRS, look.goal.least_pairs), BLOCKS)
    lengths = look.lengths(plan, cell, is_whole=is_whole)
    if lengths is not None and not is_whole:
        # A proof takes as many of the original.
        look.goal.refuse_short(look.first, 2 * pairs * lengths.total_s, budget_s)
    question, ladder_plan = question_of(profile, plan, cell, tries, lengths)
    refuse_other_files(experiment, ladder_plan)
    refuse_variables(experiment, ladder_plan)

    def longer(budget_s: float) -> Question:
        return question_about(
            experiment,
            found,
            look,
            budget_s,
            allows_harm=allows_harm,
            profile=profile,
            is_whole=True,
            verdict=verdict,
            pairs=pairs,
        )

    whole = look.lengths(plan, cell, is_whole=True)
    is_shortened = lengths is not None and whole is not None and whole.total_s >= MUCH_LONGER * lengths.total_s
    return Question(
        experiment,
        found,
        tries,
        out,
        question,
        ladder_plan,
        budget_s,
        goal=look.goal,
        first=look.first,
        pairs=pairs,
        longer=longer if is_shortened else None,
        is_named=verdict is not None,
        spared=left_out,
    )


def _verdict(found: CellExplanation, number: int) -> Verdict:
    if number > len(found.verdicts):
        raise UsageError(f"--verdict {number}: cell {found.cell} has {count(len(found.verdicts), 'verdict')}")
    return found.verdicts[number - 1]
