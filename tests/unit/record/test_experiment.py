"""Experiments: created, resumed, locked, and refused."""

import errno
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.unit.record.record_samples import PROFILE_TEXT, manifest, record, sample_plan
from whyperf.record import Experiment, RecordError

PLAN = sample_plan()
TRIALS = [trial.id for trial in PLAN.trials()]


def created(folder: Path, **options: bool) -> Experiment:
    return Experiment.create(folder, PLAN, PROFILE_TEXT, **options)


@settings(max_examples=30)
@given(st.sets(st.sampled_from(TRIALS)))
def test_missing_is_planned_minus_made(tmp_path_factory: pytest.TempPathFactory, made: set[str]) -> None:
    folder = tmp_path_factory.mktemp("resume") / "sample"
    with created(folder) as experiment:
        for trial in made:
            record(experiment, trial)
        expected = [trial for trial in TRIALS if trial not in made]
        assert [trial.id for trial in experiment.missing_trials(PLAN)] == expected
    with created(folder) as resumed:
        assert [trial.id for trial in resumed.missing_trials()] == expected
        assert set(resumed.trials().manifests) == made


def test_what_was_asked_and_planned_is_kept(tmp_path: Path) -> None:
    created(tmp_path / "sample").close()
    names = {path.name for path in (tmp_path / "sample").iterdir()}
    assert names == {".lock", "plan.json", "profile.toml", "seal", "trials"}
    experiment = Experiment.open(tmp_path / "sample")
    assert experiment.profile_text == PROFILE_TEXT
    assert experiment.plan == PLAN.named("sample")
    assert experiment.name == "sample"


def test_a_folder_of_another_plan_is_refused_with_both_plans_and_remedy(tmp_path: Path) -> None:
    folder = tmp_path / "sample"
    created(folder).close()
    other = sample_plan(seed=5)
    before = {path: path.read_bytes() for path in folder.rglob("*.*") if path.is_file()}
    with pytest.raises(RecordError) as caught:
        Experiment.create(folder, other, PROFILE_TEXT)
    text = str(caught.value)
    assert PLAN.id in text
    assert other.id in text
    assert "--out" in text
    assert {path: path.read_bytes() for path in folder.rglob("*.*") if path.is_file()} == before


def test_a_folder_with_other_files_is_refused(tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").write_text("dear")
    with pytest.raises(RecordError, match="not an experiment's; name another folder"):
        created(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.tex"]


def test_a_second_runner_learns_who_measures(tmp_path: Path) -> None:
    folder = tmp_path / "sample"
    code = (
        "import sys, pathlib\n"
        "from record_samples import *\n"
        f"experiment = Experiment.create(pathlib.Path({str(folder)!r}), sample_plan(), PROFILE_TEXT)\n"
        "print('locked', flush=True)\n"
        "sys.stdin.read()\n"
    )
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(Path(__file__).parent), *sys.path])}
    with subprocess.Popen(
        [sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment
    ) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == b"locked\n"
        with pytest.raises(RecordError, match=rf"is being measured by process {other.pid}; wait"):
            created(folder)
        # Reading is free.
        assert Experiment.open(folder).trials().manifests == {}
        other.kill()
    created(folder).close()


def test_failed_trials_are_kept_and_retried_once_on_request(tmp_path: Path) -> None:
    folder = tmp_path / "sample"
    first, second = TRIALS[:2]
    with created(folder) as experiment:
        record(experiment, first, "failed")
        record(experiment, second)
    with created(folder) as experiment:
        assert first not in {trial.id for trial in experiment.missing_trials()}
    with created(folder, retry_failed=True) as experiment:
        assert experiment.missing_trials()[0].id == first
        record(experiment, first, "failed")
        assert first not in {trial.id for trial in experiment.missing_trials()}
    assert (folder / "set-aside" / f"{first}-1" / "manifest.json").exists()


def test_a_void_trial_is_made_again_at_most_twice(tmp_path: Path) -> None:
    folder, first = tmp_path / "sample", TRIALS[0]
    for made in range(3):
        with created(folder) as experiment:
            assert experiment.missing_trials()[0].id == first, made
            record(experiment, first, "void")
            assert experiment.may_run_again(first, "void") == (made < 2)
    with created(folder) as experiment:
        assert first not in {trial.id for trial in experiment.missing_trials()}
    assert sorted(path.name for path in (folder / "set-aside").iterdir()) == [f"{first}-1", f"{first}-2"]
    with created(folder, retry_failed=True) as experiment:
        assert experiment.missing_trials()[0].id == first


@pytest.mark.parametrize(
    ("damage", "says"),
    [
        (lambda trial: (trial / "manifest.json").write_text('{"record_version": 1,'), "its manifest is damaged"),
        (lambda trial: (trial / "manifest.json").unlink(), "no manifest.json"),
        (lambda trial: (trial / "intervals.far.parquet").unlink(), "intervals.far.parquet is missing"),
        (lambda trial: os.truncate(trial / "intervals.far.parquet", 10), "intervals.far.parquet has 10 of"),
    ],
)
def test_a_damaged_trial_is_named_and_measured_again_without_being_removed(
    tmp_path: Path, damage: object, says: str
) -> None:
    folder = tmp_path / "sample"
    with created(folder) as experiment:
        record(experiment, TRIALS[0])
        record(experiment, TRIALS[1])
        damage(folder / "trials" / TRIALS[0])  # type: ignore[operator]
        found = experiment.trials()
        assert list(found.manifests) == [TRIALS[1]]
        assert [trial.trial for trial in found.damaged] == [TRIALS[0]]
        assert says in found.damaged[0].reason
        assert experiment.missing_trials()[0].id == TRIALS[0]
        record(experiment, TRIALS[0])
        assert len(experiment.trials().manifests) == 2
    assert (folder / "set-aside" / f"{TRIALS[0]}-1").is_dir()


def test_what_is_no_experiment_is_said(tmp_path: Path) -> None:
    with pytest.raises(RecordError, match=r"is not an experiment: it has no plan.json"):
        Experiment.open(tmp_path / "none")
    created(tmp_path / "sample").close()
    path = tmp_path / "sample" / "plan.json"
    path.write_text(path.read_text()[:500])
    with pytest.raises(RecordError, match=r"plan.json: this is not a plan of version 1"):
        Experiment.open(tmp_path / "sample")


def test_a_run_killed_before_its_plan_was_written_starts_anew(tmp_path: Path) -> None:
    folder = tmp_path / "sample"
    created(folder).close()
    (folder / "plan.json").rename(folder / ".plan.json.partial")
    with created(folder) as experiment:
        assert len(experiment.missing_trials()) == len(TRIALS)


def test_log_trials_are_missing_made_and_retried_like_others(tmp_path: Path) -> None:
    plan = sample_plan(evidence="segments")
    log = next(trial.id for trial in plan.trials() if trial.is_log)
    with Experiment.create(tmp_path / "sample", plan, PROFILE_TEXT) as experiment:
        record(experiment, log, "failed")
        record(experiment, TRIALS[0])
        assert log not in {trial.id for trial in experiment.missing_trials()}
        found = experiment.trials()
        assert (list(found.measured), list(found.logs)) == ([TRIALS[0]], [log])
    with Experiment.create(tmp_path / "sample", plan, PROFILE_TEXT, retry_failed=True) as experiment:
        missing = experiment.missing_trials()
        assert len(missing) == plan.trials_count - 1
        assert next(trial for trial in missing if trial.is_log).id == log


@pytest.mark.parametrize(
    ("report", "again"),
    [
        ({"got": "segments"}, False),
        ({"got": "segments", "lost_events_count": [{"cpu": 0, "count": 5}]}, False),
        ({"got": "segments", "broken_off": "no space left on device"}, True),
        ({"got": "user", "reason": "run as root"}, True),
    ],
)
def test_a_log_trial_without_its_log_is_made_again_on_request(
    tmp_path: Path, report: dict[str, object], again: bool
) -> None:
    plan = sample_plan(evidence="segments")
    log = next(trial.id for trial in plan.trials() if trial.is_log)
    document = manifest(plan, log) | {"evidence_asked": "segments"}
    document["hosts"]["near"] |= {"evidence": {"got": "segments"}}
    document["hosts"]["far"] |= {"evidence": report}
    with Experiment.create(tmp_path / "sample", plan, PROFILE_TEXT) as experiment:
        experiment.begin_trial(log).commit(document)
    for retry_failed in (False, True):
        with Experiment.create(tmp_path / "sample", plan, PROFILE_TEXT, retry_failed=retry_failed) as experiment:
            missing = {trial.id for trial in experiment.missing_trials()}
            assert (log in missing) == (retry_failed and again)


def test_an_experiment_from_before_there_were_levels_goes_on_at_its_own(tmp_path: Path) -> None:
    created(tmp_path / "sample").close()
    path = tmp_path / "sample" / "plan.json"
    document = json.loads(path.read_text())
    del document["evidence"], document["log_blocks"]
    path.write_text(json.dumps(document))
    with created(tmp_path / "sample") as experiment:
        assert {trial.evidence for trial in experiment.missing_trials()} == {"user"}
        assert experiment.plan.id == PLAN.id


def test_what_cannot_be_locked_leaves_no_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> int:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as patched:
        patched.setattr(os, "open", full)
        with pytest.raises(RecordError, match="no space left on device"):
            created(tmp_path / "sample")
    assert list(tmp_path.iterdir()) == []


def test_hosts_and_testbed_are_kept(tmp_path: Path) -> None:
    with created(tmp_path / "sample") as experiment:
        experiment.write_host("near", {"hostname": "a"})
        experiment.write_testbed({"near": {}})
        assert experiment.hosts() == {"near": {"hostname": "a"}}
        assert experiment.testbed() == {"near": {}}


def test_a_manifest_that_is_none_leaves_no_trial(tmp_path: Path) -> None:
    with created(tmp_path / "sample") as experiment:
        writer = experiment.begin_trial(TRIALS[0])
        wrong = manifest(PLAN, TRIALS[0]) | {"status": "fine"}
        with pytest.raises(RecordError, match="status"):
            writer.commit(wrong)
        assert list((tmp_path / "sample" / "trials").iterdir()) == []


@pytest.mark.parametrize("name", ["../../etc/passwd", "a/b", "", ".hidden", "x" * 99])
def test_an_agent_cannot_name_a_file_outside_its_trial(tmp_path: Path, name: str) -> None:
    with created(tmp_path / "sample") as experiment:
        with pytest.raises(RecordError, match=re.escape(repr(name))):
            experiment.begin_trial(TRIALS[0]).open_table(name, "near")
        assert list((tmp_path / "sample" / "trials").iterdir()) == []


def test_the_manifest_lists_its_tables(tmp_path: Path) -> None:
    with created(tmp_path / "sample") as experiment:
        record(experiment, TRIALS[0])
        trial = tmp_path / "sample" / "trials" / TRIALS[0]
        listed = json.loads((trial / "manifest.json").read_text())["tables"]
        assert listed == {path.name: path.stat().st_size for path in trial.glob("*.parquet")}
        assert len(listed) == 2


def test_an_experiment_without_a_trial_leaves_no_folder(tmp_path: Path) -> None:
    with created(tmp_path / "empty") as experiment:
        assert experiment.discard_if_empty()
    assert list(tmp_path.iterdir()) == []
    with created(tmp_path / "sample") as experiment:
        record(experiment, TRIALS[0])
        assert not experiment.discard_if_empty()
    created(tmp_path / "resumed").close()
    with created(tmp_path / "resumed") as experiment:
        assert not experiment.discard_if_empty()
