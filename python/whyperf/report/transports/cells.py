"""Cells with a schedule: their protocol, and the setting that distinguishes cells of one protocol."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from whyperf.analyze.summary import CellResult
from whyperf.analyze.text import setting
from whyperf.analyze.transports.result import Transports
from whyperf.report.charts.layout import Level, distinguishing_axes

#: Factors that the name of a protocol covers.
PROTOCOL = ("congestion_control", "transport")


@dataclass(frozen=True)
class Scheduled:
    """A cell with a result; `setting` has the levels of the other varied factors, `where` their text."""

    cell: CellResult
    result: Transports
    setting: tuple[Level, ...]
    where: str

    @property
    def text(self) -> str:
        """`reno, path rtt 80 ms`."""
        return ", ".join(part for part in (self.result.protocol, self.where) if part)


@dataclass(frozen=True)
class ScheduledCells:
    """The cells with a schedule and a trial; `factors` vary in addition to the protocol.

    `has_sweeps`: the name of the sweep is part of each setting, as some cells differ in nothing else.
    """

    factors: tuple[str, ...]
    cells: tuple[Scheduled, ...]
    has_sweeps: bool = False

    @property
    def are_named_apart(self) -> bool:
        """True where no two cells have the same text."""
        return len({cell.text for cell in self.cells}) == len(self.cells)

    @property
    def protocols(self) -> list[str]:
        """Every protocol once, in the order of the plan."""
        return list(dict.fromkeys(cell.result.protocol for cell in self.cells))

    @property
    def settings(self) -> dict[tuple[Level, ...], str]:
        """Every setting once, with its text, in the order of the plan."""
        return {cell.setting: cell.where for cell in self.cells}


def scheduled_cells(cells: Sequence[CellResult]) -> ScheduledCells:
    """The cells with a result of transports, each with a text of its own."""
    known = [cell for cell in cells if cell.transports is not None]
    varied = tuple(axis.factor for axis in distinguishing_axes(known)) if known else ()
    factors = tuple(name for name in varied if name not in PROTOCOL)
    found = ScheduledCells(factors, tuple(_scheduled(cell, factors) for cell in known))
    if not found.are_named_apart:
        # The flows of a schedule may have protocols of their own; then these factors are not in the protocol's name.
        found = ScheduledCells(varied, tuple(_scheduled(cell, varied) for cell in known))
    if not found.are_named_apart:
        found = ScheduledCells(varied, tuple(_of_sweep(cell) for cell in found.cells), has_sweeps=True)
    return found


def _scheduled(cell: CellResult, factors: Sequence[str]) -> Scheduled:
    assert cell.transports is not None
    levels = tuple(cell.factors.get(name) for name in factors)
    return Scheduled(cell, cell.transports, levels, setting(dict(cell.factors), list(factors)))


def _of_sweep(cell: Scheduled) -> Scheduled:
    """A cell that its sweep distinguishes, too: two sweeps may have the same factors."""
    sweep = cell.cell.sweep
    where = ", ".join(part for part in (cell.where, f"sweep {sweep}") if part)
    return replace(cell, setting=(*cell.setting, sweep), where=where)
