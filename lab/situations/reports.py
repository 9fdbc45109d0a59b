"""`whyperf-lab reports`: what the experiments of `whyperf why` answer to public kinds of reports of slow transfers."""

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from statistics import median
from typing import Annotated

import typer

from lab.situations.command import named, print_situations
from lab.situations.judge import OUTCOMES
from lab.situations.labels import RAISES_FROM, Label, Labels
from lab.situations.measuring import MAX_TRIALS, labels_now, measure_until_clear, rates_of
from lab.situations.why import LEVEL, JudgedWhy, Measured, judge_why
from lab.tables import console_of_tables, plain_table
from lab.truth import load_catalog, plan_truth
from lab.truth.catalog import Catalog
from lab.truth.workflow.levels import explain_levels
from lab.truth.workflow.run import making_trials, possible, refuse_other_disturbances
from whyperf.analyze.text import count
from whyperf.cli.commands.arguments import BUDGET_S
from whyperf.cli.exits import DONE
from whyperf.cli.live import interrupts
from whyperf.record import Experiment

NAME = "reports"
EXAMPLE = "Examples: whyperf-lab reports --dry-run · whyperf-lab reports --only nagle --why 15"
CATALOG = Path(__file__).with_name("reports.toml")


def command(
    only: Annotated[
        list[str] | None, typer.Option("--only", metavar="NAME", help="Only these reports. Repeatable.")
    ] = None,
    why: Annotated[
        float, typer.Option(min=2, metavar="S", help="Seconds of experiments with each, as the budget of whyperf why.")
    ] = BUDGET_S,
    out: Annotated[Path | None, typer.Option(help="Folder for the result; the same command resumes.")] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Print what would be measured.")] = False,
) -> None:
    """Measure public kinds of reports, with and without their causes, and judge what whyperf why answers to each."""
    raise typer.Exit(run(only or (), why, out, dry_run=dry_run))


def run(only: Sequence[str] = (), budget_s: float = BUDGET_S, out: Path | None = None, *, dry_run: bool = False) -> int:
    """Does what the command asks; returns the exit code.

    Raises:
        UsageError: there is no such report, or this host cannot measure them.
    """
    whole = load_catalog(CATALOG)
    if only:
        whole = named(whole, only)
    catalog = whole if dry_run else possible(whole)
    # No log: a first look has counters alone.
    profile, plan = plan_truth(catalog, trials=MAX_TRIALS, logs=0)
    if dry_run:
        print_situations(catalog.situation)
        typer.echo(f"{count(len(catalog.situation), 'report')}, at most {count(plan.trials_count, 'trial')}")
        return DONE
    folder = out or Path("results") / f"{NAME}-{plan.id[:6]}"
    with interrupts.handled(), Experiment.create(folder, plan, profile.text) as experiment:
        refuse_other_disturbances(experiment, profile)
        with making_trials(experiment):
            measure_until_clear(experiment, catalog, as_json=False)
        labels, _ = labels_now(experiment, catalog)
        counting = {name: label for name, label in labels.known.items() if label.counts}
        others = {situation.name for situation in catalog.situation} - counting.keys()
        rates = rates_of(experiment)
        looks = explain_levels(experiment, catalog.without(others), rates, most=1, wanted=(LEVEL,))
    with interrupts.handled():
        rows = judge_why(Measured(experiment, profile, catalog, counting), looks, budget_s)
    print_reports(whole, labels, rows)
    return DONE


def print_reports(catalog: Catalog, labels: Labels, rows: Sequence[JudgedWhy]) -> None:
    """Prints a line for each report, and how many are right; what was not judged is void, with the reason."""
    table = plain_table("Report", "Outcome", "Known", "Seconds", "Named", "By", "Without its cause")
    for row in rows:
        raises = max(labels.known[row.situation].raises.values())
        outcome = (row.outcome.replace("_", " "), row.known.replace("_", " "), f"{row.seconds:.1f}")
        table.add_row(row.situation, *outcome, ", ".join(row.found), row.tried, f"{raises:.2f} ×")
    console_of_tables().print(table)
    void = void_of(catalog, labels, {row.situation for row in rows})
    for name, reason in void.items():
        typer.echo(f"void: {name}: {reason}")
    typer.echo(total(rows, void))


def void_of(catalog: Catalog, labels: Labels, judged: Collection[str]) -> dict[str, str]:
    """Why the others than those that were judged were not, by their names."""
    return {
        situation.name: _reason(labels.known.get(situation.name), labels.void.get(situation.name))
        for situation in catalog.situation
        if situation.name not in judged
    }


def _reason(label: Label | None, void: str | None) -> str:
    if void is not None or label is None:
        return void or "it was not measured"
    if not label.counts:
        return f"without its cause the rate is {label.together:.2f} times as high, and {RAISES_FROM} would count"
    return "the experiments could not be made"


def total(rows: Sequence[JudgedWhy], void: Mapping[str, str]) -> str:
    """Says how many answers are right of those that were judged, and how long they took."""
    by = Counter(row.outcome for row in rows)
    counted = ", ".join(f"{by[outcome]} {outcome.replace('_', ' ')}" for outcome in OUTCOMES)
    took = f"; {median(row.seconds for row in rows):.1f} s each (median)" if rows else ""
    return f"{count(len(rows) + len(void), 'report')}: {len(void)} void, {len(rows)} judged: {counted}{took}"
