"""`whyperf watch --repeat`: runs a command again in changed environments until it is known what limits it."""

import os
import random
import sys
import time
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from math import ceil
from pathlib import Path
from statistics import median
from typing import Literal

from whyperf.cli.durations import duration
from whyperf.cli.exits import say
from whyperf.cli.live import interrupts
from whyperf.cli.live.why import WhyLine
from whyperf.cli.live.wrapped import CommandError
from whyperf.cli.output.explanation import explained
from whyperf.cli.output.why import print_why
from whyperf.cli.workflows.watch import WatchQuery, run_again
from whyperf.cli.workflows.why import MAX_CHANGE, shown
from whyperf.disturb.action import DisturbError, run
from whyperf.disturb.namespace import OF_HOST, entering
from whyperf.disturb.orders import Namespace, Orders
from whyperf.explain.experiments.answer import Why, answer_of, probabilities_of, tried_of
from whyperf.explain.experiments.beliefs import prior_of
from whyperf.explain.experiments.changing import Levels
from whyperf.explain.experiments.environments import (
    CONTROL,
    CPUS,
    RECEIVE,
    SEND,
    FirstRun,
    environments,
    not_tried,
)
from whyperf.explain.experiments.goals import RATE, Obstacle, refuse_unwritable
from whyperf.explain.experiments.kept import folder_of, keep
from whyperf.explain.experiments.ladder import AT_ONCE, MIN_PAIRS, ORIGINAL, Ladder
from whyperf.explain.experiments.question import BLOCKS, NAME
from whyperf.explain.experiments.tries import Planned
from whyperf.explain.explanation import CellExplanation
from whyperf.explain.wording.experiments import try_words
from whyperf.record import Experiment
from whyperf.run import RunError
from whyperf.run.errors import KeeperLostError
from whyperf.run.keeping import Keeper
from whyperf.watch.payload import SHORTEST_S, RunPayload

Ended = Literal["certain", "nothing_to_learn", "budget", "stopped", "failed", "not_repeated"]


def show_why_of_command(query: WatchQuery, folder: Path, moved: RunPayload, seconds: float) -> None:
    """Runs the command of a watch again, keeps what that shows next to its result in `folder`, and prints it.

    `moved` is what the first run showed, in so many seconds.
    """
    budget_s = query.budget_s or 0.0
    with Experiment.open(folder) as experiment:
        first = _first_run(query, experiment, moved)
        tries = environments(first)
        for sentence in not_tried(first):
            say(sentence)
        if moved.rate_bps is None:
            say(f"The command moved payload for less than {SHORTEST_S:g} s, too short to compare: it is not run again")
        elif not tries:
            say("Nothing can be changed for this command here: it is not run again")
        elif 2 * seconds > budget_s:
            enough_s = ceil(MIN_PAIRS * (1 + AT_ONCE) * seconds)
            say(
                f"The command takes {duration(seconds)}, and an experiment two runs of it, more than --budget "
                f"{budget_s:g}: it is not run again; --budget {enough_s} gives enough"
            )
        else:
            try:
                refuse_unwritable(folder)
            except Obstacle as obstacle:
                say(str(obstacle))
                return
            cell = explained(experiment, None, experiment.plan.cells[0].id).cells[0]
            _climb(_Repeating(query, experiment, cell, first, tries, moved.rate_bps, budget_s), folder)


def _first_run(query: WatchQuery, experiment: Experiment, moved: RunPayload) -> FirstRun:
    sets = {SEND: moved.sets_send_buffer, RECEIVE: moved.sets_receive_buffer}
    return FirstRun(
        facts=experiment.hosts()["near"],
        owns_namespace=query.namespace is not None and not _is_of_host(query.namespace),
        sends=moved.sends,
        receives=moved.receives,
        fixed=[name for name, is_set in sets.items() if is_set],
        unknown=[name for name, is_set in sets.items() if is_set is None],
        peers=moved.peers,
        cpus=frozenset(os.sched_getaffinity(0)),
        possible=_possible_cpus(),
        interrupted=moved.interrupted_cpu,
    )


def _is_of_host(namespace: str) -> bool:
    """True where it is the host's own network namespace: the keeper looks again when it is there."""
    try:
        run([*entering(namespace), "test", "-e", str(OF_HOST)])
    except DisturbError:
        return False
    return True


def _possible_cpus() -> frozenset[int]:
    """The CPUs that a process of this one may be given: control groups may leave it fewer than there are."""
    before = os.sched_getaffinity(0)
    try:
        os.sched_setaffinity(0, range(os.sysconf("SC_NPROCESSORS_CONF")))
        return frozenset(os.sched_getaffinity(0))
    finally:
        os.sched_setaffinity(0, before)


def _climb(running: "_Repeating", folder: Path) -> None:
    """Makes the runs, keeps and prints what they show, whatever ends them."""
    experiment = running.experiment
    plan = experiment.plan.model_copy(update={"profile": NAME})
    with Experiment.create(folder_of(experiment, plan), plan, experiment.profile_text) as made:
        try:
            with interrupts.handled(), running.line:
                ended = running.ended()
        except KeyboardInterrupt:
            ended = "stopped"
        except RunError as error:
            say(f"whyperf: {error}")
            ended = "failed"
        found = running.found(made, ended)
        keep(experiment, made, found)
    print_why(found, shown(folder), stream=sys.stderr)


@dataclass
class _Repeating:
    """The runs of a command: block after block, each with the original, in random order."""

    query: WatchQuery
    experiment: Experiment
    cell: CellExplanation
    first: FirstRun
    tries: Sequence[Planned]
    rate_bps: float
    budget_s: float
    line: WhyLine = field(default_factory=lambda: WhyLine(RATE.name, is_quiet=False))
    rates: dict[int, dict[str, float]] = field(default_factory=dict)
    runs: int = 0
    _since_s: float = field(default_factory=time.monotonic)

    def __post_init__(self) -> None:
        """Nothing was tried yet."""
        self.ladder = Ladder(list(self.tries), prior_of(self.cell.probabilities))
        self._random = random.Random(self.experiment.plan.id)

    @property
    def elapsed_s(self) -> float:
        """Since the first repeat."""
        return time.monotonic() - self._since_s

    def ended(self) -> Ended:
        """Runs the command until there is a reason to end, and returns it.

        Raises:
            KeyboardInterrupt: the user stops it.
            RunError: a change may not have been put back.
        """
        for block in range(1, BLOCKS + 1):
            following = self.ladder.following()
            if not following:
                return "nothing_to_learn" if self.ladder.proved is None else "certain"
            self.line.on_answer(answer_of(self.ladder, self.cell.verdicts))
            order = self._random.sample([None, *following], 1 + len(following))
            # Nothing can be compared without the original, and it may not run again at all.
            for tried in order if block > 1 else sorted(order, key=lambda each: each is not None):
                if self.runs and self.elapsed_s * (1 + 1 / self.runs) > self.budget_s:
                    return "budget"
                self._run(block, tried)
                if not self.rates:
                    return "not_repeated"
            self.ladder.see(self.rates)
        return "nothing_to_learn"

    def found(self, made: Experiment, ended: Ended) -> Why:
        """All that is known at the end; `made` keeps it."""
        self.ladder.see(self.rates)
        originals = [block[ORIGINAL] for block in self.rates.values() if ORIGINAL in block]
        original = median(originals) if originals else None
        return Why(
            experiment=self.experiment.name,
            cell=self.cell.cell,
            unit="bit/s",
            rate=self.rate_bps,
            original=original,
            answer=answer_of(self.ladder, self.cell.verdicts),
            tried=tried_of(self.ladder),
            probabilities=probabilities_of(self.ladder, self.cell.probabilities),
            is_reproduced=original is None or 1 / MAX_CHANGE <= original / self.rate_bps <= MAX_CHANGE,
            trials=self.runs,
            seconds=round(self.elapsed_s, 2),
            ended=ended,
            experiments=made.name,
        )

    def _run(self, block: int, tried: Planned | None) -> None:
        """One run; an experiment that cannot be made is named, and left out from then on."""
        name, factors = (ORIGINAL, {}) if tried is None else (tried.name, tried.factors)
        left_s = self.budget_s - self.elapsed_s
        self.line.on_try(name, left_s)
        before = ["taskset", "-c", str(factors[CPUS])] if CPUS in factors else []
        try:
            with self._changed(factors):
                moved = run_again(self.query, self.experiment.folder, before, left_s)
            self.runs += 1
        except KeeperLostError:
            raise
        except (CommandError, RunError) as error:
            self._leave_out(name, str(error))
            return
        if moved.rate_bps is None:
            self._leave_out(name, f"it moved payload for less than {SHORTEST_S:g} s")
        else:
            self.rates.setdefault(block, {})[name] = moved.rate_bps

    def _changed(self, factors: Levels) -> AbstractContextManager[object]:
        """The network namespace with these settings, until it is left or this process is gone."""
        settings = {name: str(level) for name, level in factors.items() if name in {RECEIVE, SEND}}
        control = str(factors.get(CONTROL, ""))
        if not settings and not control:
            return nullcontext()
        changed = Namespace(settings=settings, control=control, peers=self.first.peers if control else ())
        orders = Orders(disturbances=(changed,), places={})
        return Keeper(orders, "the namespace is not changed", before=entering(self.query.namespace))

    def _leave_out(self, name: str, reason: str) -> None:
        self.line.on_message(f"{try_words(name)} is left out: {reason}")
        self.ladder.tries = [each for each in self.ladder.tries if each.name != name]
