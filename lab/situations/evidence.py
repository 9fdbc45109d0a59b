"""The evidence of the trials of judged sets, as the weights of the decision are fitted on it."""

import json
import lzma
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter, ValidationError

from lab.situations.judge import LIMITS
from lab.situations.measuring import rates_of
from lab.truth.levels import View
from lab.truth.one_sided import WatchedView
from lab.truth.watched.catalog import load_watched
from lab.truth.watched.grade import judged
from lab.truth.watched.workflow import kept_runs
from whyperf.cli.exits import UsageError
from whyperf.explain.causes import ANOTHER, LOSS_KINDS, Cause
from whyperf.explain.decide import CANDIDATES, Candidate, candidates_of, level_of
from whyperf.explain.experiment import TrialQuestion, gathered
from whyperf.explain.limits.every import found_in
from whyperf.explain.limits.judge import of_populations, settled
from whyperf.explain.limits.limit import busiest
from whyperf.explain.setup import Setup
from whyperf.explain.trial_facts import Facts
from whyperf.record import Experiment

JUDGED = "judged.json"
WATCHED = "runs.jsonl"
"""The runs of programs; of `whyperf-lab truth --watch` there is no `JUDGED`."""


@dataclass(frozen=True)
class Weighed:
    """The evidence of one trial at one level, and what is right to say of it.

    Attributes:
        situation: whose trial.
        view: the level.
        level: as the decision calls it.
        found: what every limit takes.
        right: the candidates that may be named; of those that may stand for no limit, the ones that are here.
        is_undisturbed: nothing that was injected limits, so that it is right to name nothing.
        today: what the verdict was worth; "" where none was judged.
    """

    situation: str
    view: str
    level: str
    found: tuple[Candidate, ...]
    right: frozenset[str]
    is_undisturbed: bool
    today: str


@dataclass(frozen=True)
class Evidence:
    """The facts of a judged trial at one level, and the causes that are right to name.

    `accepted` are the causes that were right to name, `group` is the kind of load, and `outcome` what the verdict was
    worth when it was judged; "" where there is none.
    """

    situation: str
    view: str
    accepted: tuple[str, ...]
    group: str
    outcome: str
    facts: Facts
    setup: Setup


def weighed_in(source: Path) -> Iterator[Weighed]:
    """The trials of a judged set as limits see them, or of a file of `keep`."""
    for found in evidence_in(source):
        if settled(found.facts) is None:
            yield weighed(found)


def evidence_in(source: Path) -> Iterator[Evidence]:
    """The trials of a judged set, of a result of `truth --watch`, or of a file of `keep`; each once at each level. The
    line of `run` has the evidence of counters: left out."""
    if source.is_file():
        yield from _kept(source)
        return
    if not (source / JUDGED).exists():
        yield from _of_programs(source)
        return
    rows = json.loads((source / JUDGED).read_text(encoding="utf-8"))["judged"]
    programs = (source / WATCHED).exists()
    seen: set[tuple[str, str]] = set()
    for row in rows:
        key = (row["trial"], row["view"])
        if row["view"] == View.RUN or key in seen:
            continue
        seen.add(key)
        facts, setup, _ = gathered(*(_of_program(source, row) if programs else _of_own_load(source, row)))
        accepted = tuple(row["accepted"])
        yield Evidence(row["situation"], row["view"], accepted, row["group"], row["outcome"], facts, setup)


def _of_programs(folder: Path) -> Iterator[Evidence]:
    """The runs of a result of `truth --watch` whose cause counts, each at the views that it was graded at."""
    with kept_runs(folder) as (runs, _):
        found = judged(load_watched(), runs)
    for case in found:
        for grade in case.graded:
            if case.run.kept is None:
                raise UsageError(f"{folder} lacks runs of {case.case.name}; fit on a result that kept all runs")
            facts, setup, _ = gathered(*_of_kept_run(folder / case.run.kept, grade.view))
            accepted = tuple(map(str, case.case.accepted))
            yield Evidence(f"{folder.name}-{case.case.name}", grade.view, accepted, "", grade.outcome, facts, setup)


SETS = Path(__file__).parents[1] / "sets"
"""Where kept sets lie."""
SUFFIX = ".json.xz"
WHO = frozenset({"hostname", "boot_id"})
"""Facts of a host that say which one it is; no limit and no change needs them."""


def keep(source: Path, file: Path) -> int:
    """Writes what was seen of a judged set, whole or not at all: a JSON object a line. Returns how many there are.

    Raises:
        UsageError: there is none.
    """
    rows = [_ROW.dump_json(replace(found, setup=_of_anybody(found.setup))) for found in evidence_in(source)]
    if not rows:
        raise UsageError(f"{source} has no judged trial; nothing is kept")
    whole = file.with_name(f".{file.name}")
    whole.write_bytes(lzma.compress(b"\n".join(rows), preset=9 | lzma.PRESET_EXTREME))
    whole.replace(file)
    return len(rows)


def _of_anybody(setup: Setup) -> Setup:
    hosts = {side: {name: of for name, of in facts.items() if name not in WHO} for side, facts in setup.hosts.items()}
    return replace(setup, hosts=hosts, command="")


def _kept(file: Path) -> Iterator[Evidence]:
    try:
        for line in lzma.decompress(file.read_bytes()).splitlines():
            yield _ROW.validate_json(line)
    except (lzma.LZMAError, ValidationError) as error:
        reason = str(error).splitlines()[0]
        raise UsageError(f"{file} is no set that this version of whyperf-lab keeps: {reason}; keep it again") from error


_ROW = TypeAdapter(Evidence)


def _with_losses(accepted: set[str], view: str) -> set[str]:
    """Also that the path loses segments, where only logs of both hosts show how."""
    is_open = view not in {View.SEGMENTS, WatchedView.BOTH_SEGMENTS}
    return {*accepted, str(Cause.PATH_LOSS)} if is_open and accepted.intersection(map(str, LOSS_KINDS)) else accepted


def stored() -> Iterator[Weighed]:
    """The situations that are stored with the tests: causes that were injected on purpose, among them those that are
    seldom drawn. What was injected is right to say of them."""
    from tests.accuracy import injected  # noqa: PLC0415 - tests are in the repository, not in a wheel
    from tests.unit.explain.situations import situations  # noqa: PLC0415 - as above

    for situation in situations():
        if settled(situation.facts) is not None:
            continue
        truth = injected()[situation.experiment]
        right = {*_with_losses(set(truth.accepted), situation.view), *({ANOTHER} if truth.is_undisturbed else ())}
        yield Weighed(
            f"stored-{situation.experiment}",
            situation.view,
            level_of(situation.facts),
            tuple(candidates_of(of_populations(situation.facts, found_in))),
            frozenset(right.intersection(CANDIDATES) or {ANOTHER}),
            truth.is_undisturbed,
            "",
        )


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
    return _of_kept_run(folder / row["trial"], WatchedView(row["view"]))


def _of_kept_run(folder: Path, view: WatchedView) -> tuple[Experiment, TrialQuestion]:
    experiment = Experiment.open(folder)
    # The busiest connection is the first.
    trial = next(iter(experiment.plan.trials()))
    levels = dict.fromkeys(("sender", "receiver"), view.level)
    return experiment, TrialQuestion(trial.cell, trial.id, None, levels, view.sides, by_plan=False)


def weighed(found: Evidence) -> Weighed:
    """The parts of a trial that limits take, and the causes that are right to name."""
    is_undisturbed = str(Cause.NOT_KNOWN) in found.accepted
    right = _with_losses(set(found.accepted), found.view)
    if is_undisturbed and not found.facts.is_watched:
        # The record of a watched program has neither a path nor a load that would say more.
        right = limits_undisturbed(found.group, found.setup, found.facts)
    return Weighed(
        found.situation,
        found.view,
        level_of(found.facts),
        tuple(candidates_of(of_populations(found.facts, found_in))),
        frozenset(right.intersection(CANDIDATES) or {ANOTHER}),
        is_undisturbed,
        found.outcome,
    )


MIN_CPU = 0.8
"""A side that wants so much of a CPU has it as its limit (docs/background/explain.md)."""

MIN_USE = 0.6
"""Part of the path's rate that an exchange uses where the path is what it waits for most."""


def limits_undisturbed(group: str, setup: Setup, facts: Facts) -> set[str]:
    """The limits of a load that nothing disturbs, as far as its situation has them; all of them are accepted.

    A weight must not learn that a path limits where there is none. On situations left out of the fit fewer verdicts
    are wrong then (6 to 4 %, 4 to 2 % and 4 to 2 % at three levels of seed 20261203).
    """
    right = {ANOTHER, *map(str, LIMITS.get(group, ()))}
    path = setup.level("path_rate_bps")
    if isinstance(path, int | float) and (group not in LIMITS or (facts.rate_bps or 0.0) >= MIN_USE * path):
        right.add(str(Cause.BOTTLENECK))
    if path == "none" or busiest(facts) > MIN_CPU:
        right.add(str(Cause.CAPACITY))
    return right
