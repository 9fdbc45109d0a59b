"""Packs: many simulated trials in one folder, read like any others."""

import json
import tracemalloc
from pathlib import Path

import polars as pl
import pytest

from tests.unit.record.record_samples import PROFILE_TEXT, manifest, record, sample_plan
from whyperf.record import Damaged, Experiment, Manifest, read_table
from whyperf.record.pack import read_pack

PLAN = sample_plan()
TRIALS = [trial.id for trial in PLAN.trials()]


def packed(experiment: Experiment, trials: list[str]) -> None:
    with experiment.begin_pack() as pack:
        rows = pl.DataFrame({"trial": trials, "payload_bytes": range(len(trials))})
        key = {"host": "near", "connection": 0, "role": "sender"}
        rows.with_columns(pl.lit(value).alias(name) for name, value in key.items()).write_parquet(
            pack.folder / "flows.near.parquet"
        )
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


@pytest.mark.parametrize(
    ("file", "content", "says"),
    [
        ("flows.near.parquet", b"1", "flows.near.parquet is not whole"),
        ("manifests.jsonl", b"{}", "manifests.jsonl is not whole"),
        ("manifests.jsonl", b"{}\n{}\n", "its manifest is damaged: trial Field required"),
        (
            "manifests.jsonl",
            b'{"a": [' + b"[]," * 1000 + b"0]}\n{}\n",
            "its manifest is damaged: it has over 876 values",
        ),
        ("pack.json", None, "its pack.json cannot be read: No such file or directory"),
        ("pack.json", b"{}", "it cannot be read: 'tables'"),
        ("pack.json", b"[1", "it cannot be read: "),
        ("pack.json", b"[]", "it cannot be read: "),
        ("pack.json", b'{"trials": 2, "tables": {"../../plan.json": %d}}', "../../plan.json is not whole"),
        ("pack.json", b'{"trials": 2, "tables": {"manifests.jsonl": %d}}', "manifests.jsonl is not whole"),
        ("pack.json", b'{"trials": 2, "tables": {"link.near.parquet": %d}}', "link.near.parquet is not whole"),
    ],
)
def test_a_pack_that_is_not_whole_is_reported_and_not_read(
    tmp_path: Path, file: str, content: bytes | None, says: str
) -> None:
    with Experiment.create(tmp_path / "sample", PLAN, PROFILE_TEXT) as experiment:
        packed(experiment, TRIALS[:2])
        record(experiment, TRIALS[2])
        path = tmp_path / "sample" / "trials" / "pack-00001" / file
        path.unlink()
        (path.parent / "link.near.parquet").symlink_to("flows.near.parquet")
        if content is not None:
            # Each size is right, so that the name alone is wrong.
            named = content.partition(b'"tables": {"')[2].partition(b'"')[0].decode()
            path.write_bytes(content % (path.parent / named).stat().st_size if b"%d" in content else content)
        found = experiment.trials()
        assert list(found.manifests) == [TRIALS[2]]
        (damaged,) = found.damaged
        assert damaged.reason.startswith(says)
        assert isinstance(experiment.trial(TRIALS[0]), Damaged)


def test_a_pack_of_many_short_lines_takes_little_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with Experiment.create(tmp_path / "sample", PLAN, PROFILE_TEXT) as experiment:
        packed(experiment, TRIALS[:2])
    pack = tmp_path / "sample" / "trials" / "pack-00001"
    (pack / "manifests.jsonl").write_bytes(b"{}\n" * 1_000_000)
    (pack / "pack.json").write_text(json.dumps({"trials": 1_000_000, "tables": {}}))
    # The real one asks for as much as may be there.
    monkeypatch.setattr("whyperf.record.pack.read_bytes", lambda path, *_: path.read_bytes())
    tracemalloc.start()
    try:
        (damaged,) = read_pack(pack)
        assert tracemalloc.get_traced_memory()[1] < 10_000_000
    finally:
        tracemalloc.stop()
    assert isinstance(damaged, Damaged)


@pytest.mark.parametrize("name", ["../victim", "/etc/passwd", "001-c0001/.."])
def test_a_trial_of_a_pack_never_has_the_name_of_another_folder(tmp_path: Path, name: str) -> None:
    with Experiment.create(tmp_path / "sample", PLAN, PROFILE_TEXT) as experiment:
        packed(experiment, TRIALS[:1])
        path = tmp_path / "sample" / "trials" / "pack-00001" / "manifests.jsonl"
        path.write_text(path.read_text().replace(TRIALS[0], name))
        found = experiment.trials()
        assert not found.manifests
        assert found.damaged[0].reason == f"it cannot be read: it has a manifest of {name}, which is no name of a trial"
