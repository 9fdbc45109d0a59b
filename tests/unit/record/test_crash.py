"""A trial is whole or not there, whenever the writer dies and whatever the disk refuses."""

import os
import resource
import shutil
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from tests.unit.record.record_samples import PROFILE_TEXT, manifest, record, sample_plan, table
from whyperf.record import Experiment, RecordError

PLAN = sample_plan()
TRIALS = [trial.id for trial in PLAN.trials()]
#: Everything that changes the disk, as the writer calls it.
SYSTEM_CALLS = ["mkdir", "open", "fsync", "rename", "replace", "rmdir", "unlink"]


def dying_at(count: int, call: Callable[..., Any], left: list[int]) -> Callable[..., Any]:
    """The system call, but the process is gone just before the `count`-th of all of them."""

    def counted(*arguments: Any, **options: Any) -> Any:
        left[0] -= 1
        if left[0] == 0:
            os._exit(9)
        return call(*arguments, **options)

    assert count > 0
    return counted


def write_and_die(folder: Path, count: int, status: str) -> bool:
    """Records a trial in a child that dies at its `count`-th system call; says whether it got through."""
    for host in ("near", "far"):
        table(host)
    child = os.fork()
    if child == 0:
        try:
            left = [count]
            for name in SYSTEM_CALLS:
                setattr(os, name, dying_at(count, getattr(os, name), left))
            with Experiment.create(folder, PLAN, PROFILE_TEXT, retry_failed=True) as experiment:
                record(experiment, TRIALS[0], status)
        finally:
            os._exit(0)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


@pytest.mark.parametrize("earlier", [None, "failed"])
def test_a_crash_at_any_system_call_leaves_no_half_trial(tmp_path: Path, earlier: str | None) -> None:
    template = tmp_path / "template"
    with Experiment.create(template, PLAN, PROFILE_TEXT) as experiment:
        record(experiment, TRIALS[1])
        if earlier:
            record(experiment, TRIALS[0], earlier)
    outcomes = set()
    for count in range(1, 200):
        folder = tmp_path / f"crash-{count}"
        shutil.copytree(template, folder)
        through = write_and_die(folder, count, "complete")
        found = Experiment.open(folder).trials()
        assert found.damaged == []
        assert TRIALS[1] in found.manifests
        with Experiment.create(folder, PLAN, PROFILE_TEXT, retry_failed=True) as resumed:
            assert not list((folder / "trials").glob(".*"))
            state = found.manifests[TRIALS[0]].status if TRIALS[0] in found.manifests else None
            outcomes.add(state)
            if state != "complete":
                record(resumed, resumed.missing_trials()[0].id)
            assert resumed.trials().manifests[TRIALS[0]].status == "complete"
        if through:
            break
    else:
        pytest.fail("the writer never got through")
    # The crash points lie before and after the moment the trial is there.
    assert {"complete", earlier} <= outcomes


def test_a_folder_whose_creation_was_cut_at_any_system_call_can_be_used(tmp_path: Path) -> None:
    for count in range(1, 100):
        folder = tmp_path / f"crash-{count}"
        through = write_and_die(folder, count, "complete")
        with Experiment.create(folder, PLAN, PROFILE_TEXT) as experiment:
            assert experiment.profile_text == PROFILE_TEXT
            assert experiment.trials().damaged == []
        if through:
            return
    pytest.fail("the writer never got through")


def test_a_file_the_system_refuses_to_grow_leaves_no_trial(tmp_path: Path) -> None:
    with Experiment.create(tmp_path / "sample", PLAN, PROFILE_TEXT) as experiment:
        soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
        resource.setrlimit(resource.RLIMIT_FSIZE, (4096, hard))
        try:
            writer = experiment.begin_trial(TRIALS[0])
            with pytest.raises(RecordError, match="file too large"), writer.open_table("intervals", "near") as file:
                file.write(bytes(100_000))
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        assert list((tmp_path / "sample" / "trials").iterdir()) == []
        record(experiment, TRIALS[0])


def test_the_partial_trial_of_a_block_left_by_an_error_is_gone(tmp_path: Path) -> None:
    with Experiment.create(tmp_path / "sample", PLAN, PROFILE_TEXT) as experiment:
        with suppress(KeyboardInterrupt), experiment.begin_trial(TRIALS[0]) as writer:
            writer.open_table("intervals", "near").write(b"half")
            raise KeyboardInterrupt
        assert list((tmp_path / "sample" / "trials").iterdir()) == []


def test_a_commit_cannot_be_undone_by_leaving_the_block(tmp_path: Path) -> None:
    with Experiment.create(tmp_path / "sample", PLAN, PROFILE_TEXT) as experiment:
        with suppress(KeyboardInterrupt), experiment.begin_trial(TRIALS[0]) as writer:
            writer.commit(manifest(PLAN, TRIALS[0]))
            raise KeyboardInterrupt
        assert list(experiment.trials().manifests) == [TRIALS[0]]
