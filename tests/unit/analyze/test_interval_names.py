"""What the two ends of a spread are called, on the terminal and in the report."""

import pytest

from tests.unit.analyze import synthetic as made
from whyperf.analyze import summarize_inputs
from whyperf.analyze.spread import interval_name
from whyperf.cli.output.single import single_lines
from whyperf.report.table import cells_table


@pytest.mark.parametrize(
    ("trials", "name"),
    [
        ([2], "range"),
        ([2, 2, 1], "range"),
        ([5, 6], "interval"),
        ([6, 25, 1], "95 % interval"),
        ([2, 6], "interval or range"),
    ],
)
def test_the_fewest_trials_decide(trials: list[int], name: str) -> None:
    assert interval_name(trials) == name


@pytest.mark.parametrize(("trials", "name"), [(2, "range"), (3, "interval"), (6, "95 % interval")])
def test_terminal_and_table_have_the_same_name(trials: int, name: str) -> None:
    rates = [1e9 + number * 1e6 for number in range(trials)]
    summary = summarize_inputs(made.inputs(made.blocks_of(made.Trial(), rates)))
    goodput = next(line for line in single_lines(summary.cells[0]) if line.startswith("Goodput"))
    assert goodput.endswith(f", {name} of {trials} trials)")
    headings = [column.heading for column in cells_table(summary).columns]
    assert f"{name[:1].upper()}{name[1:]}" in headings
