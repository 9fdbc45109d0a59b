"""The results of the truth experiments as tables."""

from collections.abc import Sequence

from lab.tables import console_of_tables, plain_table
from lab.truth import CellKind
from lab.truth.figures import Figure, confusion, figures
from lab.truth.grade import Grade
from lab.truth.output.page import lowered, predicted_gain, reached
from whyperf.analyze.text import significant
from whyperf.cli.output.console import Console

#: Verdicts that are shown for a cell.
SHOWN = 3


def print_grades(grades: Sequence[Grade]) -> None:
    """Each dose and run, the confusion matrix, the accuracy figures."""
    console = console_of_tables()
    table = plain_table("Experiment", "Dose", "Lowers by", "Injected", "Verdicts", "Correct", "Predicted", "Measured")
    for grade in grades:
        role = grade.role
        injected = "nothing" if role.kind is CellKind.UNDISTURBED else " + ".join(_injected(grade))
        found = ", ".join(grade.found[:SHOWN]) or "nothing"
        dose = f"{role.dose}{' held out' if role.held_out else ''}" if role.dose else ""
        lost = lowered(grade) if grade.without_bps else ""
        table.add_row(role.of, dose, lost, injected, found, _correct(grade), *_gains(grade))
    console.print(table)
    console.print()
    matrix = plain_table("Injected cause", "First verdict (count)")
    for cause, counts in confusion(grades).items():
        ordered = sorted(counts.items(), key=lambda entry: -entry[1])
        matrix.add_row(cause, ", ".join(f"{first} {count}" for first, count in ordered))
    console.print(matrix)
    console.print()
    _print_bars(console, figures(grades))


def _print_bars(console: Console, found: Sequence[Figure]) -> None:
    bars = plain_table("Figure", "Measured", "Required", "Met")
    for figure in found:
        holds = {True: "yes", False: "no", None: "-"}[figure.holds]
        bars.add_row(figure.name, reached(figure), f"{figure.bar:.0%}", holds)
    console.print(bars)


def _injected(grade: Grade) -> list[str]:
    return [str(cause) for cause in (grade.causes if grade.role.kind is CellKind.BOTH else grade.causes[:1])]


def _gains(grade: Grade) -> tuple[str, str]:
    measured = "" if grade.prediction is None else significant(grade.prediction.measured)
    return ("" if not (grade.prediction or grade.unpredicted_because) else predicted_gain(grade)), measured


def _correct(grade: Grade) -> str:
    if grade.role.kind is CellKind.UNDISTURBED:
        return "yes" if grade.is_clean else "NO"
    if not grade.counts:
        return "too weak"
    if grade.role.kind is CellKind.BOTH:
        return "yes" if grade.has_both(SHOWN) else "NO"
    return {1: "yes", 2: "second"}.get(grade.rank or 0, "NO")
