"""The figures that the bars are about, from the grades."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import median

from whyperf.explain.causes import Cause
from whyperf.truth.design import Part
from whyperf.truth.gains import NEAR
from whyperf.truth.grade import Grade
from whyperf.truth.proving import Proof, outcomes

#: Verdicts of a pair among which both causes should be.
OF_PAIRS = 3
#: The part of a connection's life that should be in named states.
CLOSED_FROM = 0.995


@dataclass(frozen=True)
class Figure:
    """A count of a count, and the bar it is held against; `asked` names it."""

    key: str
    asked: str
    bar: float
    count: int
    of: int

    @property
    def ratio(self) -> float | None:
        """None where nothing was counted."""
        return self.count / self.of if self.of else None

    @property
    def holds(self) -> bool | None:
        """Whether the bar is reached; None where nothing was counted."""
        return None if self.ratio is None else self.ratio >= self.bar


@dataclass(frozen=True)
class MedianError:
    """By what part predicted gains miss the measured ones, and the most it should be; `of` verdicts predict one."""

    key: str
    asked: str
    bar: float
    ratio: float | None
    of: int

    @property
    def holds(self) -> bool | None:
        """Whether the bar is kept; None where nothing was predicted."""
        return None if self.ratio is None else self.ratio <= self.bar


def figures_of_proofs(proofs: Sequence[Proof]) -> list[Figure | MedianError]:
    """What trying the verdicts shows; nothing where none was."""
    right, wrong = outcomes(proofs, "right"), outcomes(proofs, "wrong")
    if not right and not wrong:
        return []
    errors = [proof.error for proof in proofs if proof.error is not None]
    return [
        Figure("confirmed", "right changes confirmed", 0.90, right.get("confirmed", 0), sum(right.values())),
        Figure("refuted", "wrong changes refuted", 0.90, wrong.get("refuted", 0), sum(wrong.values())),
        MedianError(
            "gain_error", "median error of the predicted gain", 0.20, median(errors) if errors else None, len(errors)
        ),
    ]


def figures(grades: Sequence[Grade]) -> list[Figure]:
    """All figures, in the order they are told."""
    doses = [one for one in grades if one.role.part is Part.DOSE and one.counts]
    pairs = [one for one in grades if one.role.part is Part.BOTH and one.counts]
    undisturbed = [one for one in grades if one.role.part is Part.UNDISTURBED]
    misses = [one for one in doses if one.rank != 1]
    closed = [one for one in grades if one.closed_ratio is not None]
    compared = sum(one.chronographs.compared for one in grades)
    foretold = [one for one in doses if one.prediction is not None]
    return [
        _of("first", "first verdict right", 0.90, doses, lambda one: one.rank == 1),
        _of("first_two", "right among the first two", 0.97, doses, lambda one: one.rank in {1, 2}),
        _of("misses_not_known", "misses that say not known", 0.50, misses, lambda one: one.is_not_known),
        _of("pairs", "pairs with both among the first three", 0.80, pairs, lambda one: one.has_both(OF_PAIRS)),
        _of("clean", "undisturbed runs with nothing blamed", 0.95, undisturbed, lambda one: one.is_clean),
        # As many within as beyond: the median error is at most that.
        _of("gains", f"predicted gains off by at most {NEAR:.0%}", 0.50, foretold, _is_near),
        _of("closed", "trials whose budgets close", 1.0, closed, lambda one: (one.closed_ratio or 0) >= CLOSED_FROM),
        Figure(
            "chronographs",
            "the kernel's clocks that agree",
            1.0,
            sum(one.chronographs.agree for one in grades),
            compared,
        ),
    ]


def confusion(grades: Sequence[Grade]) -> dict[str, dict[Cause, int]]:
    """How often each cause was told first, by what was put there; doses that count, and undisturbed runs."""
    rows: dict[str, dict[Cause, int]] = {}
    for one in grades:
        if one.role.part is Part.BOTH or (one.role.part is Part.DOSE and not one.counts):
            continue
        put = "nothing" if one.role.part is Part.UNDISTURBED else str(one.causes[0])
        told = one.told[0] if one.told else Cause.NOT_KNOWN
        row = rows.setdefault(put, {})
        row[told] = row.get(told, 0) + 1
    return rows


def _is_near(one: Grade) -> bool:
    return one.prediction is not None and one.prediction.error_ratio <= NEAR


def _of(key: str, asked: str, bar: float, grades: Sequence[Grade], holds: Callable[[Grade], bool]) -> Figure:
    return Figure(key, asked, bar, sum(holds(one) for one in grades), len(grades))
