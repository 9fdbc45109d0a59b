"""Prints the segment flow as text or JSON, writes its page, and returns the exit code.

Prints processing times: a table for each direction at each host, and for the messages of each direction.
"""

import shlex
import textwrap
from collections.abc import Collection, Iterator, Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import NamedTuple

from rich import box
from rich.table import Table

from whyperf.analyze.flow import FlowTrial, open_trial
from whyperf.analyze.stages import TrialStages, has_stages, trial_stages
from whyperf.analyze.stages.experiment import read_cells
from whyperf.analyze.stages.probe_cost import costs_by_host
from whyperf.analyze.text import percent, setting, significant
from whyperf.analyze.warnings.catalog import WARNING_TEXTS
from whyperf.cli.exits import DONE, DOUBTFUL, UsageError, say
from whyperf.cli.output.console import Console, print_whole, result_console
from whyperf.cli.streams import print_json
from whyperf.record import Experiment
from whyperf.report.flow import FlowSummary, flow_json, gaps, headline, summarize_flow, warnings, write
from whyperf.report.flow.connections import Column, connections
from whyperf.report.flow.rows import host_rows
from whyperf.report.repeat import command
from whyperf.report.stages import Block, blocks_of, notes_of, stages_json, trial_section
from whyperf.report.stages.section import ABOUT

SUMS = ("All stages", "Whole time")
MIN_WIDTH = 40
GAP = 2
"""Spaces between two columns."""


def print_stages(console: Console, found: TrialStages, host: str | None = None) -> None:
    """All tables, or with `host` those that it has a part in."""
    for block in blocks_of(found):
        if host is None or host in block.hosts:
            _print_block(console, block)
    console.print()
    for note in notes_of(found):
        print_wrapped(console, f"Note: {note}")


def print_wrapped(console: Console, text: str, indent: str = "") -> None:
    """A sentence in lines that fit the console; its further lines are indented, too."""
    width = max(MIN_WIDTH, console.width - 1)
    for line in textwrap.wrap(text, width, initial_indent=indent, subsequent_indent=indent, break_on_hyphens=False):
        console.print(line, soft_wrap=True)


def _print_block(console: Console, block: Block) -> None:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False, collapse_padding=True)
    for number, (heading, width) in enumerate(zip(block.columns, _widths(block, console.width), strict=True)):
        table.add_column(heading, justify="right" if number else "left", width=width)
    for number, row in enumerate(block.rows):
        # The sum stands apart, also from what is not in it.
        if row[0] in SUMS or (number and block.rows[number - 1][0] in SUMS):
            table.add_section()
        table.add_row(*row)
    console.print()
    print_wrapped(console, block.heading)
    console.print(table)
    for note in block.notes:
        print_wrapped(console, note, "  ")


def _widths(block: Block, room: int) -> list[int]:
    """The width of each column: headings are broken between words where the room is small, and cells are not."""
    cells = [max((len(row[number]) for row in block.rows), default=0) for number in range(len(block.columns))]
    whole = [max(width, len(heading)) for width, heading in zip(cells, block.columns, strict=True)]
    if sum(whole) + GAP * (len(whole) - 1) <= room:
        return whole
    return [
        max(width, *(len(word) for word in heading.split()))
        for width, heading in zip(cells, block.columns, strict=True)
    ]


LABEL = 16
#: The terminal lists at most this many connections; the page and --json have all.
MAX_ROWS = 20
#: Trials that are named; of more, how many.
MAX_NAMES = 3


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
    staged = _stages(experiment, trial_read, connection)
    stages = None if staged is None else staged.found
    section = None if staged is None else trial_section(staged.found, f"{ABOUT} They are of {staged.name}.")
    path = None
    if page and (summary.logs or section is not None):
        path = write(experiment.folder, experiment.name, summary, section)
    if as_json:
        document = None if stages is None else stages_json(stages)
        print_json(flow_json(summary, experiment.name, path, host, document))
    else:
        _print(experiment, summary, host, path, staged)
    return DONE if not damaged and all(log.is_nearly_complete for log in summary.logs) else DOUBTFUL


class _Staged(NamedTuple):
    """Processing times, and the trials that they are of."""

    found: TrialStages
    trials: Sequence[str]

    @property
    def name(self) -> str:
        """The trials as text."""
        names = ", ".join(self.trials[:MAX_NAMES])
        return f"{names} and {len(self.trials) - MAX_NAMES} more" if len(self.trials) > MAX_NAMES else names


def _stages(experiment: Experiment, trial: FlowTrial, connection: int | None) -> _Staged | None:
    """The processing times of the trial; where it has none, those of the trials of its cell that were made for them."""
    if has_stages(trial):
        found = trial_stages(trial, connection, costs_by_host(experiment.trials().staged.values()))
        return None if found is None else _Staged(found, [trial.trial])
    cells = read_cells(experiment, experiment.trials(), {trial.cell})
    return _Staged(cells[0].found, cells[0].trials) if cells and cells[0].found is not None else None


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
    return _best([name for name in names if name not in damaged] or names, trials)


def _best(names: Sequence[str], trials: Path) -> str:
    """The first trial with a log, with stage times, or with a table; otherwise the first."""
    logged = [name for name in names if any((trials / name).glob("segments.*.parquet"))]
    staged = [name for name in names if any((trials / name).glob("stages.*.parquet"))]
    whole = [name for name in names if any((trials / name).glob("flows.*.parquet"))]
    return (logged or staged or whole or names)[0]


def _setting(experiment: Experiment, cell: str) -> str:
    """In what a cell differs from others; empty where it is the only one, or a watched connection."""
    plan = experiment.plan
    if len(plan.cells) == 1 or plan.watched is not None or cell not in {planned.id for planned in plan.cells}:
        return ""
    return setting(dict(plan.cell(cell).factors), list(plan.differing))


def _print(
    experiment: Experiment, summary: FlowSummary, host: str | None, path: Path | None, staged: _Staged | None
) -> None:
    console = result_console()
    console.print(f"{experiment.name}, trial {summary.trial.trial}", soft_wrap=True)
    if levels := _setting(experiment, summary.trial.cell):
        print_wrapped(console, f"Cell {summary.trial.cell}: {levels}")
    known = next((cell.watched for cell in experiment.plan.cells if cell.id == summary.trial.cell), None)
    if known is not None:
        console.print(known.label, soft_wrap=True)
    print_wrapped(console, headline(summary))
    for flow in summary.hosts:
        if host in {None, flow.end.host}:
            console.print(f"\n{flow.end.role.capitalize()} ({flow.end.host} side)")
            for label, text in host_rows(flow):
                for line in _lines(label, text, console.width):
                    console.print(line, soft_wrap=True)
    table = _table(summary)
    if table is not None:
        console.print()
        print_whole(console, table)
    if staged is not None:
        console.print()
        print_wrapped(console, f"Processing times, {staged.name}")
        print_stages(console, staged.found, host)
    console.print()
    for line in _notes(experiment, summary, staged):
        print_wrapped(console, line)
    for sentence, line in _commands(experiment, summary, staged):
        print_wrapped(console, sentence)
        # A command to copy is never broken into lines.
        console.print(f"  {line}", soft_wrap=True)
    if path is not None:
        console.print(f"Page: {path}", soft_wrap=True)


def _notes(experiment: Experiment, summary: FlowSummary, staged: _Staged | None) -> Iterator[str]:
    """Where the values are from, and what the logs lack."""
    if summary.logs:
        yield from (f"Warning: {warning}" for warning in warnings(summary))
        yield from (f"Note: {gap}" for gap in gaps(summary, nearly_complete=True))
        return
    source = _source(summary)
    if staged is not None:
        own = summary.trial.trial
        other = "" if list(staged.trials) == [own] else f" of {own}, the processing times from {staged.name}"
        yield f"The values at the top are from {source}{other}. There is no segment log."
        return
    yield f"There is no segment log; the values above are from {source}."
    if reasons := _refused(summary):
        yield f"It was requested, but {'; '.join(reasons)}"
    elif experiment.plan.watched is not None:
        yield "To see every segment, watch with --evidence segments."


def _refused(summary: FlowSummary) -> list[str]:
    """Why sides that were asked for a log have none."""
    ends = [flow.end for flow in summary.hosts]
    return [
        f"{end.host} side: {end.evidence.reason}"
        for end in ends
        if end.evidence.asked == "segments" and end.evidence.reason
    ]


def _commands(experiment: Experiment, summary: FlowSummary, staged: _Staged | None) -> Iterator[tuple[str, str]]:
    """The way to get the log where there is none, and to see another cell: a sentence and a command each."""
    plan, folder = experiment.plan, str(experiment.folder)
    has_none = not summary.logs and staged is None and plan.watched is None and not _refused(summary)
    if has_none and (same := command(experiment, plan.model_copy(update={"evidence": None}))):
        yield "To measure with the log:", f"{same} --evidence segments"
    trials: dict[str, list[str]] = {}
    for name, manifest in experiment.trials().manifests.items():
        if (experiment.folder / "trials" / name).exists():
            trials.setdefault(manifest.cell, []).append(name)
    order = [cell.id for cell in plan.cells]
    own = order.index(summary.trial.cell) if summary.trial.cell in order else -1
    others = [cell for cell in (*order[own + 1 :], *order[: max(own, 0)]) if cell in trials]
    if others:
        name = _best(sorted(trials[others[0]]), experiment.folder / "trials")
        levels = _setting(experiment, others[0])
        of = f"cell {others[0]} ({levels})" if levels else f"cell {others[0]}"
        have = "cell has trials" if len(others) == 1 else "cells have trials"
        yield f"{len(others):,} more {have}. For {of}:", shlex.join(["whyperf", "show", "--view", "flow", folder, name])


def _lines(label: str, text: str, width: int) -> Iterator[str]:
    """A label and its text, wrapped between words and indented."""
    parts = textwrap.wrap(text, max(30, width - LABEL - 2)) or [""]
    yield f"  {label:<{LABEL}}{parts[0]}"
    for part in parts[1:]:
        yield f"  {'':<{LABEL}}{part}"


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
