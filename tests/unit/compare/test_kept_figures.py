"""The figures of a result are kept in its folder, and count only as long as they are of the record as it is."""

import shutil
from pathlib import Path

import numpy as np
import pytest

from tests.unit.analyze import synthetic as made
from tests.unit.analyze.cost.sampled_results import add_samples
from tests.unit.analyze.workload_samples import Exchange, in_blocks
from tests.unit.analyze.workload_samples import write as write_exchanges
from whyperf.analyze.read.inputs import Inputs
from whyperf.analyze.trials import Measured
from whyperf.compare import figures
from whyperf.compare.figures import NAME, ResultFigures, read_figures
from whyperf.compare.quantities import TrialFigures, trial_figures
from whyperf.record import Experiment


def read(folder: Path) -> ResultFigures:
    experiment = Experiment.open(folder)
    return read_figures(experiment, experiment.trials())


@pytest.fixture(params=["stream", "requests"])
def folder(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """A result with samples."""
    trial = made.Trial(duration_s=2)
    if request.param == "stream":
        made.write(tmp_path / "result", made.blocks_of(trial, [1e9, 1.1e9, 1.2e9]))
    else:
        write_exchanges(tmp_path / "result", in_blocks(Exchange(trial), (1000.0, 1200.0)))
    return add_samples(tmp_path / "result").folder


def test_what_is_kept_says_the_same_as_what_was_computed(folder: Path) -> None:
    computed = read(folder)
    assert (folder / NAME).exists()
    kept = read(folder)
    assert kept.figures.values == {cell: dict(named) for cell, named in computed.figures.values.items()}
    assert (kept.blocks, kept.notes, kept.figures.cycles_unit) == (
        computed.blocks,
        computed.notes,
        computed.figures.cycles_unit,
    )
    assert kept.costs is not None
    assert computed.costs is not None
    assert kept.costs.keys() == computed.costs.keys()
    for side, table in computed.costs.items():
        other = kept.costs[side]
        assert (other.rows, other.trials, other.unit, other.per_kbyte) == (
            table.rows,
            table.trials,
            table.unit,
            table.per_kbyte,
        )
        assert np.array_equal(other.costs, table.costs)
        assert np.array_equal(other.samples, table.samples)
        assert {key: values.tolist() for key, values in other.inclusive.items()} == {
            key: values.tolist() for key, values in table.inclusive.items()
        }
        assert (other.kbytes_each is None) == (table.kbytes_each is None)
        assert np.array_equal(
            other.kbytes_each if other.kbytes_each is not None else [],
            table.kbytes_each if table.kbytes_each is not None else [],
        )


def test_kept_figures_are_not_computed_again_unless_the_record_changed(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    count = 0
    original = trial_figures

    def counting(inputs: Inputs, measured: Measured) -> TrialFigures:
        nonlocal count
        count += 1
        return original(inputs, measured)

    monkeypatch.setattr(figures, "trial_figures", counting)
    read(folder)
    read(folder)
    assert count == 1
    shutil.rmtree(next((folder / "trials").iterdir()))
    assert len(read(folder).blocks) < 3
    assert count == 2


def test_a_folder_that_cannot_be_written_to_is_read_all_the_same(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise PermissionError("read-only")

    monkeypatch.setattr(figures, "write_kept", refuse)
    assert read(folder).figures.values["c0001"]["goodput"]
    assert not (folder / NAME).exists()
