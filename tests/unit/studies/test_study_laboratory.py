"""A run of a study that is a command of the laboratory starts its program, or says what is missing."""

from pathlib import Path

import pytest

from whyperf.cli.workflows import studies
from whyperf.studies.catalog import StudyRun, as_typed
from whyperf.studies.folder import DOCUMENTS, document_path

RUN = StudyRun(command="whyperf-lab tools iperf3", seconds=1, documents=("output",))


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Of the results, next to an agent."""
    (tmp_path / DOCUMENTS).mkdir()
    (tmp_path / "agent").write_bytes(b"an agent")
    monkeypatch.setattr(studies, "agent_binary", lambda: tmp_path / "agent")
    return tmp_path


def test_its_program_gets_the_folder_and_prints_the_document(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = folder / "whyperf-lab"
    program.write_text('#!/bin/sh\necho "$@"\n')
    program.chmod(0o755)
    monkeypatch.setattr("sys.executable", str(folder / "python"))
    status = studies._run_one(folder, "a-run", RUN)
    assert status.is_done, status.message
    printed = document_path(folder, "a-run", "output").read_text()
    assert printed == f"tools iperf3 --out {folder / 'a-run'} --json\n"


def test_a_missing_program_is_named(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.executable", str(folder / "python"))
    monkeypatch.setenv("PATH", str(folder))
    status = studies._run_one(folder, "a-run", RUN)
    assert (status.is_done, status.message) == (
        False,
        "it needs whyperf-lab, which the repository has: `make setup-run` there",
    )


def test_a_command_is_shown_with_its_program() -> None:
    assert as_typed(RUN.command) == RUN.command
    assert as_typed("run quick") == "whyperf run quick"


def test_no_document_is_written_through_a_planted_link(folder: Path) -> None:
    """The folder may be another user's."""
    victim = folder / "victim"
    victim.write_text("mine")
    for name in ("run.log", "run.status.json", "run.status.part"):
        (folder / name).symlink_to(victim)
    with (
        pytest.raises(OSError, match="symbolic links"),
        open(folder / "run.log", "ab", opener=studies._without_links),
    ):
        pass
    studies._write(folder / "run.status.json", "{}")
    assert victim.read_text() == "mine"
    assert (folder / "run.status.json").read_text() == "{}"
