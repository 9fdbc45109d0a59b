"""Cells with a schedule: their protocol, and the setting that tells cells of one protocol apart."""

from collections.abc import Sequence
from dataclasses import dataclass

from whyperf.analyze.summary import CellResult
from whyperf.analyze.text import factor_name, level_with_unit
from whyperf.analyze.transports.result import Transports
from whyperf.report.charts.layout import Level, varied_axes

#: What a protocol's name stands for.
PROTOCOL = ("congestion_control", "transport")


@dataclass(frozen=True)
class Scheduled:
    """A cell with a result: `setting` are the levels of the other varied factors, in words `where`."""

    cell: CellResult
    result: Transports
    setting: tuple[Level, ...]
    where: str

    @property
    def words(self) -> str:
        """`reno, path rtt 80 ms`."""
        return ", ".join(part for part in (self.result.protocol, self.where) if part)


@dataclass(frozen=True)
class ScheduledCells:
    """The cells with a schedule and a trial; `factors` vary beside the protocol."""

    factors: tuple[str, ...]
    cells: tuple[Scheduled, ...]

    @property
    def protocols(self) -> list[str]:
        """Every protocol once, in the plan's order."""
        return list(dict.fromkeys(one.result.protocol for one in self.cells))

    @property
    def settings(self) -> dict[tuple[Level, ...], str]:
        """Every setting once, with its words, in the plan's order."""
        return {one.setting: one.where for one in self.cells}


def scheduled_cells(cells: Sequence[CellResult]) -> ScheduledCells:
    """The cells that have a result of transports."""
    known = [cell for cell in cells if cell.transports is not None]
    # Cells of other sweeps may lack a factor, so every sweep is asked.
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
