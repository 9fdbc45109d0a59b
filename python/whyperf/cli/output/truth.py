"""What came of the truth experiments, in tables."""

import sys
from collections.abc import Sequence

from rich import box
from rich.console import Console
from rich.table import Table

from whyperf.analyze.text import significant
from whyperf.explain.wording.verifications import change_text
from whyperf.truth import Part
from whyperf.truth.figures import Figure, MedianError, confusion, figures, figures_of_proofs
from whyperf.truth.grade import Grade
from whyperf.truth.page import bar, claimed, foretold, gained, lowered, outcome, reached
from whyperf.truth.proving import Proof

#: Width of tables where standard output is no terminal.
PLAIN_WIDTH = 160
#: Verdicts that are shown of a cell.
SHOWN = 3


def print_grades(grades: Sequence[Grade]) -> None:
    """Each dose and run, the confusion matrix, the bars."""
    console = _console()
    table = _table("Experiment", "Dose", "Lowers by", "Put there", "Told", "Right", "Predicted", "Measured")
    for one in grades:
        put = "nothing" if one.role.part is Part.UNDISTURBED else " + ".join(_put(one))
        told = ", ".join(one.told[:SHOWN]) or "nothing"
        dose = f"{one.role.dose}{' held out' if one.role.held_out else ''}" if one.role.dose else ""
        table.add_row(one.role.of, dose, lowered(one) if one.without_bps else "", put, told, _right(one), *_gains(one))
    console.print(table)
    console.print()
    matrix = _table("Put there", "Told first, how often")
    for put, counts in confusion(grades).items():
        ordered = sorted(counts.items(), key=lambda entry: -entry[1])
        matrix.add_row(put, ", ".join(f"{cause} {count}" for cause, count in ordered))
    console.print(matrix)
    console.print()
    _print_bars(console, figures(grades))


def print_proofs(proofs: Sequence[Proof]) -> None:
    """The changes that were tried, and their bars; nothing where none was."""
    if not (found := figures_of_proofs(proofs)):
        return
    console = _console()
    console.print()
    table = _table("Experiment", "Dose", "Change", "Predicted", "Gain", "Right change", "Wrong change", "Gain", "Is")
    for one in proofs:
        claim = one.claim
        predicted = claimed(claim)
        change = claim.obstacle or change_text(claim.right)
        right, wrong = (gained(one.right), outcome(one.right)), (gained(one.wrong), outcome(one.wrong))
        named = (claim.role.of, str(claim.role.dose), change, predicted)
        table.add_row(*named, *right, change_text(claim.tried.wrong), *wrong)
    console.print(table)
    console.print()
    _print_bars(console, found)


def _console() -> Console:
    return Console(highlight=False, markup=False, width=None if sys.stdout.isatty() else PLAIN_WIDTH)


def _print_bars(console: Console, found: Sequence[Figure | MedianError]) -> None:
    bars = _table("", "Reached", "Bar", "Holds")
    for figure in found:
        holds = {True: "yes", False: "no", None: "-"}[figure.holds]
        bars.add_row(figure.asked, reached(figure), bar(figure), holds)
    console.print(bars)


def _put(one: Grade) -> list[str]:
    return [str(cause) for cause in (one.causes if one.role.part is Part.BOTH else one.causes[:1])]


def _gains(one: Grade) -> tuple[str, str]:
    measured = "" if one.prediction is None else significant(one.prediction.measured)
    return ("" if not (one.prediction or one.unpredicted_because) else foretold(one)), measured


def _right(one: Grade) -> str:
    if one.role.part is Part.UNDISTURBED:
        return "yes" if one.is_clean else "NO"
    if not one.counts:
        return "too weak"
    if one.role.part is Part.BOTH:
        return "yes" if one.has_both(SHOWN) else "NO"
    return {1: "yes", 2: "second"}.get(one.rank or 0, "NO")


def _table(*headings: str) -> Table:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False, padding=(0, 2, 0, 0))
    for heading in headings:
        table.add_column(heading, overflow="fold")
    return table
