"""Prints the entries of the studies: the list, one in full, the commands, and JSON."""

import shutil
import textwrap
from collections.abc import Mapping

from rich import box
from rich.table import Table

from whyperf.analyze.text import count, percent
from whyperf.cli.durations import duration
from whyperf.cli.output.console import Console
from whyperf.studies.catalog import Chosen, Study, StudyEntry, StudyRun, as_typed
from whyperf.studies.folder import StudyResults
from whyperf.studies.judge import SHAPE_TEXTS, Shape, StudyVerdict, tally
from whyperf.studies.page import command_of, figure_rows, unit_of, verdict_text

#: Wider lines are hard to read.
MAX_WIDTH = 100


def print_entries(part: Chosen, results: StudyResults | None, verdicts: Mapping[str, StudyVerdict]) -> None:
    """The list: id, kind, verdict, claim and command of each."""
    console, width = _console()
    for study in part.studies:
        console.print(f"{study.name}: {study.title}", style="bold")
        for entry in study.entry:
            console.print()
            _print_head(console, width, part, entry, verdicts[entry.id])
        console.print()
    console.print(_wrapped(_summary(part, verdicts, results), width, ""))


def print_entry(part: Chosen, results: StudyResults | None, verdicts: Mapping[str, StudyVerdict]) -> None:
    """One entry in full: the figures of the study next to ours."""
    console, width = _console()
    (study,), (entry,) = part.studies, part.entries
    verdict = verdicts[entry.id]
    _print_head(console, width, part, entry, verdict)
    console.print()
    for name, rows in figure_rows(verdict):
        table = Table(box=box.SIMPLE_HEAD, pad_edge=False, title=name or None, title_justify="left")
        has_study = any(study for _, study, _ in rows)
        for heading in ("At", "Study", "Here") if has_study else ("At", "Here"):
            table.add_column(heading, justify="left" if heading == "At" else "right")
        for at, there, here in rows:
            table.add_row(*((at, there, here) if has_study else (at, here)))
        console.print(table)
    for outcome in verdict.outcomes:
        console.print(_wrapped(f"{'holds' if outcome.holds else 'fails'}: {outcome.text}", width, "  ", "         "))
    texts = {"Why": verdict.reason, "Needed": entry.needs, "Note": entry.note, "Source": study.source}
    for label, text in texts.items():
        if text:
            console.print(_wrapped(f"{label}: {text}", width, ""))
    if results is not None:
        for run in entry.runs:
            if (status := results.statuses.get(run)) is not None:
                console.print(_wrapped(f"Run: {run}, {status.date}, {status.host}", width, ""))


def print_runs(runs: Mapping[str, StudyRun], left: Mapping[str, StudyRun]) -> None:
    """The commands with their expected duration."""
    console, width = _console()
    for name, run in runs.items():
        state = duration(run.seconds) if name in left else "done"
        console.print(_wrapped(f"{state:>12}  {as_typed(run.command)}", width, "", " " * 14))
    total = sum(run.seconds for run in left.values())
    console.print(f"{count(len(left), 'command')} to run, about {duration(total)}.")


def _print_head(console: Console, width: int, part: Chosen, entry: StudyEntry, verdict: StudyVerdict) -> None:
    console.print(f"{entry.id} ({entry.kind}): {verdict_text(verdict)}", style=_STYLES[verdict.shape])
    console.print(_wrapped(entry.says, width, "  "))
    for line in command_of(part, entry):
        console.print(_wrapped(f"$ {line}", width, "  ", "      "))


_STYLES = {Shape.SAME: "green", Shape.DIFFERENT: "yellow", Shape.CANNOT: "cyan", Shape.NOT_MEASURED: "default"}


def _summary(part: Chosen, verdicts: Mapping[str, StudyVerdict], results: StudyResults | None) -> str:
    found = tally(verdicts)
    parts = [
        f"{SHAPE_TEXTS[shape]} {number}"
        for shape, number in (
            (Shape.SAME, found.same),
            (Shape.DIFFERENT, found.different),
            (Shape.CANNOT, found.cannot),
            (Shape.NOT_MEASURED, found.not_measured),
        )
        if number
    ]
    ratio = (
        "" if not found.same or found.ratio is None else f" Of those that can be measured here: {percent(found.ratio)}."
    )
    seconds = sum(run.seconds for run in part.needed().values())
    hint = "" if results is not None else f" `whyperf studies --run` measures them in about {duration(seconds)}."
    return f"{found.entries} entries: {', '.join(parts)}.{ratio}{hint}"


def as_json(part: Chosen, results: StudyResults | None, verdicts: Mapping[str, StudyVerdict]) -> dict[str, object]:
    """All entries with their verdicts, in plain types."""
    found = tally(verdicts)
    return {
        **found.model_dump(),
        "same_ratio": found.ratio,
        "studies": [_study_json(part, study, verdicts) for study in part.studies],
        "runs": {} if results is None else {name: status.model_dump() for name, status in results.statuses.items()},
    }


def _study_json(part: Chosen, study: Study, verdicts: Mapping[str, StudyVerdict]) -> dict[str, object]:
    return {
        "study": study.name,
        "title": study.title,
        "source": study.source,
        "entries": [
            {
                "id": entry.id,
                "kind": entry.kind,
                "says": entry.says,
                "unit": entry.unit,
                "units": {name: unit_of(entry, name) for name in entry.ours},
                "commands": command_of(part, entry),
                "note": entry.note,
                "needs": entry.needs,
                "verdict": verdicts[entry.id].model_dump(mode="json", exclude={"entry"}),
            }
            for entry in study.entry
        ],
    }


def _console() -> tuple[Console, int]:
    width = min(MAX_WIDTH, shutil.get_terminal_size().columns)
    return Console(highlight=False, markup=False, width=width), width


def _wrapped(text: str, width: int, first: str, other: str | None = None) -> str:
    return textwrap.fill(
        text,
        width,
        initial_indent=first,
        subsequent_indent=first if other is None else other,
        break_long_words=False,
        break_on_hyphens=False,
    )
