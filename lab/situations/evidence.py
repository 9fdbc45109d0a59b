"""The evidence of the trials of judged sets, as the weights of the decision are fitted on it."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from lab.situations.judge import LIMITS
from lab.situations.measuring import rates_of
from lab.truth.levels import View
from lab.truth.one_sided import WatchedView
from whyperf.cli.exits import UsageError
from whyperf.explain.causes import ANOTHER, Cause
from whyperf.explain.decide import CANDIDATES, Candidate, level_of, scaled
from whyperf.explain.experiment import TrialQuestion, gathered
from whyperf.explain.observe import NAMED, Observations, observe
from whyperf.explain.rules.judge import candidates_of, found_in, settled
from whyperf.explain.setup import Setup
from whyperf.explain.traces import lacking
from whyperf.explain.trial_facts import Facts
from whyperf.record import Experiment

JUDGED = "judged.json"


@dataclass(frozen=True)
class Weighed:
    """The evidence of one trial at one level, and what is right to say of it.

    Attributes:
        situation: whose trial.
        view: the level.
        level: as the decision calls it.
        found: what rules find.
        shown: the observations as weights take them.
        lacking: the causes whose trace is not there.
        right: the candidates that may be named; of those that may stand for no limit, the ones that are here.
        is_undisturbed: nothing that was injected limits, so that it is right to name nothing.
        today: what the rules' verdict was worth.
    """

    situation: str
    view: str
    level: str
    found: tuple[Candidate, ...]
    shown: Mapping[str, float]
    lacking: frozenset[str]
    right: frozenset[str]
    is_undisturbed: bool
    today: str

    @property
    def names(self) -> frozenset[str]:
        """The causes that rules find."""
        return frozenset(str(candidate.cause) for candidate in self.found)


def weighed_in(folder: Path) -> Iterator[Weighed]:
    """The trials of a judged set, each once at each level; the line of `run` has the evidence of counters: left out."""
    rows = json.loads((folder / JUDGED).read_text(encoding="utf-8"))["judged"]
    programs = (folder / "runs.jsonl").exists()
    seen: set[tuple[str, str]] = set()
    for row in rows:
        key = (row["trial"], row["view"])
        if row["view"] == View.RUN or key in seen:
            continue
        seen.add(key)
        facts, setup, _ = gathered(*(_of_program(folder, row) if programs else _of_own_load(folder, row)))
        if settled(facts) is None:
            yield weighed(facts, setup, row)


def _of_own_load(folder: Path, row: Mapping[str, Any]) -> tuple[Experiment, TrialQuestion]:
    experiment, rates = _opened(folder)
    cell = row["trial"].rpartition("-")[2]
    return experiment, TrialQuestion(cell, row["trial"], rates[cell], View(row["view"]).levels, by_plan=False)


@cache
def _opened(folder: Path) -> tuple[Experiment, Mapping[str, float | None]]:
    experiment = Experiment.open(folder)
    return experiment, rates_of(experiment)


def _of_program(folder: Path, row: Mapping[str, Any]) -> tuple[Experiment, TrialQuestion]:
    if not (folder / row["trial"]).is_dir():
        # Older versions kept only what was not right: what is left says nothing of how often verdicts are.
        raise UsageError(f"{folder} lacks the run {row['trial']}; fit on a set all of whose runs were kept")
    experiment = Experiment.open(folder / row["trial"])
    # The busiest connection is the first.
    trial = next(iter(experiment.plan.trials()))
    view = WatchedView(row["view"])
    levels = dict.fromkeys(("sender", "receiver"), view.level)
    return experiment, TrialQuestion(trial.cell, trial.id, None, levels, view.sides, by_plan=False)


def weighed(facts: Facts, setup: Setup, row: Mapping[str, Any]) -> Weighed:
    """Combines what facts show with what was judged of them."""
    is_undisturbed = str(Cause.NOT_KNOWN) in row["accepted"]
    observed = observe(facts, NAMED)
    right = set(row["accepted"])
    if is_undisturbed and not facts.is_watched:
        # The record of a watched program has neither a path nor a load that would say more.
        right = limits_undisturbed(row["group"], setup, observed)
    return Weighed(
        row["situation"],
        row["view"],
        level_of(facts),
        tuple(candidates_of(found_in(facts), facts, setup)),
        scaled(observed),
        lacking(facts, observed),
        frozenset(right.intersection(CANDIDATES) or {ANOTHER}),
        is_undisturbed,
        row["outcome"],
    )


MIN_CPU = 0.8
"""A side that wants so much of a CPU has it as its limit, as rules have it (docs/background/explain.md)."""


def limits_undisturbed(group: str, setup: Setup, observed: Observations) -> set[str]:
    """The limits of a load that nothing disturbs, as far as its situation has them; all of them are accepted.

    A weight must not learn that a path limits where there is none. On situations left out of the fit fewer verdicts
    are wrong then (6 to 4 %, 4 to 2 % and 4 to 2 % at three levels of seed 20261203).
    """
    right = {ANOTHER, *map(str, LIMITS.get(group, ()))}
    has_path = setup.level("path_rate_bps") != "none"
    wanted = [observed[f"{side}.cpu.wanted"].value or 0.0 for side in ("sender", "receiver")]
    if has_path and group not in LIMITS:
        right.add(str(Cause.BOTTLENECK))
    if not has_path or max(wanted) > MIN_CPU:
        right.add(str(Cause.CAPACITY))
    return right
