"""A results folder, as the record writes it, gives the same as its frames."""

from pathlib import Path

from tests.unit.analyze import synthetic as made
from whyperf.analyze import summarize, summarize_inputs
from whyperf.record import Experiment


def test_a_folder_gives_what_its_frames_give(tmp_path: Path) -> None:
    trials = made.sweep([4096, 8192], [512, 4096], blocks=3)
    folder = made.write(tmp_path / "synthetic", trials)
    assert summarize(Experiment.open(folder)) == summarize_inputs(made.inputs(trials))


def test_a_folder_without_trials(tmp_path: Path) -> None:
    folder = made.write(tmp_path / "empty", [], planned=made.plan([made.Trial()]))
    assert [cell.trials for cell in summarize(Experiment.open(folder)).cells] == [0]


def test_a_damaged_table_is_reported_and_its_trial_left_out(tmp_path: Path) -> None:
    trials = made.blocks_of(made.Trial(), [1e9, 2e9, 3e9])
    folder = made.write(tmp_path / "damaged", trials)
    (folder / "trials" / "002-c0001" / "intervals.far.parquet").write_bytes(b"PAR1 and nothing more")
    result = summarize(Experiment.open(folder))
    assert result.cells[0].trials == 2
    assert [(row.trial, row.status) for row in result.unfinished] == [("002-c0001", "damaged")]
    assert "damaged_trials" in {warning.code for warning in result.warnings}


def test_a_failed_trial_without_tables(tmp_path: Path) -> None:
    broken = made.Trial(block=2, status="failed", reason="no route to host")
    folder = made.write(tmp_path / "failed", [made.Trial(), broken])
    cell = summarize(Experiment.open(folder)).cells[0]
    assert (cell.trials, cell.failed_trials) == (1, 1)
