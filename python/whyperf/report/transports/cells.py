"""Cells with a schedule: their protocol, and the setting that distinguishes cells of one protocol."""

from collections.abc import Sequence
from dataclasses import dataclass

from whyperf.analyze.summary import CellResult
from whyperf.analyze.text import factor_name, level_with_unit
from whyperf.analyze.transports.result import Transports
from whyperf.report.charts.layout import Level, varied_axes

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
    """The cells with a schedule and a trial; `factors` vary in addition to the protocol."""

    factors: tuple[str, ...]
    cells: tuple[Scheduled, ...]

    @property
    def protocols(self) -> list[str]:
        """Every protocol once, in the order of the plan."""
        return list(dict.fromkeys(cell.result.protocol for cell in self.cells))

    @property
    def settings(self) -> dict[tuple[Level, ...], str]:
        """Every setting once, with its text, in the order of the plan."""
        return {cell.setting: cell.where for cell in self.cells}


def scheduled_cells(cells: Sequence[CellResult]) -> ScheduledCells:
    """The cells with a result of transports."""
    known = [cell for cell in cells if cell.transports is not None]
    # Cells of other sweeps may lack a factor, so each sweep is read separately.
    varied = dict.fromkeys(
        axis.factor
        for sweep in dict.fromkeys(cell.sweep for cell in known)
        for axis in varied_axes([cell for cell in known if cell.sweep == sweep])
    )
    factors = tuple(name for name in varied if name not in PROTOCOL)
    return ScheduledCells(factors, tuple(_scheduled(cell, factors) for cell in known))


def _scheduled(cell: CellResult, factors: Sequence[str]) -> Scheduled:
    assert cell.transports is not None
    levels = {name: cell.factors.get(name) for name in factors}
    where = ", ".join(f"{factor_name(name)} {level_with_unit(name, level)}" for name, level in levels.items())
    return Scheduled(cell, cell.transports, tuple(levels.values()), where)
