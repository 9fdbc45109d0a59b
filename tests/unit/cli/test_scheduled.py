"""A single cell with a schedule, told in lines."""

from pathlib import Path

from tests.unit.analyze.transport_samples import trial, write
from whyperf.analyze import summarize
from whyperf.cli.output.single import WIDTH, single_lines
from whyperf.record import Experiment


def test_a_single_cell_tells_its_schedule(tmp_path: Path) -> None:
    (cell,) = summarize(Experiment.open(write(tmp_path / "one", [trial("reno", 10.0, "c0001")]))).cells
    told = {line[:WIDTH].strip(): line[WIDTH:] for line in single_lines(cell)}
    assert told["Schedule"] == "seven-regions: 4 flows of reno in 7 regions"
    assert told["Regions"].startswith("1: 59.1 Mbit/s; 2: 59.1 Mbit/s; 3: 59.1 Mbit/s; 4: 59.1 Mbit/s; 3: ")
    assert told["Steadiness"] == "S 0.000, F 1.000 at least"
    # Flows that share alike at once, and whose room is taken at once.
    assert told["Adapting"] == "convergence 0 s, slack 0 s"
