"""Prints what a watch found: each connection, what limits it and what to change; and where the result is."""

import sys
from collections.abc import Iterator, Sequence
from shlex import quote
from typing import Any, Final, TextIO

from whyperf.analyze import Summary, summarize
from whyperf.analyze.text import bit_rate, count
from whyperf.cli.exits import DONE, DOUBTFUL, say
from whyperf.cli.output.console import Console
from whyperf.cli.output.explanation import CommandLine, explained
from whyperf.cli.streams import json_text
from whyperf.explain.explanation import CellExplanation
from whyperf.explain.headline import command_label, gain_line, step_label
from whyperf.record import Experiment, RecordError
from whyperf.record.errors import is_full
from whyperf.record.kept import fingerprint_of

#: Connections that are printed; the others are in the result.
MAX_SHOWN: Final = 8
#: Width where it goes to no terminal.
PLAIN_WIDTH: Final = 120


def print_watched(experiment: Experiment, *, as_json: bool, report: bool, on_error: bool) -> int:
    """Explains the connections of a watched result and prints it, on standard error with `on_error`; returns the exit
    code.

    Raises:
        RecordError: the record cannot be read.
    """
    fingerprint, summary = fingerprint_of(experiment.folder), summarize(experiment)
    cells = explained(experiment, None, None).cells
    page = _written(experiment, summary, fingerprint) if report else None
    if as_json:
        print(json_text(_document(experiment, cells, page)), flush=True)  # noqa: T201
        return _exit_code(summary)
    stream = sys.stderr if on_error else sys.stdout
    _print(stream, _lines(experiment, cells, page))
    return _exit_code(summary)


def _exit_code(summary: Summary) -> int:
    """3 where the watch failed. A connection that moved nothing, or was seen too briefly for a rate, is no failure."""
    lost = any(cell.failed_trials for cell in summary.cells)
    return DOUBTFUL if lost or any(advice.code == "damaged_trials" for advice in summary.warnings) else DONE


def _written(experiment: Experiment, summary: Summary, fingerprint: str) -> str | None:
    """The page; None, after saying so, where the disk is full: the result is there."""
    from whyperf.report import write  # noqa: PLC0415 - loads what draws

    try:
        return str(write(experiment, summary, fingerprint))
    except (OSError, RecordError) as error:
        if not is_full(error, experiment.folder):
            raise
        again = f"whyperf report {quote(str(experiment.folder))}"
        say(f"The report is not written: no space left; free some, and `{again}` writes it")
        return None


def _lines(experiment: Experiment, cells: Sequence[CellExplanation], page: str | None) -> Iterator[str]:
    yield ""
    for cell in cells[:MAX_SHOWN]:
        yield _named(experiment, cell)
        yield from (line if isinstance(line, CommandLine) else f"   {line}" for line in _of_cell(cell))
    if len(cells) > MAX_SHOWN:
        yield f"{count(len(cells) - MAX_SHOWN, 'more connection')} in the result"
    for warning in experiment.plan.warnings:
        yield f"Warning: {warning}"
    yield ""
    of_cell = f" --cell {cells[0].cell}" if len(cells) > 1 else ""
    yield f"In full: whyperf explain {quote(str(experiment.folder))}{of_cell}"
    if page is not None:
        yield f"Report: {page}"


def _named(experiment: Experiment, cell: CellExplanation) -> str:
    """`c0001 iperf3 10.0.0.1:40000 → 10.0.0.2:5201: 941 Mbit/s`."""
    watched = experiment.plan.cell(cell.cell).watched
    label = cell.cell if watched is None else f"{cell.cell} {watched.label}"
    return label if cell.rate_bps is None else f"{label}: {bit_rate(cell.rate_bps)}"


def _of_cell(cell: CellExplanation) -> Iterator[str]:
    if not cell.rate_bps:
        yield "It moved no payload while it was watched."
        return
    yield cell.headline
    first = next(iter(cell.verdicts), None)
    change = None if first is None else first.change
    if first is None or change is None:
        return
    for step in change.steps or ():
        yield f"{step_label(step)}: {step.words}"
        if step.command:
            yield CommandLine(f"     {step.command}")
    if change.by_hand and not change.steps:
        yield f"Change: {change.by_hand}"
    if change.command and not change.steps:
        yield f"{command_label(change)}:"
        yield CommandLine(f"     {change.command}")
    if gain := gain_line(first):
        yield gain


def _print(stream: TextIO, lines: Iterator[str]) -> None:
    console = Console(
        file=stream, highlight=False, markup=False, width=None if stream.isatty() else PLAIN_WIDTH, emoji=False
    )
    try:
        for line in lines:
            indent = len(line) - len(line.lstrip())
            whole = isinstance(line, CommandLine) or line.startswith(("In full", "Report"))
            if whole or len(line) <= console.width:
                console.print(line, soft_wrap=True)
            else:
                for part in _wrapped(line, indent, console.width):
                    console.print(part, soft_wrap=True)
    except OSError as error:
        # Standard error that nobody reads any more is no reason to lose the exit code.
        if stream is sys.stdout:
            raise
        say(str(error))


def _wrapped(line: str, indent: int, width: int) -> list[str]:
    from textwrap import wrap  # noqa: PLC0415 - most lines are short

    blank = " " * indent
    return wrap(line.strip(), max(40, width - 1), initial_indent=blank, subsequent_indent=blank)


def _document(experiment: Experiment, cells: Sequence[CellExplanation], page: str | None) -> dict[str, Any]:
    """The last line of `--json`."""
    connections = []
    for cell in cells:
        watched = experiment.plan.cell(cell.cell).watched
        connections.append({
            "cell": cell.cell,
            "local": None if watched is None else watched.local,
            "remote": None if watched is None else watched.remote,
            "program": None if watched is None else watched.program or None,
            "process": None if watched is None else watched.process,
            "rate_bps": cell.rate_bps,
            "headline": cell.headline,
            "causes": [str(found.cause) for found in cell.verdicts],
        })  # fmt: skip
    return {
        "type": "result",
        "folder": str(experiment.folder),
        "report": page,
        "warnings": list(experiment.plan.warnings),
        "connections": connections,
    }
