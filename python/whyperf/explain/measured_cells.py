"""Cells of the same experiment that are another one with its verdict's change: they were measured, not predicted.

A sweep over windows often has the cell that the verdict on a small one asks for. Then its rate is what the change
brings, on this host and this day, whatever a limit predicts. A cell that has most of the change shows more than a
limit, too: what the rest of the change brings is left open upward.
"""

from collections.abc import Iterator, Mapping, Sequence
from math import log
from typing import TypeGuard

from whyperf.explain.explanation import Statement, Verdict
from whyperf.explain.wording.catalog import render, statement
from whyperf.plan import Cell

SPREAD = 1.15
"""Factor by which two cells' medians may be off as a gain."""
REST_SPREAD = 1.5
"""Factor by which the whole change may bring more where a cell has most of it."""
MIN_REACHED_RATIO = 0.5
"""From here on, in logarithms, from the level now to the one that the change asks for."""
MIN_STEP = 4
"""Least multiple of the level now that stands for one which the kernel chooses."""
TIMES = frozenset({"duration_s", "warmup_s", "cooldown_s", "interval_ms", "deadline_s", "rest_s"})
"""Factors that say how long is measured, not what."""
SIZES = frozenset({"write_size_bytes", "read_size_bytes"})
"""Sweeps over the user data size change both: then a larger one stands for either."""
CHOSEN = "default"


class MeasuredCells:
    """The cells of an experiment by their factors, with what they measured."""

    def __init__(self, cells: Sequence[Cell], rates: Mapping[str, float | None]) -> None:
        """`cells` are all of the plan, `rates` their median goodput; one without a rate is not used."""
        self._rates = rates
        self._cells = {cell.id: cell for cell in cells}
        self._known = {_key(cell, cell.factors): cell.id for cell in cells if rates.get(cell.id)}

    def gain_in(self, cell: str, verdict: Verdict) -> Verdict:
        """The verdict with the gain that another cell measured in place of the predicted one, if there is such a
        cell.
        """
        now, own = self._rates.get(cell), self._cells.get(cell)
        if not now or own is None or verdict.change is None or not verdict.change.factors:
            return verdict
        other = self._known.get(_key(own, {**own.factors, **verdict.change.factors}))
        then = None if other is None or other == cell else self._rates.get(other)
        if then:
            return _with_gain(verdict, then / now, SPREAD, statement("cell", cell=other))
        return self._nearest(own, now, verdict, verdict.change.factors)

    def _nearest(self, own: Cell, now: float, verdict: Verdict, change: Mapping[str, object]) -> Verdict:
        """By the cell that is nearest to the change, if the change is one of one number."""
        if len(change) != 1:
            return verdict
        name, wanted = next(iter(change.items()))
        found = [
            (abs(1 - reached), other)
            for other in self._alike(own, name)
            if (reached := _reached_ratio(own, other, name, wanted))
        ]
        if not found:
            return verdict
        _, other = min(found, key=lambda near: (near[0], near[1].id))
        changed = [
            factor for factor in (name, *sorted(SIZES - {name})) if other.factors.get(factor) != own.factors.get(factor)
        ]
        levels = [f"{factor}={other.factors[factor]}" for factor in changed]
        basis = statement("nearest_cell", cell=other.id, levels=levels)
        gain = (self._rates[other.id] or 0.0) / now
        with_gain = _with_gain(verdict, gain, REST_SPREAD, basis)
        if wanted != CHOSEN:
            return with_gain
        # The kernel may choose more than any cell has: then what was predicted is not ruled out.
        high = max(with_gain.predicted_high or gain, verdict.predicted_gain or gain)
        return with_gain.model_copy(update={"predicted_high": high})

    def _alike(self, own: Cell, name: str) -> Iterator[Cell]:
        """Measured cells that differ in this factor alone; in both sizes, where it is one of them."""
        free = SIZES if name in SIZES else {name}
        key = _key(own, {**own.factors, **dict.fromkeys(free)})
        for other in self._cells.values():
            is_other = other.id != own.id and self._rates.get(other.id)
            if (
                is_other
                and _key(other, {**other.factors, **dict.fromkeys(free)}) == key
                and _is_one_direction(own, other)
            ):
                yield other


def _is_one_direction(own: Cell, other: Cell) -> bool:
    """True where no size gets smaller where another gets larger."""
    pairs = [(own.factors.get(name), other.factors.get(name)) for name in SIZES]
    steps = [then - now for now, then in pairs if isinstance(now, int) and isinstance(then, int)]
    return min(steps, default=0) >= 0 or max(steps, default=0) <= 0


def _reached_ratio(own: Cell, other: Cell, name: str, wanted: object) -> float | None:
    """Part of the way to the wanted level that the other goes from this cell's: 1 is there; None where it shows little.

    A level that the kernel chooses is beyond all: the more, the nearer to it.
    """
    now, then = own.factors.get(name), other.factors.get(name)
    if not _is_number(now) or not _is_number(then):
        return None
    step = log(then / now)
    if wanted == CHOSEN:
        return 1 - 1 / then if step >= log(MIN_STEP) else None
    if not _is_number(wanted) or wanted == now:
        return None
    reached = step / log(wanted / now)
    return reached if reached >= MIN_REACHED_RATIO else None


def _is_number(level: object) -> TypeGuard[float]:
    return isinstance(level, (int, float)) and not isinstance(level, bool) and level > 0


def _with_gain(verdict: Verdict, gain: float, above: float, basis: Statement) -> Verdict:
    changed = {
        "predicted_gain": round(gain, 3),
        "predicted_low": round(gain / SPREAD, 3),
        "predicted_high": round(gain * above, 3),
        "predicted_from": render("basis", basis.code, basis.values),
        "predicted_basis": basis,
    }
    return verdict.model_copy(update=changed)


def _key(cell: Cell, factors: Mapping[str, object]) -> tuple[object, ...]:
    """Key of what is measured, without how long."""
    levels = tuple(sorted((name, repr(level)) for name, level in factors.items() if name not in TIMES))
    return (*levels, cell.workload, cell.schedule)
