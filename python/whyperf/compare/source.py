"""A result that is compared: what is read of its record, once for all comparisons with it."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

from whyperf.compare.figures import ResultFigures, read_figures
from whyperf.compare.link import with_link_rates
from whyperf.plan import Cell
from whyperf.record import Experiment, Trials


@dataclass(frozen=True)
class Source:
    """A result under its label (A, B, …), of which all cells are compared, or those of a condition, or one.

    `sweeps` ends the names of the sweeps of a condition (`profile.conditions`).
    """

    label: str
    experiment: Experiment
    cell: str | None = None
    sweeps: str = ""

    @cached_property
    def cells(self) -> tuple[Cell, ...]:
        """The cells that are compared."""
        return tuple(
            cell
            for cell in self.experiment.plan.cells
            if self.cell in {None, cell.id} and cell.sweep.endswith(self.sweeps)
        )

    @cached_property
    def trials(self) -> Trials:
        """Its trials.

        Raises:
            RecordError: the record cannot be read.
        """
        return self.experiment.trials()

    @cached_property
    def result(self) -> ResultFigures:
        """The figures of all its cells.

        Raises:
            RecordError: the record cannot be read.
        """
        return read_figures(self.experiment, self.trials)

    def values(self, cell: str) -> Mapping[str, Mapping[str, float]]:
        """The figures of a cell: by quantity, by trial."""
        found = self.result.figures.values.get(cell, {})
        return with_link_rates(found, self.experiment.plan.cell(cell), self.experiment) if found else found
