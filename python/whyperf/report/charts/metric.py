"""The metric of a cell: goodput, transactions per second, or received datagrams.

A workload names its metric. Charts, tables and sentences use the definitions here.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from whyperf.analyze.spread import Spread
from whyperf.analyze.summary import CellResult
from whyperf.analyze.text import bit_rate, significant

_BIT_PREFIXES = ((1e12, "Tbit/s"), (1e9, "Gbit/s"), (1e6, "Mbit/s"), (1e3, "kbit/s"), (1.0, "bit/s"))


@dataclass(frozen=True)
class RateUnit:
    """The unit of all rates of a chart or table: its name, and how many of the quantity's own units it is."""

    scale: float
    name: str


@dataclass(frozen=True)
class Metric:
    """A quantity over the trials of a cell."""

    #: As a heading: `Goodput`, `Transactions`.
    title: str
    spread: Callable[[CellResult], Spread]
    #: A value with its unit.
    text: Callable[[float], str]
    unit_for: Callable[[float], RateUnit]

    def axis(self, unit: RateUnit) -> str:
        """The label of an axis: `Goodput (Gbit/s)`, `Transactions per second`."""
        return f"{self.title} per second" if unit.name.startswith(self.title.lower()) else f"{self.title} ({unit.name})"

    def unit(self, cells: Sequence[CellResult]) -> RateUnit:
        """The unit in which the largest median of `cells` is at least 1."""
        return self.unit_for(max((self.median(cell) or 0.0 for cell in cells), default=0.0))

    def median(self, cell: CellResult) -> float | None:
        """The median of the cell's trials; None without one."""
        return self.spread(cell).median


def _bit_unit(bps: float) -> RateUnit:
    return next((RateUnit(scale, name) for scale, name in _BIT_PREFIXES if bps >= scale), RateUnit(1.0, "bit/s"))


def _transactions(cell: CellResult) -> Spread:
    return cell.transactions.per_s if cell.transactions is not None else Spread()


def per_second(value: float, what: str = "transactions") -> str:
    """A rate: `41,250 transactions/s`."""
    return f"{significant(value, 4)} {what}/s"


GOODPUT = Metric("Goodput", lambda cell: cell.goodput_bps, bit_rate, _bit_unit)
TRANSACTIONS = Metric("Transactions", _transactions, per_second, lambda _: RateUnit(1.0, "transactions/s"))
#: Datagrams and connections use goodput, too, with additional figures.
METRICS = {"transactions": TRANSACTIONS}


def metric_of(cells: Sequence[CellResult]) -> Metric:
    """The common metric of some cells; goodput where they differ."""
    names = {cell.metric for cell in cells}
    return METRICS.get(next(iter(names)), GOODPUT) if len(names) == 1 else GOODPUT
