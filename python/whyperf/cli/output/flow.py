"""Tells the segment flow: lines or JSON on standard output, the page beside, the exit code."""

import sys
import textwrap
from collections.abc import Collection, Iterator
from difflib import get_close_matches
from pathlib import Path

from rich import box
from rich.console import Console
from rich.table import Table

from whyperf.analyze.flow import open_trial
from whyperf.analyze.text import percent, significant
from whyperf.analyze.warnings.catalog import KINDS
from whyperf.cli.exits import DONE, DOUBTFUL, UsageError, say
from whyperf.cli.streams import print_json
from whyperf.record import Experiment
from whyperf.report.flow import Told, doubts, flow_json, gaps, headline, tell, write
from whyperf.report.flow.connections import Column, connections
from whyperf.report.flow.rows import end_rows
from whyperf.report.repeat import command

#: Width where standard output is no terminal.
PLAIN_WIDTH = 120
LABEL = 16
#: Connections told in the terminal; the page and --json have all.
MOST_ROWS = 20


def tell_flow(
    experiment: Experiment, trial: str | None, connection: int | None, host: str | None, *, as_json: bool, page: bool
) -> int:
    """Tells the flow of a trial; returns the exit code: 3 when a log lacks 1 % or more.

    Raises:
        UsageError: there is no such trial or connection.
        RecordError: the record cannot be read, or the page cannot be written.
    """
    damaged = {one.trial: one.reason for one in experiment.trials().damaged}
    name = _find_trial(experiment, trial, damaged)
    for one in sorted(damaged.keys() & {name, trial or _find_trial(experiment, None, {})}):
        left = "may not be told rightly" if one == name else "is left out"
        say(f"trial {one} {left}: {damaged[one]}. {KINDS['damaged_trials'].advice}")
    told = tell(open_trial(experiment.folder / "trials" / name), connection)
    if connection is not None and connection not in told.numbers:
        raise UsageError(f"{name} has no connection {connection}; it has {_numbers(told)}")
    path = write(experiment.folder, experiment.name, told) if page and told.logs else None
    if as_json:
        print_json(flow_json(told, experiment.name, path, host))
    else:
        _print(experiment, told, host, path)
    return DONE if not damaged and all(log.is_nearly_complete for log in told.logs) else DOUBTFUL


def _find_trial(experiment: Experiment, wanted: str | None, damaged: Collection[str]) -> str:
    """The trial that is asked for; else the first whole one with a log, else the first that has a table at all."""
    trials = experiment.folder / "trials"
    names = sorted(path.parent.name for path in trials.glob("[!.]*/manifest.json"))
    if not names:
        raise UsageError(f"{experiment.folder} has no trial yet; `whyperf run` measures some")
    if wanted is not None:
        if wanted in names:
            return wanted
        near = get_close_matches(wanted, names, n=1)
        hint = f"did you mean {near[0]}?" if near else f"it has {names[0]} to {names[-1]}"
        raise UsageError(f"{experiment.name} has no trial {wanted}; {hint}")
    kept = [name for name in names if name not in damaged] or names
    logged = [name for name in kept if any((trials / name).glob("segments.*.parquet"))]
    whole = [name for name in kept if any((trials / name).glob("flows.*.parquet"))]
    return (logged or whole or kept)[0]


def _print(experiment: Experiment, told: Told, host: str | None, path: Path | None) -> None:
    console = Console(highlight=False, markup=False, width=None if sys.stdout.isatty() else PLAIN_WIDTH)
    console.print(f"{experiment.name}, trial {told.trial.trial}")
    console.print(headline(told), soft_wrap=True)
    for one in told.ends:
        if host in {None, one.end.host}:
            console.print(f"\n{one.end.role.capitalize()} ({one.end.host} end)")
            for label, text in end_rows(one):
                for line in _lines(label, text, console.width):
                    console.print(line, soft_wrap=True)
    table = _table(told)
    if table is not None:
        console.print()
        console.print(table)
    console.print()
    if not told.logs:
        console.print(no_log(experiment, told), soft_wrap=True)
    else:
        for doubt in doubts(told):
            console.print(f"Warning: {doubt}", soft_wrap=True)
        for gap in gaps(told, nearly_complete=True):
            console.print(f"Note: {gap}", soft_wrap=True)
    if path is not None:
        console.print(f"Page: {path}", soft_wrap=True)


def _lines(label: str, text: str, width: int) -> Iterator[str]:
    """A label and its text, broken between words and hanging."""
    parts = textwrap.wrap(text, max(30, width - LABEL - 2)) or [""]
    yield f"  {label:<{LABEL}}{parts[0]}"
    for part in parts[1:]:
        yield f"  {'':<{LABEL}}{part}"


def no_log(experiment: Experiment, told: Told) -> str:
    """At which level evidence is there, and how to get the log."""
    levels = sorted({one.level for one in told.ends})
    where = "in the kernel's counters" if "counters" in levels else "in what the kernel tells everybody (TCP_INFO)"
    text = f"There is no segment log; what is above is {where}."
    refused = [one.end for one in told.ends if one.end.evidence.asked == "segments" and one.end.evidence.reason]
    if refused:
        ends = "; ".join(f"{end.host} end: {end.evidence.reason}" for end in refused)
        return f"{text} It was asked for, but {ends}"
    same = command(experiment.plan.model_copy(update={"evidence": None}), str(experiment.folder))
    return f"{text} The same with the log: {same} --evidence segments"


def _table(told: Told) -> Table | None:
    found = connections(told)
    if found is None or told.connection is not None:
        return None
    left = len(found.rows) - MOST_ROWS
    caption = found.note + (f" {left:,} more are on the page and in --json." if left > 0 else "")
    table = Table(box=box.SIMPLE_HEAD, caption=caption, caption_justify="left", pad_edge=False, show_edge=False)
    for column in found.columns:
        table.add_column(column.heading, justify="right")
    for row in found.rows[:MOST_ROWS]:
        table.add_row(*(_cell(value, column) for value, column in zip(row, found.columns, strict=True)))
    return table


def _cell(value: float | None, column: Column) -> str:
    if value is None:
        return "unknown"
    if column.kind == "ratio":
        return percent(value)
    return significant(value, 4) if column.kind == "mean" else f"{value:,.0f}"


def _numbers(told: Told) -> str:
    return f"{told.numbers[0]} to {told.numbers[-1]}" if len(told.numbers) > 1 else f"only {told.numbers[0]}"
