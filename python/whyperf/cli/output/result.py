"""Prints a result as tables or JSON, writes the report, and returns the exit code."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING

from whyperf.analyze import Summary, summarize
from whyperf.analyze.summary import CellResult
from whyperf.analyze.text import count, setting
from whyperf.cli.exits import explain as explain_error
from whyperf.cli.exits import say, wants_traceback
from whyperf.cli.inputs.experiments import note_origin
from whyperf.cli.output.cells_csv import print_csv
from whyperf.cli.output.console import print_whole, result_console
from whyperf.cli.output.fleet import fleet_lines, shared_text, slow_text
from whyperf.cli.output.formats import Format, OutputFormat
from whyperf.cli.output.single import WIDTH, single_lines
from whyperf.cli.output.streams import stream_lines
from whyperf.cli.output.tables import sweep_tables
from whyperf.cli.output.verdict import verdict
from whyperf.cli.streams import print_json, print_text
from whyperf.explain.store import StoredResult, read_result, write_result
from whyperf.record.kept import fingerprint_of
from whyperf.report.headline import headline

if TYPE_CHECKING:
    from whyperf.cli.live.intervals import PrintedLine
    from whyperf.record import Experiment

#: Lines on a single cell that a fleet has for each host instead.
OF_ONE_HOST = ("CPU ", "Cycles/KB", "Window ")
#: Codes of warnings and notes that are printed only where all are wanted: they are the same in every run on a host, or
#: follow from the number of trials that the user asked for.
QUIET = frozenset({"few_trials", "no_pmu", "unseen_segments", "evidence_cost"})
#: Results with so many cells keep their figures for comparisons.
MIN_CELLS_KEPT = 16


def print_stored(folder: Path, output: OutputFormat, *, explain: bool) -> int | None:
    """Prints the result that a folder keeps, as `print_result` would; None where it keeps none that still holds, or not
    all that is wanted.
    """
    if output.format is Format.UPERF:
        return None
    folder = folder.resolve() if folder.is_symlink() else folder
    stored = read_result(folder, fingerprint_of(folder))
    if stored is None:
        return None
    has_why = explain and _has_rate(stored.summary)
    if has_why and stored.why is None:
        return None
    note_origin(folder, is_made_here=stored.is_made_here)
    _print_as_asked(stored.summary, output, folder)
    if has_why:
        _print_why(str(stored.why), output)
    return verdict(stored.summary)


def summary_of(experiment: "Experiment") -> Summary:
    """The result: the one that is kept, where it still holds."""
    fingerprint = fingerprint_of(experiment.folder)
    stored = read_result(experiment.folder, fingerprint)
    return _judged(experiment, fingerprint) if stored is None else stored.summary


def print_result(
    experiment: "Experiment",
    output: OutputFormat,
    *,
    report: bool = True,
    explain: bool = True,
    lines: "Sequence[PrintedLine]" = (),
) -> int:
    """Judges the experiment, writes its report, prints its result and why it is so; returns the exit code.

    Of `lines`, those printed while a single trial ran, the ones that were cut are printed again. The result
    is stored; one that is there and still holds is not computed again.
    """
    fingerprint = fingerprint_of(experiment.folder)
    stored = read_result(experiment.folder, fingerprint)
    summary = _judged(experiment, fingerprint) if stored is None else stored.summary
    if output.format is Format.UPERF:
        from whyperf.cli.output.uperf import print_trials  # noqa: PLC0415 - a stored result needs none

        print_trials(experiment, interval_s=output.interval_s)
    else:
        if not output.is_for_programs:
            _print_dropped(summary, lines)
        _print_as_asked(summary, output, experiment.folder)
    if report:
        from whyperf.report import write  # noqa: PLC0415 - as above

        path = write(experiment, summary, fingerprint)
        if output.is_for_programs:
            say(f"report: {path}")
        else:
            print(f"\nReport: {path}")  # noqa: T201
    why = None if stored is None else stored.why
    if explain and _has_rate(summary):
        why, sentence = _why(experiment, summary) if why is None else (why, why)
        _print_why(sentence, output)
    if stored is None or stored.why != why:
        write_result(experiment.folder, StoredResult(summary, why, experiment.is_made_here), fingerprint)
    return verdict(summary)


def _judged(experiment: "Experiment", fingerprint: str) -> Summary:
    """The result. Of many cells, what `whyperf compare` needs is kept, too: it takes seconds to read them again."""
    if len(experiment.plan.cells) < MIN_CELLS_KEPT:
        return summarize(experiment)
    # A stored result needs none of it.
    from whyperf.analyze import read_inputs, summarize_inputs  # noqa: PLC0415
    from whyperf.compare.figures import keep_figures  # noqa: PLC0415

    inputs = read_inputs(experiment)
    keep_figures(experiment, experiment.trials(), inputs, fingerprint)
    return summarize_inputs(inputs)


def _has_rate(summary: Summary) -> bool:
    return any(cell.goodput_bps.median is not None for cell in summary.cells)


def _print_as_asked(summary: Summary, output: OutputFormat, folder: Path) -> None:
    """The result alone, in each format but uperf's."""
    if output.format is Format.JSON:
        print_json(summary.model_dump(mode="json"))
    elif output.format is Format.CSV:
        print_csv(summary)
    else:
        _print(summary, output, folder)
        if summary.evidence is not None and summary.evidence.log_trials:
            print(f"\nSegment flow: whyperf show --view flow {quote(str(folder))}")  # noqa: T201
        from whyperf.plan import STAGES_PREFIX  # noqa: PLC0415 - a stored result needs no plan

        if any(folder.glob(f"trials/{STAGES_PREFIX}*/stages.*.parquet")):
            print(f"\nProcessing times: whyperf show --view flow {quote(str(folder))}")  # noqa: T201


def _print_why(sentence: str, output: OutputFormat) -> None:
    if output.is_for_programs:
        say(f"Why: {sentence}")
    else:
        print_text(f"Why: {sentence}")


def _why(experiment: "Experiment", summary: Summary) -> tuple[str | None, str]:
    """Why the rate is what it is, in one sentence, None without one; and what to print.

    A result is never lost because it could not be explained.
    """
    from whyperf.cli.output.explanation import why  # noqa: PLC0415 - a stored result needs none
    from whyperf.record import RecordError  # noqa: PLC0415 - as above

    try:
        sentence = why(experiment, summary)
    except RecordError as error:
        return None, f"not explained: {error}"
    except Exception as error:
        if wants_traceback():
            raise
        return None, f"not explained: {explain_error(error)[1]}"
    return sentence, sentence


def _print_dropped(summary: Summary, lines: "Sequence[PrintedLine]") -> None:
    """The interval lines that the goodput of a single trial leaves out, marked."""
    if not lines:
        return
    from whyperf.cli.live.intervals import dropped_lines  # noqa: PLC0415 - as above

    cut = summary.cells[0].cut
    if cut is None or len(summary.cells) > 1 or summary.cells[0].trials > 1:
        return
    dropped = dropped_lines(lines, cut.to_s)
    if dropped:
        print("\nNot in the goodput, cut before the steady state:", *dropped, sep="\n")  # noqa: T201


def _print(summary: Summary, output: OutputFormat, folder: Path) -> None:
    console = result_console()
    console.print()
    if len(summary.cells) == 1:
        for line in _single(summary.cells[0], output):
            print_text(line, WIDTH)
    else:
        for table in sweep_tables(summary, console.width):
            print_whole(console, table)
            console.print()
        for line in (headline(summary), *_fleets(summary)):
            print_text(line)
    if output.per_stream:
        for line in _per_stream(summary, output):
            console.print(line, soft_wrap=True)
    for line in note_lines(summary, folder, wants_all=output.all_notes):
        print_text(line)


def _single(cell: CellResult, output: OutputFormat) -> Iterator[str]:
    """The lines on the only cell. What is of one host's sockets and CPUs says little of many hosts."""
    lines = single_lines(cell, output.rate, output.window_for_bps)
    if cell.fleet is None:
        yield from lines
        return
    yield from (line for line in lines if not line.startswith(OF_ONE_HOST))
    yield from fleet_lines(cell.fleet, output.rate)
    yield ""


def _fleets(summary: Summary) -> Iterator[str]:
    """Says how evenly each cell was shared and when its hosts began, and names its slowest host."""
    for cell in summary.cells:
        if cell.fleet is not None and (shared := shared_text(cell.fleet)):
            yield f"Fleet of {cell.id}: {shared}."
    for cell in summary.cells:
        if cell.fleet is not None and cell.fleet.slow:
            yield f"Slow host in {cell.id}: {slow_text(cell.fleet.slow[0], cell.fleet)}."


def _per_stream(summary: Summary, output: OutputFormat) -> Iterator[str]:
    """The connections of every cell that has a result."""
    for cell in summary.cells:
        if cell.goodput_bps.median is not None:
            yield ""
            if len(summary.cells) > 1:
                yield f"{cell.id}: {setting(cell.factors, summary.varied)}"
            yield from stream_lines(cell, output.rate)
    yield ""


MISSED = frozenset({"not_sampled"})
"""Notes on evidence that was asked for and is not there."""


def note_lines(summary: Summary, folder: Path, *, wants_all: bool) -> list[str]:
    """The first warning and the first note, and the command that prints the others; or all."""
    warnings = [(each.code, f"Warning: {each.text} {each.advice}".rstrip()) for each in summary.warnings]
    # What was asked for and could not be done comes first.
    facts = sorted(summary.facts, key=lambda each: each.code not in MISSED)
    notes = [(each.code, f"Note: {each.text}") for each in facts]
    if wants_all:
        return [line for _, line in (*warnings, *notes)]
    first = [[line for code, line in lines if code not in QUIET][:1] for lines in (warnings, notes)]
    shown = [line for lines in first for line in lines]
    # Quiet ones are worth no word of their own, and count with others.
    if sum(code not in QUIET for code, _ in (*warnings, *notes)) == len(shown):
        return shown
    left = (len(warnings) - len(first[0]), len(notes) - len(first[1]))
    left_out = [count(number, f"more {noun}") for number, noun in zip(left, ("warning", "note"), strict=True) if number]
    more = f"{' and '.join(left_out)}: whyperf show {quote(str(folder))} --notes"
    return [*shown, more]
