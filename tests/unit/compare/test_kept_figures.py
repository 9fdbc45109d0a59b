"""The figures of a result are kept in its folder, and count only as long as they are of the record as it is."""

import shutil
from pathlib import Path
from typing import Any

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


def plain(found: ResultFigures) -> dict[str, Any]:
    """All that the figures hold, arrays as lists."""
    assert found.costs is not None
    tables = {
        side: {
            **{name: getattr(table, name) for name in ("rows", "trials", "unit", "per_kbyte")},
            **{name: getattr(table, name).tolist() for name in ("costs", "samples")},
            "inclusive": {key: values.tolist() for key, values in table.inclusive.items()},
            "kbytes_each": None if table.kbytes_each is None else table.kbytes_each.tolist(),
        }
        for side, table in found.costs.items()
    }
    values = {cell: dict(named) for cell, named in found.figures.values.items()}
    return {"values": values, "costs": tables, "rest": (found.blocks, found.notes, found.figures.cycles_unit)}


def test_what_is_kept_says_the_same_as_what_was_computed(folder: Path) -> None:
    computed = read(folder)
    assert (folder / NAME).exists()
    assert plain(read(folder)) == plain(computed)


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
