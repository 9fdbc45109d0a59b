"""Tables over all trials."""

from pathlib import Path
from typing import Any

import polars as pl
import pytest

from tests.unit.record.record_samples import PROFILE_TEXT, record, sample_plan, table
from whyperf.record import Experiment, parquet, read_table, sum_by_host
from whyperf.record.export.pseudonyms import Pseudonyms
from whyperf.record.export.tables import copy_table
from whyperf.record.parquet import OWN_FILES

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


@pytest.fixture
def swapped(experiment: Experiment, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A table whose owner puts another in its place as soon as it was checked."""
    path = experiment.folder / "trials" / TRIALS[0] / "intervals.far.parquet"
    forged = experiment.folder / "forged"
    pl.read_parquet(path).with_columns(pl.col("payload_bytes") + 1).write_parquet(forged)
    check = parquet._checked

    def checked(file: Any) -> tuple[int, int]:
        found = check(file)
        if path.exists() and path.samefile(f"/proc/self/fd/{file.descriptor}"):
            forged.rename(path)
        return found

    monkeypatch.setattr(parquet, "_checked", checked)
    return path


def test_the_table_that_was_checked_is_read(experiment: Experiment, swapped: Path) -> None:
    before = sorted(OWN_FILES.iterdir())
    frame, damaged = read_table(experiment, "intervals")
    assert (damaged, frame["payload_bytes"].unique().to_list()) == ([], [1000])
    assert pl.read_parquet(swapped)["payload_bytes"].unique().to_list() == [1001]
    assert sorted(OWN_FILES.iterdir()) == before


def test_the_table_that_was_checked_is_summed(experiment: Experiment, swapped: Path) -> None:
    sums = sum_by_host(experiment, "intervals", swapped.parent.name, lambda rows: rows.select(pl.sum("payload_bytes")))
    assert sums is not None
    assert sums.rows() == [(6000,)]


def test_the_table_that_was_checked_is_copied(swapped: Path, tmp_path: Path) -> None:
    content = swapped.read_bytes()
    copy_table(swapped.name, swapped.parent, tmp_path, Pseudonyms([]))
    assert (tmp_path / swapped.name).read_bytes() == content


def test_more_tables_are_read_than_are_open_at_once(experiment: Experiment, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = read_table(experiment, "intervals").frame
    monkeypatch.setattr("whyperf.record.tables.BATCH", 5)
    assert read_table(experiment, "intervals").frame.equals(whole)


def test_partial_trials_are_not_read(experiment: Experiment) -> None:
    partial = experiment.folder / "trials" / ".001-c0001.partial"
    partial.mkdir()
    (partial / "intervals.near.parquet").write_bytes(table("near"))
    assert read_table(experiment, "intervals").frame.height == len(TRIALS) * 2 * 3
