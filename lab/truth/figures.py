"""Accuracy figures of the grades, each with its required value."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from lab.truth.design import CellKind
from lab.truth.gains import NEAR
from lab.truth.grade import Grade
from whyperf.explain.causes import Cause

#: Both causes of a pair should be among this many first verdicts.
OF_PAIRS = 3
#: Share of a connection's time that should be in known states.
CLOSED_FROM = 0.995


@dataclass(frozen=True)
class Figure:
    """A number out of so many, and the required ratio; `name` says what is counted."""

    key: str
    name: str
    bar: float
    count: int
    of: int

    @property
    def ratio(self) -> float | None:
        """None where nothing was counted."""
        return self.count / self.of if self.of else None

    @property
    def holds(self) -> bool | None:
        """True where the required ratio is reached; None where nothing was counted."""
        return None if self.ratio is None else self.ratio >= self.bar


def figures(grades: Sequence[Grade]) -> list[Figure]:
    """All figures, in the order they are shown."""
    doses = [grade for grade in grades if grade.role.kind is CellKind.DOSE and grade.counts]
    pairs = [grade for grade in grades if grade.role.kind is CellKind.BOTH and grade.counts]
    undisturbed = [grade for grade in grades if grade.role.kind is CellKind.UNDISTURBED]
    misses = [grade for grade in doses if grade.rank != 1]
    budgeted = [grade for grade in grades if grade.closed_ratio is not None]
    compared = sum(grade.chronographs.compared for grade in grades)
    predicted = [grade for grade in doses if grade.prediction is not None]
    return [
        _count("first", "first verdict correct", 0.90, doses, lambda grade: grade.rank == 1),
        _count("first_two", "first or second verdict correct", 0.97, doses, lambda grade: grade.rank in {1, 2}),
        _count("misses_not_known", 'misses reported as "not known"', 0.50, misses, lambda grade: grade.is_not_known),
        _count(
            "pairs", "pairs with both causes in the first 3 verdicts", 0.80, pairs, lambda pair: pair.has_both(OF_PAIRS)
        ),
        _count("clean", "undisturbed runs without a wrong cause", 0.95, undisturbed, lambda run: run.is_clean),
        # The required half makes this a limit on the median error.
        _count("gains", f"predicted gains off by at most {NEAR:.0%}", 0.50, predicted, _is_near),
        _count(
            "closed",
            f"trials with {CLOSED_FROM:.1%} of the time in known states",
            1.0,
            budgeted,
            lambda grade: (grade.closed_ratio or 0) >= CLOSED_FROM,
        ),
        Figure(
            "chronographs",
            "kernel clocks that agree with the time budgets",
            1.0,
            sum(grade.chronographs.agree for grade in grades),
            compared,
        ),
    ]


def confusion(grades: Sequence[Grade]) -> dict[str, dict[Cause, int]]:
    """Counts how often each cause was the first verdict, by injected cause; doses that count, and undisturbed runs."""
    rows: dict[str, dict[Cause, int]] = {}
    for grade in grades:
        if grade.role.kind is CellKind.BOTH or (grade.role.kind is CellKind.DOSE and not grade.counts):
            continue
        injected = "nothing" if grade.role.kind is CellKind.UNDISTURBED else str(grade.causes[0])
        first = grade.found[0] if grade.found else Cause.NOT_KNOWN
        row = rows.setdefault(injected, {})
        row[first] = row.get(first, 0) + 1
    return rows


def _is_near(grade: Grade) -> bool:
    return grade.prediction is not None and grade.prediction.error_ratio <= NEAR


def _count(key: str, name: str, bar: float, grades: Sequence[Grade], holds: Callable[[Grade], bool]) -> Figure:
    return Figure(key, name, bar, sum(holds(grade) for grade in grades), len(grades))
