"""A calibration in words and tables."""

import sys
from pathlib import Path

from rich import box
from rich.table import Table

from whyperf.analyze.text import significant
from whyperf.calibrate import Calibration, Steps
from whyperf.calibrate.sentences import determined_by_data, point_row, verdict_lines
from whyperf.calibrate.steps import QUANTITIES
from whyperf.cli.output.console import Console

#: Width of tables where standard output is no terminal.
PLAIN_WIDTH = 160


def print_steps(steps: Steps) -> None:
    """Prints what single steps take on this host."""
    table = _table("Step", "", "Median", "95 %")
    for name, time in steps.measured.items():
        unit = "ns/byte" if name.endswith("_ns_per_byte") else "us"
        name_text, _ = QUANTITIES[name]
        row = (significant(time.value), f"{significant(time.low)} to {significant(time.high)}")
        table.add_row(name, name_text, f"{row[0]} {unit}", row[1])
    _console().print(table)


def print_calibration(calibration: Calibration, out: Path, html: Path | None) -> None:
    """The costs, the errors, and what the data do not say."""
    console = _console()
    table = _table("Cost", "Prior", "Fitted", "Ensemble, 5 to 95 %", "From the data")
    for cost in calibration.found:
        spread = f"{significant(cost.low)} to {significant(cost.high)}"
        table.add_row(
            cost.prior.key, significant(cost.prior.value), significant(cost.best), spread, determined_by_data(cost)
        )
    console.print(table)
    console.print()
    points = _table("Window", "Write size", "", "Measured", "Model", "Range", "Error")
    for judged in calibration.verdict.points:
        points.add_row(*point_row(judged))
    console.print(points)
    console.print()
    for line in verdict_lines(calibration):
        console.print(line, soft_wrap=not sys.stdout.isatty())
    console.print(f"\nCalibrated host: {out}" + (f"\nPage: {html}" if html else ""))


def _table(*headings: str) -> Table:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False, padding=(0, 2, 0, 0))
    for number, heading in enumerate(headings):
        table.add_column(heading, justify="left" if number == 0 or not heading else "right")
    return table


def _console() -> Console:
    return Console(highlight=False, markup=False, width=None if sys.stdout.isatty() else PLAIN_WIDTH)
