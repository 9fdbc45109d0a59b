"""A single cell with a schedule, printed in lines."""

from pathlib import Path

from tests.unit.analyze.transport_samples import trial, write
from whyperf.analyze import summarize
from whyperf.cli.output.single import WIDTH, single_lines
from whyperf.record import Experiment


def test_a_single_cell_reports_its_schedule(tmp_path: Path) -> None:
    (cell,) = summarize(Experiment.open(write(tmp_path / "one", [trial("reno", 10.0, "c0001")]))).cells
    values = {line[:WIDTH].strip(): line[WIDTH:] for line in single_lines(cell)}
    assert values["Schedule"] == "seven-regions: 4 flows of reno in 7 regions"
    assert values["Regions"].startswith("1: 59.1 Mbit/s; 2: 59.1 Mbit/s; 3: 59.1 Mbit/s; 4: 59.1 Mbit/s; 3: ")
    assert values["Steadiness"] == "S 0.000, F 1.000 at least"
    # Flows that share alike at once, and whose room is taken at once.
    assert values["Adapting"] == "convergence 0 s, slack 0 s"
