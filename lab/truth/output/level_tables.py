"""The diagnosis at every level of evidence as tables."""

from collections.abc import Sequence

from lab.tables import console_of_tables, plain_table
from lab.truth.levels import Diagnosis, View
from lab.truth.output.level_page import HEADINGS, level_rows
from lab.truth.situation import Situation

SHOWN = 3
"""Verdicts that are shown for a trial."""


def print_levels(found: Sequence[Diagnosis], situations: Sequence[Situation]) -> None:
    """The diagnoses of each situation, then the figures of each level; nothing without diagnoses."""
    if not found:
        return
    console = console_of_tables()
    if situations:
        _print_situations(found, situations)
        console.print()
    figures = plain_table(*HEADINGS)
    for row in level_rows(found):
        figures.add_row(*row)
    console.print(figures)


def _print_situations(found: Sequence[Diagnosis], situations: Sequence[Situation]) -> None:
    shown = plain_table("Situation", "Lowers by", "Accepted", "Level", "Verdicts", "Confidence", "Correct")
    for situation in situations:
        of = [diagnosis for diagnosis in found if diagnosis.role.of == situation.name]
        for number, diagnosis in enumerate(of):
            lowered = "not known" if diagnosis.lowered_ratio is None else f"{diagnosis.lowered_ratio:.0%}"
            about = (situation.name, lowered, ", ".join(diagnosis.accepted)) if number == 0 else ("", "", "")
            verdicts = ", ".join(diagnosis.found[:SHOWN]) or "nothing"
            shown.add_row(*about, str(View(diagnosis.view)), verdicts, diagnosis.confidence, _correct(diagnosis))
    console_of_tables().print(shown)


def _correct(diagnosis: Diagnosis) -> str:
    if not diagnosis.counts:
        return "too weak"
    if diagnosis.outcome == "not_known":
        return "not known, named" if diagnosis.has_candidate else "not known"
    return {"first": "yes", "second": "second"}.get(diagnosis.outcome, "NO")
