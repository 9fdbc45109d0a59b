"""Runs drawn situations of programs of others, and judges what a watch says of them."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from lab.situations.judge import UNDISTURBED, Judged, outcome_of, weighed_outcome
from lab.situations.labels import Label, labels_of
from lab.situations.measuring import MAX_TRIALS, TRIALS
from lab.situations.programs.draw import DOSE, DrawnPrograms
from lab.situations.programs.served import SERVED
from lab.truth.design import CellKind
from lab.truth.one_sided import WatchedView
from lab.truth.situation import Situation
from lab.truth.watched.grade import Sight, ViewGrade, WatchedRun
from lab.truth.watched.workflow import Results, kept_runs, lacking, make_runs, ordered
from whyperf.analyze.text import count
from whyperf.cli.exits import say
from whyperf.explain.causes import LOSS_KINDS, Cause

LIMITS = {served.name: served.limits for served in SERVED}


def possible(drawn: DrawnPrograms) -> DrawnPrograms:
    """Keeps what this host can run; a message names each program or disturbance that it lacks."""
    impossible = {case.name: reason for case in drawn.watched.case if (reason := lacking(drawn.watched, case))}
    for reason in dict.fromkeys(impossible.values()):
        say(f"Not measured: {count(list(impossible.values()).count(reason), 'situation')}: {reason}")
    names = set(impossible)
    return DrawnPrograms(drawn.catalog.without(names), drawn.watched.without(names))


def measure(drawn: DrawnPrograms, folder: Path, seed: int) -> list[WatchedRun]:
    """The runs of all situations, made where the folder lacks them. The situation as drawn is explained once."""
    with kept_runs(folder) as (made, file):
        runs = {run.key: run for run in made}
        more: frozenset[str] = frozenset()
        for _ in range(2):
            make_runs(
                drawn.watched,
                [
                    (name, dose, block)
                    for name, dose, block in ordered(drawn.watched, MAX_TRIALS, seed)
                    if (name, dose, block) not in runs and (block <= TRIALS or name in more)
                ],
                Results(folder, runs, file),
                list(Sight),
                seed=seed,
                is_graded=lambda dose, block: dose == DOSE and block == 1,
            )
            more = labels_of(drawn.catalog, rates_of(drawn, list(runs.values()))).unclear
        return list(runs.values())


def rates_of(drawn: DrawnPrograms, runs: Sequence[WatchedRun]) -> dict[str, list[float]]:
    """The rates of the runs of each part of each situation, by the names that labels ask for."""
    parts = {situation.name: _parts(situation) for situation in drawn.catalog.situation}
    found: dict[str, list[float]] = {f"{name}-{part}": [] for name, own in parts.items() for part in own}
    for run in runs:
        if run.rate_bps is not None and run.case in parts:
            found[f"{run.case}-{parts[run.case][run.dose]}"].append(run.rate_bps)
    return found


def _parts(situation: Situation) -> list[str]:
    """The meaning of each dose of a case: dose 0 lacks all causes, 1 is as drawn, the others lack one cause."""
    if len(situation.ingredient) == 1:
        return [f"{CellKind.WITHOUT}1", str(CellKind.SITUATION)]
    without = [f"{CellKind.WITHOUT}{number}" for number in range(1, len(situation.ingredient) + 1)]
    return [str(CellKind.CONTROL), str(CellKind.SITUATION), *without]


def judged(labels: Mapping[str, Label], runs: Sequence[WatchedRun]) -> list[Judged]:
    """Judges what each view said of the situations that have a label."""
    graded = [run for run in runs if run.grades and run.case in labels]
    return [_judged(labels[run.case], run, grade) for run in graded for grade in run.grades]


def _judged(label: Label, run: WatchedRun, grade: ViewGrade) -> Judged:
    group = label.situation.group
    accepted = set(label.accepted) if label.counts else set(UNDISTURBED | LIMITS[group])
    if grade.view is not WatchedView.BOTH_SEGMENTS and set(map(str, LOSS_KINDS)) & accepted:
        # One side does not see which kind of loss it is.
        accepted.add(str(Cause.PATH_LOSS))
    return Judged(
        label.situation.name,
        group,
        label.main,
        grade.view,
        f"{run.case}-{run.dose}-{run.block}",
        tuple(sorted(map(str, accepted))),
        label.counts,
        grade.named,
        grade.confidence,
        outcome_of(grade.named, accepted),
        weighed_outcome(grade.probabilities, accepted),
    )
