"""What an error from the depths becomes for the user."""

import errno
from pathlib import Path

import polars as pl
import pytest

from whyperf.cli import main
from whyperf.cli.exits import FAILED, USAGE, explain, say


@pytest.mark.parametrize(
    ("error", "code", "says"),
    [
        (PermissionError(errno.EACCES, "Permission denied", "a/plan.json"), FAILED, "a/plan.json cannot be opened"),
        (OSError(errno.ENOSPC, "No space left on device", "a/plan.json"), FAILED, "no space left on the device"),
        (OSError(errno.ENAMETOOLONG, "File name too long", "x" * 300), USAGE, f"{'x' * 40}… is too long"),
        (OSError(errno.EIO, "Input/output error"), FAILED, "internal error (OSError: [Errno 5] Input/output error)"),
    ],
)
def test_what_a_user_can_help_is_no_internal_error(error: OSError, code: int, says: str) -> None:
    found, text = explain(error)
    assert (found, text[: len(says)]) == (code, says)


def test_words_stay_whole_on_a_terminal(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    text = "whyperf: results/a-very-long-name-of-an-experiment has no folder trials; copy the result whole"
    say(text)
    assert capsys.readouterr().err == f"{text}\n"
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    monkeypatch.setenv("COLUMNS", "40")
    say(text)
    lines = capsys.readouterr().err.splitlines()
    assert " ".join(lines) == text
    assert lines[1] == "results/a-very-long-name-of-an-experiment"
    assert all(len(line) <= 40 for line in lines if " " in line)


def test_a_sentence_holds_nothing_that_a_terminal_obeys(capsys: pytest.CaptureFixture[str]) -> None:
    say("near: \x1b[2Jgone\nand\u202e more")
    assert capsys.readouterr().err == "near: \\x1b[2Jgone\nand\\u202e more\n"


def test_a_panic_of_a_library_is_a_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def panic(*_: object) -> None:
        raise pl.exceptions.PanicException("called `Result::unwrap()`")

    (tmp_path / "plan.json").write_text("{}")
    monkeypatch.setattr("whyperf.record.Experiment.open", panic)
    assert main(["show", str(tmp_path)]) == FAILED
    (line,) = capsys.readouterr().err.splitlines()
    assert "this result cannot be judged (PanicException" in line
