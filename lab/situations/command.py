"""`whyperf-lab situations`: draws, measures and judges; each seed once."""

import dataclasses
import json
import subprocess
from collections.abc import Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Annotated

import typer

from lab.situations import first_looks
from lab.situations.draw import situations
from lab.situations.figures import shares
from lab.situations.judge import Judged, judged, void_situations
from lab.situations.labels import NO_CAUSE, is_clear, labels_of
from lab.situations.printed import print_judged
from lab.truth import plan_truth
from lab.truth.catalog import Catalog
from lab.truth.situation import Situation
from lab.truth.workflow.levels import explain_levels
from lab.truth.workflow.run import measure, possible
from whyperf.analyze import summarize
from whyperf.analyze.summary import Summary
from whyperf.cli.exits import DONE, UsageError, say
from whyperf.cli.live import interrupts
from whyperf.cli.workflows.trials import stopped
from whyperf.record import Experiment

NAME = "situations"
EXAMPLE = (
    "Examples: whyperf-lab situations --count 5 --dry-run · whyperf-lab situations --count 100 --seed 4711 · "
    "whyperf-lab situations --count 100 --seed 4711 --again"
)
TRIALS = 2
"""Trials of each part of a situation: a cause counts by their median."""
PLACE = "testbed"
UNCLEAR = "its rates vary by more than its causes take"
JUDGED = "judged.json"


def command(  # noqa: PLR0917 - the command line
    count: Annotated[int, typer.Option(min=1, max=100_000, help="Situations to draw.")] = 10,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the draw. A seed is judged once.")] = 1,
    out: Annotated[Path | None, typer.Option(help="Folder for the result; the same command resumes.")] = None,
    only: Annotated[
        list[str] | None,
        typer.Option("--only", metavar="NAME", help="Only these situations; no first look. Repeatable."),
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only print what is drawn.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
    again: Annotated[
        bool, typer.Option("--again", help="Judge a set that was judged before, and add no first look.")
    ] = False,
) -> None:
    """Draw situations, measure each with and without its causes, and judge what the diagnosis says of it."""
    raise typer.Exit(run(count, seed, out, tuple(only or ()), dry_run=dry_run, as_json=as_json, again=again))


def run(
    count: int, seed: int, out: Path | None, only: tuple[str, ...], *, dry_run: bool, as_json: bool, again: bool
) -> int:
    """Does what the command asks; returns the exit code.

    Raises:
        UsageError: the seed was judged before, or there is no such situation.
    """
    catalog = situations(count, seed)
    if only:
        catalog = _named(catalog, only)
    if dry_run:
        _print_drawn(catalog.situation, as_json=as_json)
        return DONE
    is_first = not again and not only
    if is_first:
        try:
            first_looks.refuse_second_look(PLACE, seed)
        except first_looks.JudgedBeforeError as error:
            raise UsageError(f"{error}, or --again") from None
    catalog = possible(catalog)
    profile, plan = plan_truth(catalog, seed=seed, trials=TRIALS, logs=1)
    folder = out or Path("results") / f"situations-{seed}"
    with interrupts.handled(), Experiment.create(folder, plan, profile.text) as experiment:
        try:
            measure(experiment, catalog, as_json=as_json)
        except KeyboardInterrupt:
            raise stopped(experiment, named=True) from None
        except BaseException:
            experiment.discard_if_empty()
            raise
        found, void = _judge(experiment, catalog)
    counting = len({row.situation for row in found if row.counts})
    (folder / JUDGED).write_text(_document(found, void), encoding="utf-8")
    if is_first:
        numbers = (len(catalog.situation), len(void), counting)
        line = first_looks.line_of(datetime.now().date(), _commit(), (PLACE, seed), numbers, shares(found))
        first_looks.append(line)
        say(f"Added to {first_looks.FILE.name}: {line}")
    if as_json:
        typer.echo(_document(found, void))
    else:
        print_judged(found, void, len(catalog.situation), counting)
    return DONE


def _named(catalog: Catalog, names: Sequence[str]) -> Catalog:
    known = {situation.name for situation in catalog.situation}
    if missing := [name for name in names if name not in known]:
        raise UsageError(f"--only: no situation {missing[0]} is drawn; --dry-run lists them")
    return catalog.without(known - set(names))


def _judge(experiment: Experiment, catalog: Catalog) -> tuple[list[Judged], dict[str, str]]:
    summary = summarize(experiment)
    by_cell = {cell.id: cell.goodput_bps for cell in summary.cells}
    rates = {cell.sweep: by_cell[cell.id] for cell in experiment.plan.cells}
    labels = labels_of(catalog, rates)
    void = {name: UNCLEAR for name, label in labels.items() if not is_clear(label, rates)}
    void |= void_situations(catalog, rates, _busy_cells(experiment, summary))
    say(f"Judging {len(catalog.situation) - len(void)} situations")
    judgeable = catalog.without(set(void))
    medians = {cell: rate.median for cell, rate in by_cell.items()}
    return judged(labels, explain_levels(experiment, judgeable, medians, most=1)), void


def _busy_cells(experiment: Experiment, summary: Summary) -> frozenset[str]:
    """The sweeps whose CPUs other programs of this host used."""
    sweeps = {cell.id: cell.sweep for cell in experiment.plan.cells}
    return frozenset(
        sweeps[cell.id] for cell in summary.cells if any(warning.code == "other_load" for warning in cell.warnings)
    )


def _print_drawn(drawn: Sequence[Situation], *, as_json: bool) -> None:
    if as_json:
        typer.echo(json.dumps([situation.model_dump(mode="json") for situation in drawn], indent=1))
        return
    for situation in drawn:
        typer.echo(f"{situation.name}  {situation.about}")
        for part in situation.ingredient:
            if part.name != NO_CAUSE:
                done = [disturbance.model_dump(mode="json", exclude_defaults=True) for disturbance in part.disturb]
                typer.echo(f"  {part.name} ({part.causes[0]}): {json.dumps(part.factors)} {json.dumps(done)}")


def _document(found: Sequence[Judged], void: Mapping[str, str]) -> str:
    return json.dumps({"void": dict(void), "judged": [dataclasses.asdict(row) for row in found]}, indent=1)


def _commit() -> str:
    asked = ("git", "-C", str(Path(__file__).parent), "describe", "--always", "--dirty")
    done = subprocess.run(asked, capture_output=True, text=True, check=False)
    return done.stdout.strip() or "unknown"
