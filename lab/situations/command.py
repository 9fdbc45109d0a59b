"""`whyperf-lab situations`: draws, measures and judges; each seed once."""

import dataclasses
import json
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Annotated

import typer

from lab.situations import first_looks
from lab.situations.draw import situations
from lab.situations.figures import shares, weighed_shares
from lab.situations.judge import Judged, judged
from lab.situations.labels import NO_CAUSE, Labels, labels_of
from lab.situations.measuring import MAX_TRIALS, TRIALS, labels_now, measure_until_clear, rates_of
from lab.situations.printed import print_differences, print_judged, read_judged
from lab.situations.why import JudgedWhy, Measured, judge_why, print_why_judged, why_shares
from lab.truth import plan_truth
from lab.truth.catalog import Catalog
from lab.truth.levels import Explained
from lab.truth.situation import Situation
from lab.truth.workflow.levels import explain_levels
from lab.truth.workflow.on_model import simulated
from lab.truth.workflow.run import making_trials, possible
from whyperf.cli.exits import DONE, Stopped, UsageError, say
from whyperf.cli.live import interrupts
from whyperf.cli.workflows.trials import simulate_missing_trials
from whyperf.record import Experiment

NAME = "situations"
EXAMPLE = (
    "Examples: whyperf-lab situations --count 5 --dry-run · whyperf-lab situations --count 100 --seed 4711 · "
    "whyperf-lab situations --count 100 --seed 4711 --again"
)
PLACE, PROGRAMS = "testbed", "programs"
"""Where a seed is judged, each by itself: our own load on the testbed, and programs of others on it."""
JUDGED = "judged.json"
LOOKS = TRIALS + 1
"""Trials of a situation that are judged, those without a log first."""


def command(  # noqa: PLR0917 - the command line
    count: Annotated[int, typer.Option(min=1, max=100_000, help="Situations to draw.")] = 10,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the draw. A seed is judged once.")] = 1,
    programs: Annotated[bool, typer.Option("--programs", help="Programs of others, watched, as the load.")] = False,
    hosts: Annotated[
        str | None,
        typer.Option(
            metavar="HOST[,HOST]",
            help="Simulate what the model of these hosts can, as whyperf model simulate names them.",
        ),
    ] = None,
    against: Annotated[
        Path | None,
        typer.Option(
            metavar="FOLDER",
            help="Also list the causes that are judged differently there, such as on the testbed.",
        ),
    ] = None,
    out: Annotated[Path | None, typer.Option(help="Folder for the result; the same command resumes.")] = None,
    only: Annotated[
        list[str] | None,
        typer.Option("--only", metavar="NAME", help="Only these situations; no first look. Repeatable."),
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only print what is drawn.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
    why: Annotated[
        float | None,
        typer.Option(min=2, metavar="S", help="Also judge the experiments of whyperf why, in so many seconds each."),
    ] = None,
    again: Annotated[
        bool, typer.Option("--again", help="Judge a set that was judged before, and add no first look.")
    ] = False,
) -> None:
    """Draw situations, measure each with and without its causes, and judge what the diagnosis says of it."""
    wanted = Wanted(count, seed, out, tuple(only or ()), dry_run, as_json, again, hosts or "", against, why)
    if why is not None and (programs or hosts is not None):
        raise UsageError("--why is for our own load on the testbed; leave out --programs and --hosts")
    if programs and hosts is not None:
        raise UsageError("--programs and --hosts are two places to measure; the model runs no programs")
    raise typer.Exit(run_programs(wanted) if programs else run(wanted))


@dataclass(frozen=True)
class Wanted:
    """Everything the command line asked for."""

    count: int
    seed: int
    out: Path | None
    only: tuple[str, ...] = ()
    dry_run: bool = False
    as_json: bool = False
    again: bool = False
    #: Of the model, which then takes the place of the testbed.
    hosts: str = ""
    against: Path | None = None
    #: Seconds of experiments with each situation; None without.
    why: float | None = None

    def refuse_second_look(self, place: str) -> None:
        """Refuses to judge a seed for the first time again.

        Raises:
            UsageError: it was judged before.
        """
        try:
            if self.is_first:
                first_looks.refuse_second_look(place, self.seed)
        except first_looks.JudgedBeforeError as error:
            raise UsageError(f"{error}, or --again") from None

    @property
    def is_first(self) -> bool:
        """True where this is the first look at a seed."""
        return not self.again and not self.only


def run(wanted: Wanted) -> int:
    """Does what the command asks with our own load, or on the model; returns the exit code.

    Raises:
        UsageError: the seed was judged before, or there is no such situation.
    """
    catalog = situations(wanted.count, wanted.seed)
    if wanted.only:
        catalog = named(catalog, wanted.only)
    if wanted.dry_run:
        _print_drawn(catalog.situation, as_json=wanted.as_json)
        return DONE
    others = None if wanted.against is None else read_judged(wanted.against / JUDGED)
    wanted.refuse_second_look(wanted.hosts or PLACE)
    catalog = simulated(catalog, wanted.hosts) if wanted.hosts else possible(catalog)
    trials = TRIALS if wanted.hosts else MAX_TRIALS
    profile, plan = plan_truth(catalog, seed=wanted.seed, trials=trials, logs=1, hosts=wanted.hosts)
    folder = wanted.out or Path("results") / f"situations-{wanted.hosts or ''}{wanted.seed}"
    with interrupts.handled(), Experiment.create(folder, plan, profile.text) as experiment:
        with making_trials(experiment):
            if wanted.hosts:
                simulate_missing_trials(experiment, as_json=wanted.as_json)
            else:
                measure_until_clear(experiment, catalog, as_json=wanted.as_json)
        found, labels, explained = _judge(experiment, catalog)
    whys: list[JudgedWhy] = []
    if wanted.why is not None:
        with interrupts.handled():
            whys = judge_why(Measured(experiment, profile, catalog, labels.known), explained, wanted.why)
        print_why_judged(whys)
    outcome = Outcome(len(catalog.situation), found, labels.void, whys)
    _report(wanted, wanted.hosts or PLACE, folder, outcome)
    if others is not None:
        print_differences(found, others, str(wanted.against))
    return DONE


def run_programs(wanted: Wanted) -> int:
    """The same with programs of others, which are watched.

    Raises:
        UsageError: the seed was judged before, there is no such situation, or this host has no testbed.
    """
    # Imported here: what watches and explains loads for a second.
    from lab.situations.programs import runs  # noqa: PLC0415
    from lab.situations.programs.draw import DrawnPrograms, draw_programs  # noqa: PLC0415

    drawn = draw_programs(wanted.count, wanted.seed)
    if wanted.only:
        catalog = named(drawn.catalog, wanted.only)
        others = {case.name for case in drawn.watched.case} - {situation.name for situation in catalog.situation}
        drawn = DrawnPrograms(catalog, drawn.watched.without(others))
    if wanted.dry_run:
        _print_drawn(drawn.catalog.situation, as_json=wanted.as_json)
        return DONE
    wanted.refuse_second_look(PROGRAMS)
    drawn = runs.possible(drawn)
    folder = wanted.out or Path("results") / f"programs-{wanted.seed}"
    with interrupts.handled():
        try:
            made = runs.measure(drawn, folder, wanted.seed)
        except KeyboardInterrupt:
            say(f"whyperf: stopped; the same command with --out {folder} resumes")
            raise Stopped from None
    labels = labels_of(drawn.catalog, runs.rates_of(drawn, made))
    found = runs.judged(labels.known, made)
    _report(wanted, PROGRAMS, folder, Outcome(len(drawn.catalog.situation), found, labels.void))
    return DONE


@dataclass(frozen=True)
class Outcome:
    """The judgments on so many `drawn` situations, and why others are void."""

    drawn: int
    found: Sequence[Judged]
    void: Mapping[str, str]
    whys: Sequence[JudgedWhy] = ()

    @property
    def counting(self) -> int:
        """The situations with a cause that counts."""
        return len({row.situation for row in self.found if row.counts})


def _report(wanted: Wanted, place: str, folder: Path, outcome: Outcome) -> None:
    """Keeps and prints what was judged; of a first look a line is added to the file of them."""
    document = _document(outcome.found, outcome.void)
    (folder / JUDGED).write_text(document, encoding="utf-8")
    if wanted.is_first:
        numbers = (outcome.drawn, len(outcome.void), outcome.counting)
        figures = {str(view): of for view, of in shares(outcome.found).items()}
        figures |= {f"weighed-{view}": of for view, of in weighed_shares(outcome.found).items()}
        if outcome.whys:
            figures["why"] = why_shares(outcome.whys)
        line = first_looks.line_of(datetime.now().date(), _commit(), (place, wanted.seed), numbers, figures)
        first_looks.append(line)
        say(f"Added to {first_looks.FILE.name}: {line}")
    if wanted.as_json:
        typer.echo(document)
    else:
        print_judged(outcome.found, outcome.void, outcome.drawn, outcome.counting)


def named(catalog: Catalog, names: Sequence[str]) -> Catalog:
    """The catalog with these situations alone.

    Raises:
        UsageError: there is no such situation.
    """
    known = {situation.name for situation in catalog.situation}
    if missing := [name for name in names if name not in known]:
        raise UsageError(f"--only: there is no situation {missing[0]}; --dry-run lists them")
    return catalog.without(known - set(names))


def _judge(experiment: Experiment, catalog: Catalog) -> tuple[list[Judged], Labels, Sequence[Explained]]:
    labels, _ = labels_now(experiment, catalog)
    say(f"Judging {len(labels.known)} situations")
    explained = explain_levels(experiment, catalog.without(set(labels.void)), rates_of(experiment), most=LOOKS)
    return judged(labels.known, explained), labels, explained


def _print_drawn(drawn: Sequence[Situation], *, as_json: bool) -> None:
    if as_json:
        typer.echo(json.dumps([situation.model_dump(mode="json") for situation in drawn], indent=1))
    else:
        print_situations(drawn)


def print_situations(planned: Sequence[Situation]) -> None:
    """Prints what each is and injects."""
    for situation in planned:
        typer.echo(f"{situation.name}  {situation.about}")
        if situation.report:
            typer.echo(f"  stands for: {situation.report}")
        for part in situation.ingredient:
            if part.name != NO_CAUSE:
                dose = part.model_dump(mode="json", exclude={"name", "causes", "also"}, exclude_defaults=True)
                typer.echo(f"  {part.name} ({part.causes[0]}): {json.dumps(dose)}")


def _document(found: Sequence[Judged], void: Mapping[str, str]) -> str:
    return json.dumps({"void": dict(void), "judged": [dataclasses.asdict(row) for row in found]}, indent=1)


def _commit() -> str:
    asked = ("git", "-C", str(Path(__file__).parent), "describe", "--always", "--dirty")
    done = subprocess.run(asked, capture_output=True, text=True, check=False)
    return done.stdout.strip() or "unknown"
