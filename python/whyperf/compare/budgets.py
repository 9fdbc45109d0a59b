"""The difference of two time budgets: where the time of a connection went, for each KByte that it moves."""

from collections.abc import Sequence

from whyperf.analyze.cost.budget import OCTETS_PER_KBYTE
from whyperf.compare.comparison import BudgetDifference, StateDifference
from whyperf.explain.explanation import Budget, CellExplanation

MIN_RATIO = 0.001
"""States below this part of the time in both cells are left out of no sum, but shown as one."""

OTHER = "other"
"""The name that states below `MIN_RATIO` have together."""


def budget_differences(a: CellExplanation, b: CellExplanation) -> tuple[BudgetDifference, ...]:
    """Those of both sides; none of a side that has no budget in either cell."""
    found = []
    for role in ("sender", "receiver"):
        times = [_times(cell, [budget for budget in cell.budgets if budget.role == role]) for cell in (a, b)]
        if times[0] and times[1]:
            found.append(_difference(role, times[0], times[1]))
    return tuple(found)


def _times(cell: CellExplanation, budgets: Sequence[Budget]) -> dict[str, float]:
    """The ns that a connection spends in each state for each KByte; none without a rate."""
    life_ns = sum(budget.life_ns for budget in budgets)
    if not cell.rate_bps or life_ns <= 0:
        return {}
    connections = len({budget.connection for budget in budgets})
    per_kbyte_ns = connections * OCTETS_PER_KBYTE * 8e9 / cell.rate_bps
    found: dict[str, float] = {}
    for budget in budgets:
        for share in budget.shares:
            found[share.state] = found.get(share.state, 0.0) + share.ns / life_ns * per_kbyte_ns
    return found


def _difference(role: str, a: dict[str, float], b: dict[str, float]) -> BudgetDifference:
    totals = sum(a.values()), sum(b.values())
    names = sorted(a.keys() | b.keys(), key=lambda name: -abs(b.get(name, 0.0) - a.get(name, 0.0)))
    large = [name for name in names if max(a.get(name, 0.0) / totals[0], b.get(name, 0.0) / totals[1]) >= MIN_RATIO]
    states = [StateDifference(state=name, a_ns=a.get(name, 0.0), b_ns=b.get(name, 0.0)) for name in large]
    small = [name for name in names if name not in large]
    if small:
        rest = [sum(times.get(name, 0.0) for name in small) for times in (a, b)]
        states.append(StateDifference(state=OTHER, a_ns=rest[0], b_ns=rest[1]))
    return BudgetDifference.model_validate(
        {"role": role, "a_ns": totals[0], "b_ns": totals[1], "states": tuple(states)}
    )
