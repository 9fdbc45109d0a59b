"""Time budgets of both cells of a pair as stacked bars, and their differences."""

from dataclasses import dataclass, replace

from whyperf.analyze.text import seconds
from whyperf.compare.budgets import OTHER
from whyperf.compare.comparison import BudgetDifference, Comparison
from whyperf.report.compare.pairs import MAX_COSTS, PairName, largest, pair_name
from whyperf.report.compare.texts import signed
from whyperf.report.explanation.bars import NAMED_RATIO
from whyperf.report.explanation.styles import Look, look_of, rank_of


@dataclass(frozen=True)
class StatePart:
    """A state in a bar: its part of the bar, its time, and whether there is room for its name."""

    look: Look
    ratio: float
    time: str
    is_named: bool


@dataclass(frozen=True)
class TimeBar:
    """The time that a cell needs for a KByte; `width` is its part of the longer of both."""

    label: str
    total: str
    width: float
    parts: tuple[StatePart, ...]

    @property
    def description(self) -> str:
        """The same for screen readers."""
        return f"{self.label}, {self.total}: " + ", ".join(f"{part.look.name} {part.time}" for part in self.parts)


@dataclass(frozen=True)
class SideTimes:
    """Both bars of a side, and a row for each state: its look, A, B, and the difference."""

    role: str
    bars: tuple[TimeBar, ...]
    rows: tuple[tuple[Look, str, str, str], ...]
    total: tuple[str, str, str]


@dataclass(frozen=True)
class PairTimes:
    """The budgets of a pair."""

    name: PairName
    sides: tuple[SideTimes, ...]


def budgets_of(comparison: Comparison) -> tuple[tuple[PairTimes, ...], int]:
    """The budgets of the pairs that have some, and how many more there are."""
    places = [place for place, pair in enumerate(comparison.pairs) if pair.budgets]
    shown = largest(comparison, places, MAX_COSTS)
    return tuple(_pair(comparison, place) for place in shown), len(places) - len(shown)


def _pair(comparison: Comparison, place: int) -> PairTimes:
    name = pair_name(comparison, place)
    return PairTimes(name, tuple(_side(budget, name) for budget in comparison.pairs[place].budgets))


def _side(budget: BudgetDifference, name: PairName) -> SideTimes:
    longest = max(budget.a_ns, budget.b_ns)
    states = sorted(budget.states, key=lambda state: rank_of(state.state, budget.role))
    bars = []
    for label, total, times in (
        (name.a, budget.a_ns, [state.a_ns for state in states]),
        (name.b, budget.b_ns, [state.b_ns for state in states]),
    ):
        width = total / longest if longest else 0.0
        parts = tuple(
            StatePart(_look(state.state, budget.role), ns / total, seconds(ns), ns / total * width >= NAMED_RATIO)
            for state, ns in zip(states, times, strict=True)
            if ns > 0 and total
        )
        bars.append(TimeBar(label, f"{seconds(total)} per KByte", width, parts))
    rows = tuple(
        (
            _look(state.state, budget.role),
            seconds(state.a_ns),
            seconds(state.b_ns),
            _difference(state.a_ns, state.b_ns),
        )
        for state in budget.states
    )
    sums = (seconds(budget.a_ns), seconds(budget.b_ns), _difference(budget.a_ns, budget.b_ns))
    return SideTimes(budget.role.capitalize(), tuple(bars), rows, sums)


def _look(state: str, role: str) -> Look:
    found = look_of(state, role)
    return replace(found, name="Other states") if state == OTHER else found


def _difference(a_ns: float, b_ns: float) -> str:
    return "0 ns" if a_ns == b_ns else signed(b_ns - a_ns, seconds(abs(b_ns - a_ns)))
