"""Cells of the same experiment that are another one with its verdict's change: they were measured, not predicted.

A sweep over windows often has the cell that the verdict on a small one asks for. Then its rate is what the change
brings, on this host and this day, whatever a rule foretells.
"""

from collections.abc import Mapping, Sequence

from whyperf.explain.model import Verdict
from whyperf.plan import Cell

SPREAD = 1.15
"""How far two cells' medians may be off as a gain."""
TIMES = frozenset({"duration_s", "warmup_s", "cooldown_s", "interval_ms", "deadline_s"})
"""Factors that say how long is measured, not what."""


class Beside:
    """The cells of an experiment by their factors, with what they measured."""

    def __init__(self, cells: Sequence[Cell], rates: Mapping[str, float | None]) -> None:
        """`cells` are all of the plan, `rates` their median goodput; one without a rate tells nothing."""
        self._rates = rates
        self._cells = {cell.id: cell for cell in cells}
        self._known = {_key(cell, cell.factors): cell.id for cell in cells if rates.get(cell.id)}

    def measured(self, cell: str, verdict: Verdict) -> Verdict:
        """The verdict with the gain that another cell measured in place of the predicted one, if there is such a
        cell.
        """
        now, own = self._rates.get(cell), self._cells.get(cell)
        if not now or own is None or verdict.change is None or not verdict.change.factors:
            return verdict
        other = self._known.get(_key(own, {**own.factors, **verdict.change.factors}))
        then = None if other is None or other == cell else self._rates.get(other)
        if not then:
            return verdict
        gain = then / now
        told = {
            "predicted_gain": round(gain, 3),
            "predicted_low": round(gain / SPREAD, 3),
            "predicted_high": round(gain * SPREAD, 3),
            "predicted_from": f"what cell {other} measured, which is this one with the change",
        }
        return verdict.model_copy(update=told)


def _key(cell: Cell, factors: Mapping[str, object]) -> tuple[object, ...]:
    """What is measured, without how long."""
    told = tuple(sorted((name, repr(level)) for name, level in factors.items() if name not in TIMES))
    return (*told, cell.workload, cell.schedule)
