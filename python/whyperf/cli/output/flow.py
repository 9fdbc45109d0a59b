"""Prints the segment flow as text or JSON, writes its page, and returns the exit code."""

import sys
import textwrap
from collections.abc import Collection, Iterator
from difflib import get_close_matches
from pathlib import Path

from rich import box
from rich.console import Console
from rich.table import Table

from whyperf.analyze.flow import FlowTrial, open_trial
from whyperf.analyze.stages import TrialStages, has_stages, trial_stages
from whyperf.analyze.stages.experiment import read_cells
from whyperf.analyze.text import percent, significant
from whyperf.analyze.warnings.catalog import WARNING_TEXTS
from whyperf.cli.exits import DONE, DOUBTFUL, UsageError, say
from whyperf.cli.output.stages import print_stages
from whyperf.cli.streams import print_json
from whyperf.record import Experiment
from whyperf.report.flow import FlowSummary, flow_json, gaps, headline, summarize_flow, warnings, write
from whyperf.report.flow.connections import Column, connections
from whyperf.report.flow.rows import host_rows
from whyperf.report.repeat import command
from whyperf.report.stages import stages_json, trial_section
from whyperf.report.stages.section import ABOUT

#: Width where standard output is no terminal.
PLAIN_WIDTH = 120
LABEL = 16
#: The terminal lists at most this many connections; the page and --json have all.
MAX_ROWS = 20


def print_flow(
    experiment: Experiment, trial: str | None, connection: int | None, host: str | None, *, as_json: bool, page: bool
) -> int:
    """Prints the flow of a trial; returns the exit code: 3 when a log lacks 1 % or more.

    Raises:
        UsageError: there is no such trial or connection.
        RecordError: the record cannot be read, or the page cannot be written.
    """
    damaged = {broken.trial: broken.reason for broken in experiment.trials().damaged}
    name = _find_trial(experiment, trial, damaged)
    for broken in sorted(damaged.keys() & {name, trial or _find_trial(experiment, None, {})}):
        effect = "may be shown incorrectly" if broken == name else "is left out"
        say(f"trial {broken} {effect}: {damaged[broken]}. {WARNING_TEXTS['damaged_trials'].advice}")
    trial_read = open_trial(experiment.folder / "trials" / name)
    summary = summarize_flow(trial_read, connection)
    if connection is not None and connection not in summary.numbers:
        raise UsageError(f"{name} has no connection {connection}; it has {_numbers(summary)}")
    stages = _stages(experiment, trial_read, connection)
    section = None if stages is None else trial_section(stages, f"{ABOUT} They are of trial {stages.trial}.")
    path = None
    if page and (summary.logs or section is not None):
        path = write(experiment.folder, experiment.name, summary, section)
    if as_json:
        document = None if stages is None else stages_json(stages)
        print_json(flow_json(summary, experiment.name, path, host, document))
    else:
        _print(experiment, summary, host, path, stages)
    return DONE if not damaged and all(log.is_nearly_complete for log in summary.logs) else DOUBTFUL


def _stages(experiment: Experiment, trial: FlowTrial, connection: int | None) -> TrialStages | None:
    """The processing times of the trial; where it has none, those of the trials of its cell that were made for them."""
    if has_stages(trial):
        return trial_stages(trial, connection)
    cells = read_cells(experiment, experiment.trials(), {trial.cell})
    return cells[0].found if cells else None


def _find_trial(experiment: Experiment, wanted: str | None, damaged: Collection[str]) -> str:
    """The requested trial; otherwise the first complete one with a log, with stage times, or with a table."""
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
    staged = [name for name in kept if any((trials / name).glob("stages.*.parquet"))]
    whole = [name for name in kept if any((trials / name).glob("flows.*.parquet"))]
    return (logged or staged or whole or kept)[0]


def _print(
    experiment: Experiment, summary: FlowSummary, host: str | None, path: Path | None, stages: TrialStages | None
) -> None:
    console = Console(highlight=False, markup=False, width=None if sys.stdout.isatty() else PLAIN_WIDTH)
    console.print(f"{experiment.name}, trial {summary.trial.trial}")
    known = next((cell.watched for cell in experiment.plan.cells if cell.id == summary.trial.cell), None)
    if known is not None:
        console.print(known.label, soft_wrap=True)
    console.print(headline(summary), soft_wrap=True)
    for flow in summary.hosts:
        if host in {None, flow.end.host}:
            console.print(f"\n{flow.end.role.capitalize()} ({flow.end.host} side)")
            for label, text in host_rows(flow):
                for line in _lines(label, text, console.width):
                    console.print(line, soft_wrap=True)
    table = _table(summary)
    if table is not None:
        console.print()
        console.print(table)
    if stages is not None:
        print_stages(console, stages, host)
    console.print()
    for line in _notes(experiment, summary, stages):
        console.print(line, soft_wrap=True)
    if path is not None:
        console.print(f"Page: {path}", soft_wrap=True)


def _notes(experiment: Experiment, summary: FlowSummary, stages: TrialStages | None) -> Iterator[str]:
    """Where the values are from, and what the logs lack."""
    if not summary.logs and stages is not None:
        yield f"The values above are from {_source(summary)}; the times are from {stages.trial}."
    elif not summary.logs:
        yield no_log(experiment, summary)
    else:
        yield from (f"Warning: {warning}" for warning in warnings(summary))
        yield from (f"Note: {gap}" for gap in gaps(summary, nearly_complete=True))


def _lines(label: str, text: str, width: int) -> Iterator[str]:
    """A label and its text, wrapped between words and indented."""
    parts = textwrap.wrap(text, max(30, width - LABEL - 2)) or [""]
    yield f"  {label:<{LABEL}}{parts[0]}"
    for part in parts[1:]:
        yield f"  {'':<{LABEL}}{part}"


def no_log(experiment: Experiment, summary: FlowSummary) -> str:
    """The evidence level of the values, and how to get the log."""
    text = f"There is no segment log; the values above are from {_source(summary)}."
    ends = [flow.end for flow in summary.hosts]
    refused = [end for end in ends if end.evidence.asked == "segments" and end.evidence.reason]
    if refused:
        reasons = "; ".join(f"{end.host} side: {end.evidence.reason}" for end in refused)
        return f"{text} It was requested, but {reasons}"
    if experiment.plan.watched is not None:
        return f"{text} To see every segment, watch with --evidence segments, as root."
    same = command(experiment.plan.model_copy(update={"evidence": None}), str(experiment.folder))
    return f"{text} To measure with the log: {same} --evidence segments"


def _source(summary: FlowSummary) -> str:
    levels = {flow.level for flow in summary.hosts}
    return "BPF counters" if "counters" in levels else "TCP_INFO and the calls"


def _table(summary: FlowSummary) -> Table | None:
    found = connections(summary)
    if found is None or summary.connection is not None:
        return None
    left = len(found.rows) - MAX_ROWS
    caption = found.note + (f" {left:,} more are on the page and in --json." if left > 0 else "")
    table = Table(box=box.SIMPLE_HEAD, caption=caption, caption_justify="left", pad_edge=False, show_edge=False)
    for column in found.columns:
        table.add_column(column.heading, justify="right")
    for row in found.rows[:MAX_ROWS]:
        table.add_row(*(_cell(value, column) for value, column in zip(row, found.columns, strict=True)))
    return table


def _cell(value: float | None, column: Column) -> str:
    if value is None:
        return "unknown"
    if column.kind == "ratio":
        return percent(value)
    return significant(value, 4) if column.kind == "mean" else f"{value:,.0f}"


def _numbers(summary: FlowSummary) -> str:
    return (
        f"{summary.numbers[0]} to {summary.numbers[-1]}" if len(summary.numbers) > 1 else f"only {summary.numbers[0]}"
    )
