"""Which cells of two results belong together: those with the same levels of what either result varies."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from whyperf.plan import Cell, Plan
from whyperf.profile.conditions import AFTER, BEFORE


@dataclass(frozen=True)
class Pairing:
    """Pairs of cells by their identifiers, the factors they were paired by, and the cells without a partner."""

    pairs: tuple[tuple[str, str], ...]
    by: tuple[str, ...]
    only_a: tuple[str, ...]
    only_b: tuple[str, ...]


def paired(a: Sequence[Cell], b: Sequence[Cell], varied: Sequence[str]) -> Pairing:
    """The pairs of the cells of two results.

    Two single cells are a pair, whatever they differ in. Otherwise cells are paired by their levels of the factors that
    either result varies (`varied`), and by their sweep where both have several of the same names.
    """
    if len(a) == len(b) == 1:
        return Pairing(((a[0].id, b[0].id),), (), (), ())
    sweeps = {cell.sweep for cell in a}
    has_sweeps = len(sweeps) > 1 and sweeps == {cell.sweep for cell in b}
    return _matched(a, b, varied, lambda cell: cell.sweep if has_sweeps else "")


def has_conditions(plan: Plan) -> bool:
    """Whether a plan measures two conditions in turn (`whyperf compare --run`)."""
    ends = [cell.sweep.endswith(BEFORE) - cell.sweep.endswith(AFTER) for cell in plan.cells]
    return 1 in ends and -1 in ends and 0 not in ends


def paired_conditions(before: Sequence[Cell], after: Sequence[Cell], varied: Sequence[str]) -> Pairing:
    """The pairs of the cells of two conditions: of the same sweep, with the same levels of what each sweep varies."""
    own = [
        name
        for name in varied
        if any(
            len({_level(cell, name) for cell in side if _question(cell) == sweep}) > 1
            for side in (before, after)
            for sweep in {_question(cell) for cell in side}
        )
    ]
    return _matched(before, after, own, _question)


def _question(cell: Cell) -> str:
    """The name of a cell's sweep, whatever the condition."""
    return cell.sweep.removesuffix(BEFORE).removesuffix(AFTER)


def _matched(
    cells_a: Sequence[Cell], cells_b: Sequence[Cell], by: Sequence[str], sweep_of: Callable[[Cell], str]
) -> Pairing:
    def key(cell: Cell) -> tuple[str, ...]:
        return (sweep_of(cell), *(_level(cell, name) for name in by))

    left: dict[tuple[str, ...], list[str]] = {}
    for cell in cells_b:
        left.setdefault(key(cell), []).append(cell.id)
    pairs, alone = [], []
    for cell in cells_a:
        partners = left.get(key(cell))
        if partners:
            pairs.append((cell.id, partners.pop(0)))
        else:
            alone.append(cell.id)
    rest = {cell for cells in left.values() for cell in cells}
    return Pairing(tuple(pairs), tuple(by), tuple(alone), tuple(cell.id for cell in cells_b if cell.id in rest))


def _level(cell: Cell, name: str) -> str:
    return repr(cell.factors.get(name))
