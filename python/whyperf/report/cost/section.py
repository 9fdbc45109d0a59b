"""The section on cost: what each side of each cell with stack samples spent, by class and function."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from whyperf.analyze.cost.result import Amount, CellCost, ClassCost, SideCost
from whyperf.analyze.cost.stored_budget import has_samples, read_cost, read_trees
from whyperf.analyze.cost.text import Basis, basis_of, cycles, function_text
from whyperf.analyze.cost.tree import Frame
from whyperf.analyze.spread import interval_name
from whyperf.analyze.text import count, percent, setting
from whyperf.foreign import shell_line
from whyperf.record import Experiment, Trials
from whyperf.report.cost.flame import FlameGraph, flame_graph
from whyperf.report.cost.styles import in_order, look_of
from whyperf.report.explanation.styles import Look

MAX_BARS = 24
"""At most this many cells have bars."""
MAX_CELLS = 4
"""At most this many cells have tables and flame graphs: those with the highest cost."""
MAX_FUNCTIONS = 3
"""Functions of each class in the table."""
MIN_RATIO = 0.01
"""Classes and functions with a smaller part of the total are not in the table."""
NAMED_RATIO = 0.12
"""A part with at least this share of the widest bar has room for its name on a wide screen."""


@dataclass(frozen=True)
class BarPart:
    """A class in a bar: its part of the bar, whether there is room for its name, and its texts."""

    look: Look
    ratio: float
    is_named: bool
    share: str
    cost: str


@dataclass(frozen=True)
class CostBar:
    """The cost of a side, as a bar; `width` is its part of the widest bar that is in the same unit."""

    role: str
    total: str
    width: float
    parts: tuple[BarPart, ...]

    @property
    def description(self) -> str:
        """The same for screen readers."""
        parts = sorted(self.parts, key=lambda part: -part.ratio)
        return f"{self.role}, {self.total}: " + ", ".join(f"{part.look.name} {part.share}" for part in parts)


@dataclass(frozen=True)
class CostRow:
    """A row of a table: a class with its look, or one of its functions."""

    look: Look | None
    name: str
    cost: str
    share: str
    interval: str
    callees: str


@dataclass(frozen=True)
class SideDetail:
    """The table and the flame graph of a side. `column` is the unit in the heading, `samples` a sentence."""

    role: str
    unit: str
    column: str
    interval: str
    rows: tuple[CostRow, ...]
    samples: str
    flame: FlameGraph | None


@dataclass(frozen=True)
class CellBars:
    """The bars of a cell; `setting` is empty where there is only one cell."""

    setting: str
    bars: tuple[CostBar, ...]


@dataclass(frozen=True)
class CellDetail:
    """Tables and flame graphs of a cell; `setting` is empty where there is only one cell."""

    id: str
    setting: str
    sides: tuple[SideDetail, ...]


@dataclass(frozen=True)
class CostSection:
    """All that the template draws. `notes` are sentences on what is missing or left out."""

    about: str
    looks: tuple[Look, ...]
    bars: tuple[CellBars, ...]
    cells: tuple[CellDetail, ...]
    notes: tuple[str, ...]


def cost_section(experiment: Experiment, trials: Trials) -> CostSection | None:
    """The section, None where no trial has stack samples.

    Raises:
        RecordError: the record cannot be read.
    """
    if not has_samples(trials):
        return None
    cost = read_cost(experiment)
    cells = [cell for cell in cost.cells if cell.sides]
    if not cells:
        return None
    detailed = sorted(cells, key=_cost, reverse=True)[:MAX_CELLS]
    trees = read_trees(experiment, detailed)
    names = {} if len(cost.cells) == 1 else {cell.id: _setting(cell, experiment.plan.differing) for cell in cells}
    units = dict.fromkeys(_unit(cell, side) for cell in cells for side in cell.sides)
    return CostSection(
        about=f"{' and '.join(units)}, by what the host did.",
        looks=_looks(cells[:MAX_BARS]),
        bars=tuple(_bars(cells, names)),
        cells=tuple(_detail(cell, names, trees) for cell in detailed),
        notes=(*cost.notes, *_left_out(len(cells), experiment.name)),
    )


def _cost(cell: CellCost) -> float:
    return sum(basis_of(cell, side).total(side).mean for side in cell.sides)


def _setting(cell: CellCost, varied: Sequence[str]) -> str:
    return setting(cell.factors, list(varied)) or cell.id


def _unit(cell: CellCost, side: SideCost) -> str:
    return f"{side.unit} per {basis_of(cell, side).unit}"


def _looks(cells: Sequence[CellCost]) -> tuple[Look, ...]:
    """The classes that bars have a visible part of, in the order in which bars have them."""
    names = {entry.name for cell in cells for side in cell.sides for entry in side.classes if entry.share >= MIN_RATIO}
    return tuple(look_of(name) for name in in_order(names))


def _left_out(cells: int, name: str) -> Iterator[str]:
    if cells > MAX_BARS:
        yield f"Bars of the first {MAX_BARS} of {cells:,} cells."
    if cells > MAX_CELLS:
        command = shell_line(["whyperf", "show", "--view", "cost", name])
        yield (
            f"Tables and flame graphs of the {MAX_CELLS} cells with the highest cost. `{command} CELL` prints the "
            "functions of another one."
        )


def _bars(cells: Sequence[CellCost], names: Mapping[str, str]) -> Iterator[CellBars]:
    widest: dict[str, float] = {}
    for cell in cells:
        for side in cell.sides:
            unit, total = _unit(cell, side), basis_of(cell, side).total(side).mean
            widest[unit] = max(widest.get(unit, 0.0), total)
    for cell in cells[:MAX_BARS]:
        bars = tuple(_bar(side, basis_of(cell, side), widest[_unit(cell, side)]) for side in cell.sides)
        yield CellBars(names.get(cell.id, ""), bars)


def _bar(side: SideCost, basis: Basis, widest: float) -> CostBar:
    total = basis.total(side)
    costs = {entry.name: entry for entry in side.classes}
    width = total.mean / widest if widest else 0.0
    parts = tuple(
        BarPart(
            look_of(name),
            ratio=costs[name].share,
            is_named=costs[name].share * width >= NAMED_RATIO,
            share=percent(costs[name].share),
            cost=f"{cycles(basis.exclusive(costs[name]).mean)} per {basis.unit}",
        )
        for name in in_order(set(costs))
    )
    return CostBar(side.role.capitalize(), f"{cycles(total.mean)} per {basis.unit}{_interval(total)}", width, parts)


def _interval(amount: Amount) -> str:
    return f" ({_ends(amount)})" if _ends(amount) else ""


def _ends(amount: Amount) -> str:
    return "" if amount.low is None or amount.high is None else f"{cycles(amount.low)} to {cycles(amount.high)}"


def _detail(cell: CellCost, names: Mapping[str, str], trees: Mapping[tuple[str, str], Frame]) -> CellDetail:
    return CellDetail(
        cell.id,
        names.get(cell.id, ""),
        tuple(_side(side, basis_of(cell, side), trees.get((cell.id, side.role))) for side in cell.sides),
    )


def _side(side: SideCost, basis: Basis, tree: Frame | None) -> SideDetail:
    has_intervals = side.total.low is not None
    return SideDetail(
        role=side.role.capitalize(),
        unit=f"cycles per {basis.unit}",
        column=basis.column,
        interval=interval_name([len(side.trials)]) if has_intervals else "",
        rows=tuple(_rows(side, basis)),
        samples=f"{count(side.samples, 'sample')} in {count(len(side.trials), 'trial')}.",
        flame=None if tree is None else flame_graph(tree),
    )


def _rows(side: SideCost, basis: Basis) -> Iterator[CostRow]:
    total = basis.total(side)
    small = [entry for entry in side.classes if entry.share < MIN_RATIO]
    for entry in side.classes:
        if entry not in small:
            yield from _class_rows(entry, basis, total.mean or 1.0)
    if small:
        cost = sum(basis.exclusive(entry).mean for entry in small)
        name = f"{count(len(small), 'class', 'classes')} below {percent(MIN_RATIO)}"
        yield CostRow(None, name, cycles(cost), percent(cost / (total.mean or 1.0)), "", "")


def _class_rows(entry: ClassCost, basis: Basis, total: float) -> Iterator[CostRow]:
    cost = basis.exclusive(entry)
    yield CostRow(look_of(entry.name), entry.title, cycles(cost.mean), percent(entry.share), _ends(cost), "")
    large = [
        function
        for function in entry.functions
        if function.name and basis.exclusive(function).mean >= MIN_RATIO * total
    ]
    for function in large[:MAX_FUNCTIONS]:
        own, inclusive = basis.exclusive(function), basis.inclusive(function)
        callees = "" if inclusive is None else cycles(inclusive)
        yield CostRow(None, function_text(function), cycles(own.mean), percent(own.mean / total), _ends(own), callees)
