"""Packs: many simulated trials in one folder, read like any others."""

from pathlib import Path

import polars as pl

from tests.unit.record.record_samples import PROFILE_TEXT, manifest, record, sample_plan
from whyperf.record import Experiment, Manifest, read_table

PLAN = sample_plan()
TRIALS = [trial.id for trial in PLAN.trials()]


def packed(experiment: Experiment, trials: list[str]) -> None:
    with experiment.begin_pack() as pack:
        rows = {"trial": trials, "host": ["near"] * len(trials), "payload_bytes": list(range(len(trials)))}
        pl.DataFrame(rows).write_parquet(pack.folder / "flows.near.parquet")
        pack.commit([manifest(PLAN, trial) for trial in trials])


def test_packed_trials_are_there_like_those_with_a_folder(tmp_path: Path) -> None:
    with Experiment.create(tmp_path / "sample", PLAN, PROFILE_TEXT) as experiment:
        packed(experiment, TRIALS[:2])
        packed(experiment, TRIALS[2:3])
        assert sorted(experiment.trials().manifests) == sorted(TRIALS[:3])
        assert [missing_trial.id for missing_trial in experiment.missing_trials()] == TRIALS[3:]
        assert isinstance(experiment.trial(TRIALS[1]), Manifest)
        frame = read_table(experiment, "flows", columns=["payload_bytes"], trials=TRIALS[1:3]).frame
        assert dict(zip(frame["trial"], frame["payload_bytes"], strict=True)) == {TRIALS[1]: 1, TRIALS[2]: 0}
        assert frame["cell"].to_list() == [name.partition("-")[2] for name in frame["trial"]]


def test_a_pack_that_was_not_finished_is_gone(tmp_path: Path) -> None:
    folder = tmp_path / "sample"
    with Experiment.create(folder, PLAN, PROFILE_TEXT) as experiment:
        partial = experiment.begin_pack()
        (partial.folder / "flows.near.parquet").write_bytes(b"half")
    with Experiment.create(folder, PLAN, PROFILE_TEXT) as resumed:
        assert not partial.folder.exists()
        assert len(resumed.missing_trials()) == len(TRIALS)


def test_a_pack_with_a_table_cut_short_is_reported_and_not_read(tmp_path: Path) -> None:
    with Experiment.create(tmp_path / "sample", PLAN, PROFILE_TEXT) as experiment:
        packed(experiment, TRIALS[:2])
        record(experiment, TRIALS[2])
        table = next((tmp_path / "sample" / "trials").glob("pack-*/flows.near.parquet"))
        table.write_bytes(table.read_bytes()[:-1])
        found = experiment.trials()
        assert list(found.manifests) == [TRIALS[2]]
        assert [entry.reason for entry in found.damaged] == ["flows.near.parquet is not whole"]
