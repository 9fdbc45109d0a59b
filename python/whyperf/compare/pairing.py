"""Which cells of two results belong together: those with the same levels of what either result varies."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from whyperf.plan import Cell, Plan, PlannedConnection
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
    either result varies (`varied`), and by their sweep where both have several of the same names. Connections of other
    programs are paired by program, service port and direction, the busiest of one with the busiest of the other.
    """
    if len(a) == len(b) == 1:
        return Pairing(((a[0].id, b[0].id),), (), (), ())
    watched = [cell.watched is not None for cell in (*a, *b)]
    if all(watched):
        return _matched_by(a, b, tuple(PAIRED_BY), _connection_key)
    if any(watched):
        # Nothing says which connection of a program does the work of which cell.
        return Pairing((), (), tuple(cell.id for cell in a), tuple(cell.id for cell in b))
    sweeps = {cell.sweep for cell in a}
    has_sweeps = len(sweeps) > 1 and sweeps == {cell.sweep for cell in b}
    return _matched(a, b, varied, lambda cell: cell.sweep if has_sweeps else "")


def has_conditions(plan: Plan) -> bool:
    """True where a plan measures two conditions in turn (`whyperf compare --run`)."""
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

    return _matched_by(cells_a, cells_b, by, key)


#: The properties that connections of other programs are paired by, as they are printed.
PAIRED_BY: Mapping[str, Callable[[PlannedConnection], str]] = {
    "program": lambda connection: connection.program,
    "port": lambda connection: connection.service_port,
    "direction": lambda connection: connection.direction,
}


def levels_of(cell: Cell) -> Mapping[str, object]:
    """Levels that pair a cell: its factors, or what of a watched connection stays when the program connects again."""
    found = cell.watched
    return cell.factors if found is None else {name: level(found) for name, level in PAIRED_BY.items()}


def _connection_key(cell: Cell) -> tuple[str, ...]:
    return tuple(map(str, levels_of(cell).values()))


def _matched_by(
    cells_a: Sequence[Cell], cells_b: Sequence[Cell], by: Sequence[str], key: Callable[[Cell], tuple[str, ...]]
) -> Pairing:
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
