"""Runs drawn situations of programs of others, and judges what a watch says of them."""

import shlex
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from random import Random
from typing import IO

from lab.situations.judge import UNDISTURBED, Judged, outcome_of
from lab.situations.labels import Label
from lab.situations.programs.draw import DOSE, DrawnPrograms
from lab.situations.programs.served import SERVED
from lab.truth.design import CellKind
from lab.truth.one_sided import WatchedView
from lab.truth.situation import Situation
from lab.truth.watched.catalog import plan_watched
from lab.truth.watched.grade import Sight, ViewGrade, WatchedRun
from lab.truth.watched.runner import FIRST_PORT, RunOrder, WatchedRunner
from lab.truth.watched.workflow import lacking
from whyperf.analyze.spread import Spread, spreads
from whyperf.analyze.text import bit_rate, count
from whyperf.cli.durations import duration
from whyperf.cli.exits import UsageError, say
from whyperf.explain.causes import LOSS_KINDS, Cause
from whyperf.plan.blocks import permutation
from whyperf.run import Kind, Session, Target

RUNS = "runs.jsonl"
"""The file of a result with a line for each run; the same command resumes after the last."""
TRIES = 2
"""How often a run is made that is void."""
RUN_S = 7.0
"""What a run takes, roughly."""
LIMITS = {served.name: served.limits for served in SERVED}


def possible(drawn: DrawnPrograms) -> DrawnPrograms:
    """What this host can run; a message names each program or disturbance that it lacks."""
    impossible = {case.name: reason for case in drawn.watched.case if (reason := lacking(drawn.watched, case))}
    for reason in dict.fromkeys(impossible.values()):
        say(f"Not measured: {count(list(impossible.values()).count(reason), 'situation')}: {reason}")
    names = set(impossible)
    return DrawnPrograms(drawn.catalog.without(names), drawn.watched.without(names))


def measure(drawn: DrawnPrograms, folder: Path, blocks: int, seed: int) -> list[WatchedRun]:
    """The runs of all situations, made where the folder lacks them: in each block those of a situation one after the
    other, in random order. The situation as drawn is explained in the first block.
    """
    with _kept(folder) as (made, file):
        runs = {run.key: run for run in made}
        missing = [key for key in _ordered(drawn, blocks, seed) if key not in runs]
        if not missing:
            return list(runs.values())
        say(f"{count(len(missing), 'run')} to make, about {duration(len(missing) * RUN_S)}; the same command resumes")
        cases = {case.name: case for case in drawn.watched.case}
        with Session(plan_watched(drawn.watched, seed=seed), Target(Kind.VETH)) as session:
            command = shlex.join(["whyperf-lab", *sys.argv[1:]])
            runner = WatchedRunner(session, drawn.watched, folder, list(Sight), command)
            for number, (name, dose, block) in enumerate(missing):
                is_graded = dose == DOSE and block == 1
                for attempt in range(TRIES):
                    # No run meets what is left of the sockets of another.
                    port = FIRST_PORT + (number * TRIES + attempt) % 10_000
                    run = runner.run(RunOrder(cases[name], dose, block, port, is_graded))
                    if run.void is None:
                        break
                runs[run.key] = run
                file.write(run.model_dump_json() + "\n")
                file.flush()
                rate = f"void: {run.void}" if run.rate_bps is None else bit_rate(run.rate_bps)
                say(f"{number + 1} of {len(missing)}: {name}, part {dose}: {rate}")
        return list(runs.values())


def _ordered(drawn: DrawnPrograms, blocks: int, seed: int) -> Iterator[tuple[str, int, int]]:
    """Case, dose and block of all runs."""
    doses = {case.name: len(case.doses) for case in drawn.watched.case}
    for block in range(1, blocks + 1):
        rng = Random(f"programs, block {block} of seed {seed}")
        for name in permutation(list(doses), rng):
            for dose in permutation([str(dose) for dose in range(doses[name] + 1)], rng):
                yield name, int(dose), block


@contextmanager
def _kept(folder: Path) -> Iterator[tuple[list[WatchedRun], IO[str]]]:
    """The runs that the folder has, and where further ones are written."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / RUNS
    lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
    try:
        made = [WatchedRun.model_validate_json(line) for line in lines]
    except ValueError as error:
        raise UsageError(f"{path} is no list of runs: {error}") from None
    with path.open("a", encoding="utf-8") as file:
        yield made, file


def rates_of(drawn: DrawnPrograms, runs: Sequence[WatchedRun], seed: int) -> dict[str, Spread]:
    """The rates of each part of each situation, by the names that labels ask for."""
    parts = {situation.name: _parts(situation) for situation in drawn.catalog.situation}
    found: dict[str, list[float]] = {f"{name}-{part}": [] for name, own in parts.items() for part in own}
    for run in runs:
        if run.rate_bps is not None and run.case in parts:
            found[f"{run.case}-{parts[run.case][run.dose]}"].append(run.rate_bps)
    return dict(zip(found, spreads(list(found.values()), seed), strict=True))


def _parts(situation: Situation) -> list[str]:
    """What each dose of a case is: dose 0 lacks all causes, 1 is as drawn, the others lack one cause."""
    if len(situation.ingredient) == 1:
        return [f"{CellKind.WITHOUT}1", str(CellKind.SITUATION)]
    without = [f"{CellKind.WITHOUT}{number}" for number in range(1, len(situation.ingredient) + 1)]
    return [str(CellKind.CONTROL), str(CellKind.SITUATION), *without]


def judged(labels: Mapping[str, Label], runs: Sequence[WatchedRun]) -> list[Judged]:
    """What each view said of the situations that have a label."""
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
    )
