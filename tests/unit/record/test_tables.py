"""Tables over all trials."""

from pathlib import Path

import polars as pl
import pytest

from tests.unit.record.record_samples import PROFILE_TEXT, record, sample_plan, table
from whyperf.record import Experiment, read_table

PLAN = sample_plan()
TRIALS = sorted(trial.id for trial in PLAN.trials())


@pytest.fixture
def experiment(tmp_path: Path) -> Experiment:
    with Experiment.create(tmp_path / "sample", PLAN, PROFILE_TEXT) as experiment:
        for trial in TRIALS:
            record(experiment, trial)
        return experiment


def test_rows_carry_trial_block_and_cell(experiment: Experiment) -> None:
    frame, damaged = read_table(experiment, "intervals")
    assert damaged == []
    assert frame.columns == ["trial", "block", "cell", "host", "interval", "payload_bytes"]
    assert frame.schema["block"] == pl.Int64
    assert frame.schema["payload_bytes"] == pl.UInt64
    assert frame.height == len(TRIALS) * 2 * 3
    assert frame["trial"].unique(maintain_order=True).to_list() == TRIALS
    first = frame.row(0, named=True)
    assert f"{first['block']:03d}-{first['cell']}" == first["trial"]


def test_rows_of_a_log_trial_carry_its_block_and_cell(tmp_path: Path) -> None:
    plan = sample_plan(evidence="segments")
    log = next(trial for trial in plan.trials() if trial.is_log)
    with Experiment.create(tmp_path / "sample", plan, PROFILE_TEXT) as experiment:
        record(experiment, log.id)
        frame, _ = read_table(experiment, "intervals")
    assert frame.select("trial", "block", "cell").unique().rows() == [(log.id, 1, log.cell)]


def test_columns_and_trials_can_be_chosen(experiment: Experiment) -> None:
    frame, _ = read_table(experiment, "intervals", columns=["payload_bytes"], trials=TRIALS[:2])
    assert frame.columns == ["trial", "block", "cell", "payload_bytes"]
    assert frame["trial"].unique(maintain_order=True).to_list() == TRIALS[:2]


def test_a_damaged_file_is_named_and_the_others_are_read(experiment: Experiment) -> None:
    path = experiment.folder / "trials" / TRIALS[3] / "intervals.far.parquet"
    path.write_bytes(b"x" * path.stat().st_size)
    frame, damaged = read_table(experiment, "intervals")
    assert [entry.trial for entry in damaged] == [TRIALS[3]]
    assert "intervals.far.parquet cannot be read" in damaged[0].reason
    assert frame.height == (len(TRIALS) * 2 - 1) * 3
    narrow, _ = read_table(experiment, "intervals", columns=["interval"])
    assert narrow.height == frame.height


def test_a_file_of_another_version_lends_its_columns(experiment: Experiment) -> None:
    path = experiment.folder / "trials" / TRIALS[0] / "intervals.far.parquet"
    pl.read_parquet(path).with_columns(extra_count=pl.lit(1)).write_parquet(path)
    frame, damaged = read_table(experiment, "intervals")
    assert damaged == []
    assert frame["extra_count"].drop_nulls().len() == 3
    assert frame.height == len(TRIALS) * 2 * 3


def test_a_table_nobody_wrote_is_empty(experiment: Experiment) -> None:
    frame, damaged = read_table(experiment, "segments")
    assert frame.columns == ["trial", "block", "cell"]
    assert frame.is_empty()
    assert damaged == []


def test_partial_trials_are_not_read(experiment: Experiment) -> None:
    partial = experiment.folder / "trials" / ".001-c0001.partial"
    partial.mkdir()
    (partial / "intervals.near.parquet").write_bytes(table("near"))
    assert read_table(experiment, "intervals").frame.height == len(TRIALS) * 2 * 3
