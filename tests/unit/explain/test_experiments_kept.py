"""What experiments showed counts only from this user's own folders, and nothing else there is opened."""

import os
import shutil
from pathlib import Path

import pytest

from tests.unit.explain.experiment_samples import keep_next_to, why
from tests.unit.record.record_samples import PROFILE_TEXT, sample_plan
from whyperf.explain.experiments import kept
from whyperf.explain.experiments.kept import FILE, MAX_BYTES, MAX_LOOKED_AT, latest
from whyperf.record import Experiment
from whyperf.record.kept import read_kept, write_kept


@pytest.fixture
def result(tmp_path: Path) -> Experiment:
    """A result with experiments next to it."""
    folder = tmp_path / "shared" / "result"
    with Experiment.create(folder, sample_plan(), PROFILE_TEXT):
        pass
    keep_next_to(Experiment.open(folder), why())
    return Experiment.open(folder)


@pytest.fixture
def read(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of the neighbors whose file is read; none of their plans is."""
    names: list[str] = []

    def noted(path: Path, *given: object) -> object:
        names.append(path.parent.name)
        return read_kept(path, *given)  # type: ignore[arg-type]

    monkeypatch.setattr(kept, "read_kept", noted)
    monkeypatch.setattr(Experiment, "open", pytest.fail)
    return names


def neighbor(result: Experiment, name: str, content: bytes = b"{}") -> Path:
    """A folder next to the result that says it has experiments with it, newer than those that are there."""
    folder = result.folder.with_name(f"{result.name}-{name}")
    folder.mkdir()
    (folder / FILE).write_bytes(content)
    (folder / "plan.json").write_text("[" * 1_000_000)
    os.utime(folder / FILE, (2e9, 2e9))
    return folder


def test_the_plan_of_a_neighbor_is_never_opened(result: Experiment, read: list[str]) -> None:
    for name in ("why-2", "2", "why-3"):
        neighbor(result, name)
    found = latest(result)
    assert found is not None
    assert found.tried == why().tried
    assert len(read) == 4
    assert read[-1] == "result-why-1"


@pytest.mark.root
def test_folders_of_other_users_and_links_are_left_alone(
    result: Experiment, read: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("SUDO_UID", raising=False)
    theirs = neighbor(result, "theirs")
    os.chown(theirs, 65534, 65534)
    link = neighbor(result, "link")
    link.rename(tmp_path / "elsewhere").chmod(0o755)
    link.symlink_to(tmp_path / "elsewhere")
    callers = neighbor(result, "callers")
    os.chown(callers, 4711, 4711)
    assert latest(result) is not None
    assert read == ["result-why-1"]
    for name in ("SUDO_UID", "SUDO_GID"):
        monkeypatch.setenv(name, "4711")
    assert latest(result) is not None
    assert read == ["result-why-1", "result-callers", "result-why-1"]


def test_a_bounded_number_of_neighbors_of_a_bounded_size_is_read(result: Experiment, read: list[str]) -> None:
    for number in range(MAX_LOOKED_AT):
        neighbor(result, f"{number}")
    assert latest(result) is None
    assert len(read) == MAX_LOOKED_AT
    for number in range(MAX_LOOKED_AT):
        shutil.rmtree(result.folder.with_name(f"result-{number}"))
    large = why(experiment="x" * MAX_BYTES).model_dump(mode="json")
    write_kept(result.folder.with_name("result-why-1") / FILE, kept._signed(result), large)
    assert latest(result) is None


def test_a_neighbor_that_cannot_be_looked_at_is_left_out(result: Experiment, read: list[str]) -> None:
    (neighbor(result, "empty") / FILE).unlink()
    (neighbor(result, "fifo") / FILE).unlink()
    os.mkfifo(result.folder.with_name("result-fifo") / FILE)
    result.folder.with_name("result-file").write_text("")
    assert latest(result) is not None
    assert "result-empty" not in read
