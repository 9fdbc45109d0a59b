"""The command of the laboratory, and what whyperf says of it."""

import json
import subprocess
from pathlib import Path

import pytest

from lab import app
from whyperf.cli import main

ROOT = Path(__file__).parents[2]


def test_the_linked_command_starts_from_any_folder(tmp_path: Path) -> None:
    # What is here is none of its modules.
    (tmp_path / "json.py").write_text("raise SystemExit(1)")
    linked = tmp_path / "whyperf-lab"
    linked.symlink_to(ROOT / "lab/whyperf-lab")
    command = [str(linked), "truth", "--short", "--dry-run", "--json"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert json.loads(done.stdout)["cells"]


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["truth", "--trials", "0"], "0 is below the limit, 1; see `whyperf-lab truth --help`"),
        (["trut"], "whyperf-lab: no such command 'trut'; see `whyperf-lab --help`"),
    ],
)
def test_a_mistake_is_one_sentence(arguments: list[str], sentence: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert app.main(arguments) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert sentence in line


def test_whyperf_says_where_a_command_went(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["truth", "--only", "two words"]) == 2
    assert capsys.readouterr().err == (
        "whyperf: no such command 'truth'; it is in the laboratory of the repository now: "
        "`make setup-run`, then `.venv/bin/whyperf-lab truth --only 'two words'`\n"
    )
