"""Experiments: created, resumed, locked, and refused."""

import errno
import json
import os
import re
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.unit.record.record_samples import PROFILE_TEXT, manifest, record, sample_plan
from whyperf.record import Experiment, Manifest, RecordError, busiest_process
from whyperf.record.errors import WrongFolderError, refuse_full

PLAN = sample_plan()
TRIALS = [trial.id for trial in PLAN.trials()]
#: A side of a trial that is complete.
END = manifest(PLAN, TRIALS[0])["hosts"]["near"]


def created(folder: Path, **options: bool) -> Experiment:
    return Experiment.create(folder, PLAN, PROFILE_TEXT, **options)


def test_where_no_folder_can_be_made_the_folder_is_named_and_not_the_disk() -> None:
    folder = Path("/proc/there/is/none")
    refuse_full(folder)
    with pytest.raises(
        RecordError, match=r"cannot make /proc/there/is/none: no such .*; choose another folder with --out"
    ):
        created(folder)


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


def test_a_result_without_its_profile_is_opened_nevertheless(tmp_path: Path) -> None:
    created(tmp_path / "sample").close()
    (tmp_path / "sample" / "profile.toml").unlink()
    experiment = Experiment.open(tmp_path / "sample")
    assert experiment.trials().manifests == {}
    for _ in range(2):
        with pytest.raises(RecordError, match=r"cannot read .*profile\.toml: no such file"):
            _ = experiment.profile_text
        assert not experiment.is_made_here


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
    # flock(2): another open file of the same process is as another process.
    with created(folder):
        with pytest.raises(RecordError, match=rf"is being measured by process {os.getpid()}; wait"):
            created(folder)
        # Reading is free.
        assert Experiment.open(folder).trials().manifests == {}
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


def rewrite(folder: Path, **changes: object) -> None:
    """Changes the manifest of a trial."""
    path = folder / "manifest.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | changes))


@pytest.mark.parametrize(
    ("damage", "says"),
    [
        (lambda trial: (trial / "manifest.json").write_text('{"record_version": 1,'), "its manifest is damaged"),
        (lambda trial: rewrite(trial, trial="002-c0001"), "its manifest is of trial 002-c0001"),
        (lambda trial: rewrite(trial, record_version=2), "is of version 2, this is whyperf for version 1"),
        (lambda trial: rewrite(trial, status="bogus"), "its manifest is damaged: status"),
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
        assert experiment.trial(TRIALS[0]) == found.damaged[0]
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


def test_a_prepared_folder_is_not_resumed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two plans with one identifier of 48 bits are found within hours."""
    other = sample_plan(seed=5)
    monkeypatch.setattr("whyperf.plan.plan_document.identify", lambda _: PLAN.id)
    folder = tmp_path / "sample"
    created(folder).close()
    (folder / "plan.json").write_text(other.named("sample").model_copy(update={"id": PLAN.id}).to_json())
    before = {path: path.read_bytes() for path in folder.rglob("*.*") if path.is_file()}
    with pytest.raises(WrongFolderError, match=r"sample was not made by you on this host, .* so it is not resumed"):
        created(folder)
    assert {path: path.read_bytes() for path in folder.rglob("*.*") if path.is_file()} == before


def test_trials_without_a_plan_are_not_taken_for_own_ones(tmp_path: Path) -> None:
    folder = tmp_path / "sample"
    with created(folder) as experiment:
        record(experiment, TRIALS[0])
    for path in folder.glob("*.*"):
        path.unlink()
    (folder / "seal").unlink()
    before = sorted(folder.rglob("*"))
    with pytest.raises(WrongFolderError, match=r"sample has trials but no plan\.json; name another folder with --out"):
        created(folder)
    assert sorted(folder.rglob("*")) == before


@pytest.mark.parametrize("changed", [{"factors": {"window_bytes": 1}}, {"cell": "c0002"}, {"cell": "c9999"}])
def test_a_trial_with_other_factors_than_its_cell_is_measured_again(tmp_path: Path, changed: dict[str, object]) -> None:
    with created(tmp_path / "sample") as experiment:
        trial = "001-c0001"
        experiment.begin_trial(trial).commit(manifest(PLAN, trial) | changed)
        reason = "its factors are not those of its cell in the plan"
        assert experiment.trials().damaged == [experiment.trial(trial)] == [(trial, reason)]
        assert len(experiment.missing_trials()) == len(TRIALS)


@pytest.mark.parametrize("name", ["seal", "profile.toml"])
def test_a_folder_without_a_right_seal_is_not_resumed(tmp_path: Path, name: str) -> None:
    created(tmp_path / "sample").close()
    (tmp_path / "sample" / name).write_text("# another")
    with pytest.raises(WrongFolderError, match="so it is not resumed"):
        created(tmp_path / "sample")


def test_what_is_made_is_the_plan_that_was_checked_and_never_a_stored_one(tmp_path: Path) -> None:
    """Texts, and the addresses of hosts, are no part of the identifier."""
    folder = tmp_path / "sample"
    earlier = PLAN.model_copy(update={"warnings": ("of an earlier version",)})
    Experiment.create(folder, earlier, PROFILE_TEXT).close()
    with created(folder) as resumed:
        assert resumed.plan == PLAN.named("sample")
        assert resumed.is_made_here
    assert Experiment.open(folder).plan.warnings == earlier.warnings


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
        # The folder of somebody else may have any number of hosts; the plan has one pair.
        experiment.write_host("far", {"hostname": "b"})
        experiment.write_host("near2", {"hostname": "c"})
        assert set(experiment.hosts()) == {"near", "far"}


@pytest.mark.parametrize(
    ("change", "key"),
    [
        ({"status": "fine"}, "status"),
        ({"block": 0}, "block"),
        ({"record_version": 2}, "record_version"),
        ({"hosts": {"near": END}}, "lacks the outcome or clock of far"),
        ({"hosts": {"near": END, "far": END | {"clock": None}}}, "lacks the outcome or clock of far"),
        ({"hosts": {"near": END | {"outcome": None}, "far": END}}, "lacks the outcome or clock of near"),
        # Of a trial that failed, nothing may be there.
        ({"hosts": {}, "status": "failed"}, None),
    ],
)
def test_a_manifest_has_what_its_status_needs(tmp_path: Path, change: dict[str, object], key: str | None) -> None:
    with created(tmp_path / "sample") as experiment:
        writer = experiment.begin_trial(TRIALS[0])
        if key is None:
            writer.commit(manifest(PLAN, TRIALS[0]) | change)
            return
        with pytest.raises(RecordError, match=key):
            writer.commit(manifest(PLAN, TRIALS[0]) | change)
        assert list((tmp_path / "sample" / "trials").iterdir()) == []


def test_an_end_without_a_log_is_noticed() -> None:
    whole = {"got": "segments"}
    for far, lacks_log in (
        (whole, False),
        ({"got": "counters"}, True),
        (whole | {"broken_off": "disk"}, True),
        (whole | {"broken_off": None}, False),
    ):
        hosts = {"near": END | {"evidence": whole}, "far": END | {"evidence": far}}
        changes = {"hosts": hosts, "evidence_asked": "segments"}
        found = Manifest.model_validate_json(json.dumps(manifest(PLAN, TRIALS[0]) | changes))
        assert found.lacks_log == lacks_log


def test_the_busiest_process_is_named_by_its_share_of_a_cpu() -> None:
    notes = [
        {"note": "busy_process", "name": name, "pid": pid, "cpu_ns": cpu, "wall_ns": wall}
        for name, pid, cpu, wall in (("a", 1, 5, 10), ("b", 2, 6, 8), ("c", 3, 9, 0))
    ]
    assert busiest_process(notes) == "b (process 2) used 75 % of a CPU"
    assert busiest_process([{"note": "x"}, notes[2]]) == ""


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
