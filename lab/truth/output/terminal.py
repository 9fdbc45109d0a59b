"""The results of the truth experiments as tables."""

from collections.abc import Sequence

from lab.tables import console_of_tables, plain_table
from lab.truth import CellKind
from lab.truth.figures import Figure, MedianError, confusion, figures, figures_of_proofs
from lab.truth.grade import Grade
from lab.truth.output.page import bar, claimed, gained, lowered, outcome, predicted_gain, reached
from lab.truth.proving import Proof
from whyperf.analyze.text import significant
from whyperf.cli.output.console import Console
from whyperf.explain.wording.verifications import change_text

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


def print_proofs(proofs: Sequence[Proof]) -> None:
    """The measured changes and their figures; nothing where none was measured."""
    if not (found := figures_of_proofs(proofs)):
        return
    console = console_of_tables()
    console.print()
    table = plain_table("Experiment", "Dose", "Change", "Predicted", "Gain", "Result", "Wrong change", "Gain", "Result")
    for proof in proofs:
        claim = proof.claim
        predicted = claimed(claim)
        change = claim.obstacle or change_text(claim.right)
        right, wrong = (gained(proof.right), outcome(proof.right)), (gained(proof.wrong), outcome(proof.wrong))
        named = (claim.role.of, str(claim.role.dose), change, predicted)
        table.add_row(*named, *right, change_text(claim.tried.wrong), *wrong)
    console.print(table)
    console.print()
    _print_bars(console, found)


def _print_bars(console: Console, found: Sequence[Figure | MedianError]) -> None:
    bars = plain_table("Figure", "Measured", "Required", "Met")
    for figure in found:
        holds = {True: "yes", False: "no", None: "-"}[figure.holds]
        bars.add_row(figure.name, reached(figure), bar(figure), holds)
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
