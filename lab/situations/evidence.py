"""What the trials of judged sets show, as the weights of the decision are fitted on it."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from lab.situations.measuring import rates_of
from lab.truth.levels import View
from lab.truth.one_sided import WatchedView
from whyperf.explain.causes import LOSS_KINDS, Cause
from whyperf.explain.decide import ANOTHER, features, features_of_another, level_of
from whyperf.explain.experiment import TrialQuestion, gathered
from whyperf.explain.observe import NAMED, observe
from whyperf.explain.rules.judge import candidates_of, found_in
from whyperf.record import Experiment

JUDGED = "judged.json"


@dataclass(frozen=True)
class Weighed:
    """The candidates of one trial at one level: their features, and which of them are right.

    Attributes:
        situation: whose trial.
        view: the level.
        names: the candidates, the last of which is "another".
        features: of each.
        right: whether each may be named.
        is_undisturbed: nothing that was injected limits, so that it is right to name nothing.
        today: what the rules' verdict was worth.
    """

    situation: str
    view: str
    names: tuple[str, ...]
    features: tuple[Mapping[str, float], ...]
    right: tuple[bool, ...]
    is_undisturbed: bool
    today: str


def weighed_in(folder: Path) -> Iterator[Weighed]:
    """The trials of a judged set, once at each level; `run`'s line has the evidence of counters, and is left out."""
    rows = json.loads((folder / JUDGED).read_text(encoding="utf-8"))["judged"]
    programs = (folder / "runs.jsonl").exists()
    seen: set[tuple[str, str]] = set()
    for row in rows:
        key = (row["situation"], row["view"])
        if row["view"] == View.RUN or key in seen:
            continue
        seen.add(key)
        yield _weighed(row, _of_program(folder, row) if programs else _of_own_load(folder, row))


def _of_own_load(folder: Path, row: Mapping[str, str]) -> "_Asked":
    experiment, rates = _opened(folder)
    cell = row["trial"].rpartition("-")[2]
    return _Asked(experiment, TrialQuestion(cell, row["trial"], rates[cell], View(row["view"]).levels, by_plan=False))


@cache
def _opened(folder: Path) -> tuple[Experiment, Mapping[str, float | None]]:
    experiment = Experiment.open(folder)
    return experiment, rates_of(experiment)


def _of_program(folder: Path, row: Mapping[str, str]) -> "_Asked":
    experiment = Experiment.open(folder / row["trial"])
    # The busiest connection is the first.
    trial = next(iter(experiment.plan.trials()))
    view = WatchedView(row["view"])
    levels = dict.fromkeys(("sender", "receiver"), view.level)
    return _Asked(experiment, TrialQuestion(trial.cell, trial.id, None, levels, view.sides, by_plan=False))


@dataclass(frozen=True)
class _Asked:
    experiment: Experiment
    question: TrialQuestion


def _weighed(row: Mapping[str, object], asked: _Asked) -> Weighed:
    facts, setup, _ = gathered(asked.experiment, asked.question)
    candidates = candidates_of(found_in(facts), facts, setup)
    observed, level = observe(facts, NAMED), level_of(facts)
    accepted = {str(cause) for cause in row["accepted"]}  # type: ignore[attr-defined]  # a list of a JSON file
    if accepted & {str(kind) for kind in LOSS_KINDS}:
        accepted.add(str(Cause.PATH_LOSS))
    right = [str(candidate.cause) in accepted for candidate in candidates]
    is_undisturbed = str(Cause.NOT_KNOWN) in accepted
    return Weighed(
        str(row["situation"]),
        str(row["view"]),
        (*(str(candidate.cause) for candidate in candidates), ANOTHER),
        (*(features(candidate, observed, level) for candidate in candidates), features_of_another(observed, level)),
        (*right, is_undisturbed or not any(right)),
        is_undisturbed,
        str(row["outcome"]),
    )
