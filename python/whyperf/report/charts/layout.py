"""Which factor goes on the x axis, which makes the lines, and which are chosen from a list."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from statistics import fmean, pstdev

from whyperf.analyze.summary import CellResult
from whyperf.analyze.text import factor_name, factor_title, level_text
from whyperf.profile.factor import cpus_of_list

MAX_LINES = 8
"""More lines are not distinguishable."""

CPU_FACTORS = ("near_cpus", "far_cpus")
"""Lists of CPUs; an axis shows their number."""

X_FIRST = (*CPU_FACTORS, "write_size_bytes", "read_size_bytes", "window_bytes")
"""The preferred x axis among factors with equally many levels."""

LINES_FIRST = ("window_bytes",)

TIMING = ("schedule_scale", "duration_s", "warmup_s", "cooldown_s", "interval_ms", "deadline_s", "rest_s")
"""Factors of how long and how finely is measured. Sweeps that differ in other factors, too, are named by those."""

Level = object


@dataclass(frozen=True)
class Axis:
    """A varied factor with its levels in order; `aliases` are factors that have the same level in each cell."""

    factor: str
    levels: tuple[Level, ...]
    aliases: tuple[str, ...] = ()

    @property
    def numeric(self) -> bool:
        """True where the levels are numbers."""
        return self.counts_cpus or all(
            isinstance(level, int | float) and not isinstance(level, bool) for level in self.levels
        )

    @property
    def counts_cpus(self) -> bool:
        """True where the levels are lists of CPUs, each with a different length."""
        if self.factor not in CPU_FACTORS:
            return False
        counts = {len(cpus_of_list(str(level))) for level in self.levels}
        return 0 not in counts and len(counts) == len(self.levels)

    @property
    def geometric(self) -> bool:
        """True where the levels have equal ratios rather than equal differences."""
        values = self.values()
        if not self.numeric or len(values) < 3 or min(values) <= 0 or max(values) < 8 * min(values):
            return False
        steps = [later - earlier for earlier, later in pairwise(values)]
        ratios = [math.log(later / earlier) for earlier, later in pairwise(values)]
        return _unevenness(ratios) < _unevenness(steps)

    @property
    def title(self) -> str:
        """The axis label."""
        if self.counts_cpus:
            return f"Number of {factor_name(self.factor)}"
        names = [factor_title(self.factor).partition(" (")[0], *(factor_title(name) for name in self.aliases)]
        return (
            " = ".join([names[0], *(_within_a_title(name) for name in names[1:])])
            if self.aliases
            else (factor_title(self.factor))
        )

    def values(self) -> list[float]:
        """Positions of the levels on an axis: the numbers themselves, otherwise 0, 1, 2, …"""
        if self.counts_cpus:
            return [float(len(cpus_of_list(str(level)))) for level in self.levels]
        if self.numeric:
            return [float(level) for level in self.levels if isinstance(level, int | float)]
        return [float(index) for index in range(len(self.levels))]

    def thinned(self, count: int) -> tuple[Level, ...]:
        """At most `count` levels, evenly spaced, with the first and the last one."""
        total = len(self.levels)
        if total <= count:
            return self.levels
        # An even stride, if one keeps at least half of `count` levels.
        for stride in range(2, 2 * total // count + 1):
            if (total - 1) % stride == 0 and (total - 1) // stride < count:
                return self.levels[::stride]
        return tuple(self.levels[round(index * (total - 1) / (count - 1))] for index in range(count))


def _within_a_title(name: str) -> str:
    """A title that follows another: `Write size` -> `write size`, but `GSO` as it is."""
    return name if name[1:2].isupper() else name[:1].lower() + name[1:]


@dataclass(frozen=True)
class Layout:
    """The way that a sweep's factors are shown, and its cells by level of x, lines and panels."""

    x: Axis
    lines: Axis | None
    panels: tuple[Axis, ...]
    cells: Mapping[tuple[str, ...], CellResult] = field(repr=False)

    def cell(self, x: Level, line: Level | None, panel: Sequence[Level]) -> CellResult | None:
        """The cell at these levels; None when the plan has none."""
        levels = [x, *([] if self.lines is None else [line]), *panel]
        return self.cells.get(tuple(level_text(level) for level in levels))


def choose(cells: Sequence[CellResult]) -> Layout | None:
    """The layout for the cells of one sweep; None when nothing varies."""
    axes = varied_axes(cells)
    if not axes:
        return None
    numeric = [axis for axis in axes if axis.numeric] or axes
    x = max(numeric, key=lambda axis: (len(axis.levels), -_rank(axis.factor, X_FIRST)))
    rest = [axis for axis in axes if axis is not x]
    lines = max(
        rest,
        key=lambda axis: (axis.factor in LINES_FIRST, len(axis.levels) <= MAX_LINES, len(axis.levels)),
        default=None,
    )
    panels = tuple(axis for axis in rest if axis is not lines)
    order = [x, *([] if lines is None else [lines]), *panels]
    found = {tuple(level_text(cell.factors.get(axis.factor)) for axis in order): cell for cell in cells}
    return Layout(x, lines, panels, found)


def varied_axes(cells: Sequence[CellResult]) -> list[Axis]:
    """The varied factors of `cells`, without those that another factor determines."""
    names = list(dict.fromkeys(name for cell in cells for name in cell.factors))
    columns = {name: [level_text(cell.factors.get(name)) for cell in cells] for name in names}
    varied = [name for name in names if len(set(columns[name])) > 1]
    varied.sort(key=lambda name: -len(set(columns[name])))
    kept: list[str] = []
    aliases: dict[str, list[str]] = {}
    for name in varied:
        master = next((other for other in kept if _determines(columns[other], columns[name])), None)
        if master is None:
            kept.append(name)
        elif columns[name] == columns[master]:
            aliases.setdefault(master, []).append(name)
    kept.sort(key=names.index)
    return [Axis(name, _levels(cells, name), tuple(aliases.get(name, ()))) for name in kept]


def distinguishing_axes(cells: Sequence[CellResult]) -> list[Axis]:
    """The factors by which cells of one sweep or of several differ, without those that others determine.

    These are the varied factors of each sweep, and those that sweeps fix at different levels. A factor that a cell
    lacks distinguishes nothing. Cells of two sweeps with the same factors still look the same.
    """
    sweeps = sweeps_of(cells)
    if len(sweeps) == 1:
        return varied_axes(cells)
    names = list(dict.fromkeys(name for cell in cells for name in cell.factors))
    kept = {axis.factor for own in sweeps.values() for axis in varied_axes(own)}
    fixed = {name for name in names if all(_level_count(own, name) <= 1 for own in sweeps.values())}
    kept |= {name for name in fixed.difference(TIMING) if _level_count(cells, name) > 1}
    for name in names:
        alike: dict[tuple[str, ...], list[CellResult]] = {}
        for cell in cells:
            alike.setdefault(tuple(level_text(cell.factors.get(other)) for other in kept), []).append(cell)
        if any(_level_count(group, name) > 1 for group in alike.values()):
            kept.add(name)
    return [
        Axis(name, _levels([cell for cell in cells if cell.factors.get(name) is not None], name))
        for name in names
        if name in kept
    ]


def sweeps_of(cells: Sequence[CellResult]) -> dict[str, list[CellResult]]:
    """The cells of each sweep, by its name, in the order of the plan."""
    found: dict[str, list[CellResult]] = {}
    for cell in cells:
        found.setdefault(cell.sweep, []).append(cell)
    return found


def _level_count(cells: Sequence[CellResult], name: str) -> int:
    """The number of levels of a factor in the cells that have it."""
    return len({level_text(level) for cell in cells if (level := cell.factors.get(name)) is not None})


def _determines(levels: Sequence[str], other: Sequence[str]) -> bool:
    """True where each level of `levels` occurs with a single level of `other`."""
    return len(set(zip(levels, other, strict=True))) == len(set(levels))


def _levels(cells: Sequence[CellResult], name: str) -> tuple[Level, ...]:
    levels = {level_text(cell.factors.get(name)): cell.factors.get(name) for cell in cells}.values()
    numbers = [level for level in levels if isinstance(level, int | float) and not isinstance(level, bool)]
    names = [level for level in levels if level not in numbers or isinstance(level, bool)]
    return (*names, *sorted(numbers))


def _unevenness(steps: Sequence[float]) -> float:
    """Deviation of `steps` as part of their mean."""
    return pstdev(steps) / fmean(steps)


def _rank(name: str, order: Sequence[str]) -> int:
    return order.index(name) if name in order else len(order)
