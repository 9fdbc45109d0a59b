"""The results of `whyperf-lab truth --watch` as tables."""

from collections.abc import Sequence
from pathlib import Path

from lab.tables import console_of_tables, plain_table
from lab.truth.watched.catalog import WatchedCatalog
from lab.truth.watched.grade import JudgedRun
from lab.truth.watched.page import (
    FIGURE_HEADINGS,
    WRONG_HEADINGS,
    figure_rows,
    run_headings,
    run_rows,
    wrong_rows,
)


def print_watched_truth(found: Sequence[JudgedRun], folder: Path) -> None:
    """Each run, the wrong verdicts, the figures, and where the results are whose verdicts are not all right."""
    console = console_of_tables()
    for headings, rows in (
        (run_headings(found), run_rows(found)),
        (WRONG_HEADINGS, wrong_rows(found)),
        (FIGURE_HEADINGS, figure_rows(found)),
    ):
        if not rows:
            continue
        shown = plain_table(*headings)
        for row in rows:
            shown.add_row(*row)
        console.print(shown)
        console.print()
    if any(each.run.kept for each in found):
        console.print(f"Results of explained runs: {folder}", soft_wrap=True)


def print_cases(catalog: WatchedCatalog) -> None:
    """The cases with their programs and causes."""
    shown = plain_table("Case", "Program", "Path", "Causes", "Doses")
    for case in catalog.case:
        shown.add_row(case.name, case.program, case.baseline, ", ".join(case.accepted), str(len(case.doses)))
    console_of_tables().print(shown)
