"""`whyperf why`: experiments with a load until it is known what limits it, or the time is over."""

import sys
import time
from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from statistics import median
from typing import Literal

import typer

from whyperf.analyze.text import count
from whyperf.cli.durations import duration
from whyperf.cli.exits import INTERRUPTED, UsageError, say
from whyperf.cli.live import interrupts
from whyperf.cli.live.why import WhyLine
from whyperf.cli.output.why import print_why
from whyperf.cli.workflows.made_elsewhere import HERE, contacts_of
from whyperf.cli.workflows.signs import Signs
from whyperf.cli.workflows.trials import SpeedsByTrial
from whyperf.cli.workflows.why_question import Question, asked, connections_of
from whyperf.explain.causes import Cause
from whyperf.explain.experiment import change_of
from whyperf.explain.experiments.answer import Answer, Why, answer_of, probabilities_of, tried_of
from whyperf.explain.experiments.beliefs import prior_of
from whyperf.explain.experiments.goals import RATE, Goal
from whyperf.explain.experiments.kept import folder_of, keep
from whyperf.explain.experiments.ladder import MIN_PAIRS, ORIGINAL, Ladder, Rates
from whyperf.explain.experiments.tries import chosen
from whyperf.foreign import visible
from whyperf.plan import Plan, PlannedTrial, announcements, trial_seconds
from whyperf.record import Experiment
from whyperf.run import Kind, Observer, RunError, Session, Target, keep_places, run_plan

Ended = Literal["certain", "nothing_to_learn", "budget", "stopped", "failed", "void"]
MAX_CHANGE = 2
"""The load is another one where its rate is so many times the recorded one, or so small a part of it. Guests of a host
that share its CPUs change a rate by less."""
SHORT_CHANGE = 1.3
"""A short trial that differs by more has not settled: trials of a stream on a quiet host differ by 10 %."""
VOID_BLOCKS = 2
"""Without a rate of the original in so many blocks, nothing can be compared with it."""
Measuring = Callable[[Experiment, Observer, Callable[[PlannedTrial], bool]], None]
"""Makes the trials of a plan that are wanted."""


def target_of(plan: Plan) -> Target | None:
    """The target on which a plan is measured; None on the model."""
    if plan.testbed.kind == "model":
        return None
    kind = Kind(plan.testbed.kind)
    return Target(kind, plan.target if kind is Kind.NETWORK else None, near=plan.near, fleet=plan.fleet)


def find_why(question: Question, *, as_json: bool, may_contact: bool, measuring: Measuring | None = None) -> Why:
    """Makes experiments until it is known what limits the load, nothing more can be learned, or the time is over.

    What was found so far is returned where the user stops it, and where a host is lost.

    Raises:
        UsageError: somebody would have to be asked, and there is no terminal.
        typer.Abort: the load may not be made.
        RunError: nothing could be tried.
    """
    target = target_of(question.plan)
    if target is not None and not may_contact:
        ask_before(question, target)
    for sentence in announcements(question.plan):
        say(sentence)
    earlier = (0, 0.0)
    while True:
        running = _climbed(question, measuring or _measuring(target), earlier, is_quiet=as_json)
        if question.longer is None or not running.is_too_short:
            return running.found
        say("Short trials do not have the rate of the first look: the experiments go on in trials that are as long")
        earlier = (running.trials, running.elapsed_s)
        question = question.longer(question.budget_s - running.elapsed_s)


def ask_before(question: Question, target: Target) -> None:
    """Asks before the load of a result made elsewhere is made: its plan decides how much it is, and of whom.

    Raises:
        UsageError: there is no terminal.
        typer.Abort: the answer is no.
    """
    if question.experiment.is_made_here:
        return
    plan, asked = question.plan, question.experiment.plan
    does = contacts_of(target) or f"puts load on {HERE}"
    most = count(max(connections_of(plan, cell) for cell in plan.cells), "connection")
    # The first trial is made whatever time there is, and may be as long as the first look.
    lasts = duration(max(question.budget_s, trial_seconds(asked, asked.cell(question.cell.cell))))
    origin = f"{question.experiment.folder} was not made here, or was changed since"
    what = visible(f"{origin}; trying changes {does}, with up to {most} for about {lasts}")
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        raise UsageError(f"{what}; give --yes if it may")
    typer.confirm(f"{what}. Go on?", abort=True, err=True)


def _climbed(question: Question, measuring: Measuring, earlier: tuple[int, float], *, is_quiet: bool) -> "_Running":
    """The experiments, made and kept; `earlier` are trials and seconds of those that were too short."""
    experiment, plan = question.experiment, question.plan
    folder = folder_of(experiment, plan)
    with interrupts.handled(held=True) as stops, Experiment.create(folder, plan, question.profile.text) as made:
        running = _Running(question, made, WhyLine(question.goal.name, is_quiet=is_quiet), earlier)
        try:
            stops.release()
            with running.line:
                measuring(made, running, running.wants)
        except KeyboardInterrupt:
            running.ended = "stopped"
        except RunError as error:
            if not running.ladder.gains:
                made.discard_if_empty()
                raise
            say(f"whyperf: {error}")
            running.ended = "failed"
        except BaseException:
            made.discard_if_empty()
            raise
        if not running.is_too_short:
            keep(experiment, made, running.found)
        return running


def _measuring(target: Target | None) -> Measuring:
    """The way that trials are made on hosts, or on the model where there is no target."""

    def measure(made: Experiment, observer: Observer, wants: Callable[[PlannedTrial], bool]) -> None:
        assert target is not None
        with Session(made.plan, target) as session:
            keep_places(session, made)
            run_plan(session, made, observer, lambda _: None, wants)

    def simulate(made: Experiment, observer: Observer, wants: Callable[[PlannedTrial], bool]) -> None:
        from whyperf.simulate import Known, hosts_facts, simulate_plan  # noqa: PLC0415 - a measurement needs none
        from whyperf.simulate.request import user_profiles  # noqa: PLC0415 - as above

        for end, facts in hosts_facts(made.plan, user_profiles(made.plan)).items():
            made.write_host(end, facts)
        known = Known(made.plan, lambda _: None, [])
        for trial in made.plan.trials():
            if wants(trial):
                simulate_plan(made, observer, known, [trial])

    return measure if target is not None else simulate


def show_why(
    experiment: Experiment,
    budget_s: float,
    *,
    allows_harm: bool,
    as_json: bool,
    cell: str | None = None,
    trial: str | None = None,
    verdict: int | None = None,
    pairs: int = MIN_PAIRS,
    may_contact: bool = False,
    goal: Goal = RATE,
) -> int:
    """Finds it out of a result and prints it; returns the exit code. Of a `verdict` only the change is tried.

    Raises:
        UsageError: its load cannot be made again here, and why.
    """
    question = asked(
        experiment, cell, budget_s, allows_harm=allows_harm, trial=trial, verdict=verdict, pairs=pairs, goal=goal
    )
    found = find_why(question, as_json=as_json, may_contact=may_contact)
    code = print_why(found, shown(experiment.folder), as_json=as_json)
    return INTERRUPTED if found.ended == "stopped" else code


def shown(folder: Path) -> Path:
    """As a user would name it: relative where it lies below the working directory."""
    return folder.relative_to(Path.cwd()) if folder.is_relative_to(Path.cwd()) else folder


@dataclass
class _Running:
    """The experiments under way: watches trials, and says before each whether it is wanted."""

    question: Question
    made: Experiment
    line: WhyLine
    earlier: tuple[int, float] = (0, 0.0)
    ended: Ended = "nothing_to_learn"
    ladder: Ladder = field(init=False)
    trials: int = 0
    _since_s: float = field(default_factory=time.monotonic)
    _spent_s: float = 0.0
    _measured_s: float = 0.0
    _block: int = 0
    _wanted: Collection[str] = ()
    _is_over: bool = False
    _is_short: bool = False

    def __post_init__(self) -> None:
        question = self.question
        prior = prior_of(question.cell.probabilities, question.excluded, chosen(question.tries))
        named = {each.name for each in question.tries} if question.is_named else ()
        prior_spread = question.goal.prior_spread
        self.ladder = Ladder(
            list(question.tries),
            prior,
            question.excluded,
            question.pairs,
            named,
            prior_spread=prior_spread,
        )
        self.speeds, self.signs = SpeedsByTrial(self.made, question.goal), Signs(self.made)
        self._sweeps = {cell.id: cell.sweep for cell in self.made.plan.cells}
        self._cells = {trial.id: trial.cell for trial in self.made.plan.trials()}

    def wants(self, trial: PlannedTrial) -> bool:
        """True where a trial is made: those of the original, and of what comes next."""
        if self._is_over:
            return False
        if trial.block != self._block:
            self._block = trial.block
            self._choose()
        if self._is_over or self._sweeps[trial.cell] not in self._wanted:
            return False
        if self.elapsed_s + self._trial_s() > self.question.budget_s and self.trials > 1:
            self._end("certain" if self.ladder.is_certain else "budget")
            return False
        return True

    def _choose(self) -> None:
        speeds = self.speeds.by_sweep(self.made.plan)
        self._see(speeds)
        originals = _originals(speeds)
        if self.question.longer is not None and len(originals) == 1 and not self._is_alike(originals[0], SHORT_CHANGE):
            self._is_short = True
            self._end("stopped")
            return
        self._leave_out(speeds)
        self.ladder.has_fallen = self._has_fallen(originals)
        if not originals and self._block > VOID_BLOCKS:
            self._end("void")
            return
        following = self.ladder.following()
        self._wanted = {ORIGINAL, *(each.name for each in following)}
        if not following:
            self._end("certain" if self.ladder.proved is not None else "nothing_to_learn")
        self.line.on_answer(answer_of(self.ladder, self.question.cell.verdicts))

    def _see(self, speeds: Rates) -> None:
        """Takes in what was measured; signs only where a slower pace was tried, to be compared with the original's."""
        slower = {each.name for each in self.ladder.tries if each.is_slower}
        was_tried = any(slower & block.keys() for block in speeds.values())
        signs = self.signs.by_sweep(self.made.plan, {ORIGINAL, *slower}) if was_tried else {}
        self.ladder.see(speeds, signs)

    def _leave_out(self, speeds: Rates) -> None:
        """Leaves out what had no figure: it would be tried again and again."""
        lacking = {name for block in speeds.values() for name, speed in block.items() if speed is None}
        lacking -= {ORIGINAL, *self.ladder.gains}
        for name in sorted(lacking & {each.name for each in self.ladder.tries}):
            self.line.on_message(f"{name} is left out: its trial has no {self.question.goal.name}")
            self.ladder.leave_out(name)

    @property
    def is_too_short(self) -> bool:
        """True if trials as long as the first look are to be made instead, because these do not have its rate."""
        return self._is_over and self._is_short

    def _end(self, why: Ended) -> None:
        self.ended, self._is_over = why, True

    @property
    def elapsed_s(self) -> float:
        return time.monotonic() - self._since_s

    def _trial_s(self) -> float:
        return self._spent_s / self.trials if self.trials else 0.0

    def on_message(self, text: str) -> None:
        """As an observer."""
        self.line.on_message(text)

    def on_trial_started(self, trial: str, cell: str, done: int, total: int) -> None:
        """A trial starts."""
        if not self.trials:
            # Agents and testbed are there now: these seconds are no experiment's.
            self._since_s = time.monotonic()
        del trial, done, total
        self._started_s = time.monotonic()
        self.line.on_try(self._sweeps[cell], self.question.budget_s - self.elapsed_s)

    def on_progress(self, host: str, progress: object) -> None:
        """An interval of one side."""

    def on_trial_finished(self, trial: str, status: str, reason: str | None) -> None:
        """A trial is recorded; an experiment that fails is left out from now on."""
        self.trials += 1
        self._spent_s += time.monotonic() - self._started_s
        self._measured_s = self.elapsed_s
        name = self._sweeps[self._cells[trial]]
        if status == "failed" and name != ORIGINAL:
            self.ladder.leave_out(name)
            self.line.on_message(f"{name} is left out: {reason}")

    def _is_alike(self, speed: float, most: float) -> bool:
        """True where a figure is at most so many times that of the first look, and no smaller part of it."""
        first = self.question.first.value
        return not first or 1 / most <= self.question.goal.value(speed) / first <= most

    def _with_change(self, answer: Answer) -> Answer:
        """The answer with a change of what an experiment shows, where the evidence has no verdict of it."""
        if answer.known not in {"proved", "likely"} or answer.change is not None:
            return answer
        change = change_of(self.question.experiment, self.question.cell, Cause(answer.causes[0]))
        return answer.model_copy(update={"change": change})

    def _has_fallen(self, originals: Collection[float]) -> bool:
        first = self.question.first.value
        if not first or not originals:
            return False
        return self.question.goal.value(median(originals)) <= first / SHORT_CHANGE

    @cached_property
    def found(self) -> Why:
        """All that is known at the end."""
        speeds = self.speeds.by_sweep(self.made.plan)
        self._see(speeds)
        question = self.question
        originals = _originals(speeds)
        original = median(originals) if originals else None
        is_reproduced = self._is_alike(original, MAX_CHANGE) if original is not None else self.ended != "void"
        return Why(
            experiment=question.experiment.name,
            cell=question.cell.cell,
            unit=question.first.unit,
            rate=question.first.value,
            original=None if original is None else question.goal.value(original),
            answer=self._with_change(answer_of(self.ladder, question.cell.verdicts)),
            tried=tried_of(self.ladder),
            probabilities=probabilities_of(self.ladder, question.cell.probabilities),
            is_reproduced=is_reproduced,
            trials=self.earlier[0] + self.trials,
            seconds=round(self.earlier[1] + self._measured_s, 2),
            ended=self.ended,
            experiments=self.made.name,
            goal=question.goal.name,
            spared=tuple(question.spared),
        )


def _originals(speeds: Rates) -> list[float]:
    """Those of the original."""
    return [speed for block in speeds.values() if (speed := block.get(ORIGINAL)) is not None]
