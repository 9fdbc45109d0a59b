"""`whyperf-lab truth --watch`, step by step: start programs, watch them in mid-life, explain, grade, print."""

import os
import shlex
import shutil
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from random import Random
from typing import IO, TYPE_CHECKING

from lab.disturb.launching import MORE_PROGRAMS
from lab.disturb.tools import lacks
from lab.truth.output.page import with_figures
from lab.truth.watched.catalog import Case, WatchedCatalog, load_watched, plan_watched, sweep_of
from whyperf.analyze.text import bit_rate, count
from whyperf.cli.durations import duration
from whyperf.cli.exits import DONE, DOUBTFUL, Stopped, UsageError, say
from whyperf.cli.live import interrupts
from whyperf.cli.streams import print_json
from whyperf.plan.stop import permutation
from whyperf.run import Kind, Session, Target, allowed_kind, describe_host

if TYPE_CHECKING:
    from lab.truth.watched.grade import Sight, WatchedRun

MARK = "truth watch"
"""The name of the section of a page that has the results."""
RUNS = "runs.jsonl"
"""The file of a result with a line for each run; the same command resumes after the last."""
TRIES = 2
"""Number of times that a void run is made."""
RUN_S = 10.0
"""The time that a run takes, roughly."""
SIGHTS = ("both", "sender", "receiver", "user")


@dataclass(frozen=True)
class WantedWatch:
    """Everything the command line asked of `whyperf-lab truth --watch`."""

    only: tuple[str, ...]
    views: tuple[str, ...]
    blocks: int
    seed: int
    out: Path | None
    page: Path | None
    dry_run: bool
    as_json: bool


def find_watched_truth(wanted: WantedWatch) -> int:
    """Does what was wanted; returns the exit code: 3 where a bar is missed."""
    if unknown := [view for view in wanted.views if view not in SIGHTS]:
        raise UsageError(f'--views "{unknown[0]}" is none of: {", ".join(SIGHTS)}')
    page = None if wanted.page is None else _page(wanted.page)
    catalog = load_watched()
    if wanted.only:
        catalog = catalog.named(list(wanted.only))
    if wanted.dry_run:
        return _print_plan(catalog, wanted)
    catalog = _possible(catalog)
    kind, reason = allowed_kind(None)
    if kind is not Kind.VETH:
        raise UsageError(f"truth experiments need the embedded testbed, and that network namespaces: {reason}")
    folder = wanted.out or Path("results") / f"truth-watch-{datetime.now():%Y%m%d-%H%M%S}"
    with interrupts.handled(), kept_runs(folder) as (made, file):
        runs = {run.key: run for run in made}
        try:
            _measure(catalog, wanted, folder, runs, file)
        except KeyboardInterrupt:
            _print(catalog, list(runs.values()), wanted, None, folder)
            say(f"whyperf: stopped; the same command with --out {folder} resumes")
            raise Stopped from None
        return _print(catalog, list(runs.values()), wanted, page, folder)


def _possible(catalog: WatchedCatalog) -> WatchedCatalog:
    """The catalog without the cases that this host cannot make; a message names each with the reason."""
    impossible = {case.name: reason for case in catalog.case if (reason := lacking(catalog, case))}
    for reason in dict.fromkeys(impossible.values()):
        names = [name for name, other in impossible.items() if other == reason]
        say(f"Not measured: {', '.join(names)}: {reason}")
    if len(impossible) == len(catalog.case):
        raise UsageError("this host can measure none of these experiments")
    return catalog.without(set(impossible))


def lacking(catalog: WatchedCatalog, case: Case) -> str:
    """Why this host cannot make the runs of a case, with what to install; "" if it can."""
    paths = os.pathsep.join((os.environ.get("PATH", ""), *MORE_PROGRAMS))
    for program, package in (catalog.program[case.program].needs | {"unshare": "util-linux"}).items():
        if shutil.which(program, path=paths) is None:
            return f"the program {program} is missing; install the package {package}"
    return lacks(found for change in (case.without, *case.doses) for found in change.disturb)


@contextmanager
def kept_runs(folder: Path) -> "Iterator[tuple[list[WatchedRun], IO[str]]]":
    """The runs that the folder has, and where further ones are written."""
    from lab.truth.watched.grade import WatchedRun  # noqa: PLC0415 - loads pydantic models and what judges

    folder.mkdir(parents=True, exist_ok=True)
    path = folder / RUNS
    lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
    try:
        made = [WatchedRun.model_validate_json(line) for line in lines]
    except ValueError as error:
        raise UsageError(f"{path} is no list of runs of programs: {error}") from None
    with path.open("a", encoding="utf-8") as file:
        yield made, file


def _measure(
    catalog: WatchedCatalog,
    wanted: WantedWatch,
    folder: Path,
    runs: "dict[tuple[str, int, int], WatchedRun]",
    file: IO[str],
) -> None:
    """Makes the runs that are missing."""
    order = [key for key in ordered(catalog, wanted.blocks, wanted.seed) if key not in runs]
    make_runs(catalog, order, Results(folder, runs, file), _sights(wanted), seed=wanted.seed)


@dataclass(frozen=True)
class Results:
    """The runs that there are, by case, dose and block, and the file of the folder that they are written to."""

    folder: Path
    runs: "dict[tuple[str, int, int], WatchedRun]"
    file: IO[str]


def make_runs(
    catalog: WatchedCatalog,
    order: Sequence[tuple[str, int, int]],
    results: Results,
    sights: "Sequence[Sight]",
    *,
    seed: int,
    is_graded: Callable[[int, int], bool] = lambda _dose, _block: True,
) -> None:
    """Makes these runs, each again where it is void; `is_graded` says of a dose and a block whether it is explained."""
    from lab.truth.watched.runner import FIRST_PORT, RunOrder, WatchedRunner  # noqa: PLC0415

    if not order:
        return
    say(f"{count(len(order), 'run')} to make, about {duration(len(order) * RUN_S)}; results: {results.folder}")
    cases = {case.name: case for case in catalog.case}
    with Session(plan_watched(catalog, seed=seed), Target(Kind.VETH)) as session:
        command = shlex.join(["whyperf-lab", *sys.argv[1:]])
        runner = WatchedRunner(session, catalog, results.folder, sights, command)
        for number, (name, dose, block) in enumerate(order):
            for attempt in range(TRIES):
                # No run meets what is left of the sockets of another.
                port = FIRST_PORT + (number * TRIES + attempt) % 10_000
                run = runner.run(RunOrder(cases[name], dose, block, port, is_graded(dose, block)))
                if run.void is None:
                    break
            results.runs[run.key] = run
            results.file.write(run.model_dump_json() + "\n")
            results.file.flush()
            say(f"{number + 1} of {len(order)}: {sweep_of(cases[name], dose)}: {_outcome(run)}")


def _outcome(run: "WatchedRun") -> str:
    if run.void is not None:
        return f"void: {run.void}"
    rate = "" if run.rate_bps is None else bit_rate(run.rate_bps)
    return "; ".join([rate, *(f"{grade.view}: {grade.first} ({grade.outcome})" for grade in run.grades)])


def ordered(catalog: WatchedCatalog, blocks: int, seed: int) -> list[tuple[str, int, int]]:
    """Case, dose and block of all runs: in each block all cases in random order, and the runs of a case next to each
    other, in random order.
    """
    found = []
    doses = {case.name: len(case.doses) for case in catalog.case}
    for block in range(1, blocks + 1):
        rng = Random(f"watched truth, block {block} of seed {seed}")
        for name in permutation(list(doses), rng):
            numbers = permutation([str(dose) for dose in range(doses[name] + 1)], rng)
            found += [(name, int(dose), block) for dose in numbers]
    return found


def _sights(wanted: WantedWatch) -> "Sequence[Sight]":
    from lab.truth.watched.grade import Sight  # noqa: PLC0415

    return [Sight(view) for view in wanted.views]


def _print(
    catalog: WatchedCatalog, runs: "Sequence[WatchedRun]", wanted: WantedWatch, page: str | None, folder: Path
) -> int:
    from lab.truth.watched.grade import figures, judged  # noqa: PLC0415
    from lab.truth.watched.page import as_json, markdown  # noqa: PLC0415
    from lab.truth.watched.terminal import print_watched_truth  # noqa: PLC0415

    found, about = judged(catalog, runs), _about()
    if wanted.as_json:
        print_json(as_json(found, about))
    else:
        print_watched_truth(found, folder)
    if wanted.page is not None and page is not None:
        wanted.page.write_text(with_figures(page, markdown(found, about.values()), MARK), encoding="utf-8")
    return DOUBTFUL if any(figure.holds is False for figure in figures(found)) else DONE


def _print_plan(catalog: WatchedCatalog, wanted: WantedWatch) -> int:
    from lab.truth.watched.terminal import print_cases  # noqa: PLC0415

    number = len(ordered(catalog, wanted.blocks, wanted.seed))
    if wanted.as_json:
        print_json({"runs": number, **catalog.model_dump(mode="json")})
    else:
        print_cases(catalog)
        say(f"{count(number, 'run')}, about {duration(number * RUN_S)}")
    return DONE


def _about() -> dict[str, str]:
    """Where, when and how it was measured."""
    host = describe_host(None)
    return {
        "where": f"{host['kernel']}, {len(host['cpus'])} CPUs, programs of others in the embedded testbed",
        "when": f"{datetime.now():%Y-%m-%d}",
        "how": f"`whyperf-lab {shlex.join(sys.argv[1:])}`",
    }


def _page(path: Path) -> str:
    """The text of the page.

    Raises:
        UsageError: it cannot be read, or has no place for the figures; raised before anything is measured.
    """
    try:
        text = path.read_text(encoding="utf-8")
        with_figures(text, "", MARK)
    except OSError as error:
        raise UsageError(
            f"--page: cannot read {path}: {(error.strerror or '').lower()}; name a file that is there"
        ) from None
    except ValueError as error:
        raise UsageError(f"--page: {path}: {error}") from None
    return text
