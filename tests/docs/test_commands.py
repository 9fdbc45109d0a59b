"""The commands that the documents call runnable are run."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.docs.documents import ROOT, Example, examples


@pytest.mark.slow
@pytest.mark.parametrize(
    "example", examples(), ids=lambda example: f"{example.document}: {' '.join(example.commands[-1])}"
)
def test_a_documented_command_runs(example: Example, tmp_path: Path) -> None:
    """In a folder of its own; `make` is only looked up, because a test runs under it."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    for number, command in enumerate(example.commands, start=1):
        if command[0] == "make":
            subprocess.run(["make", "--dry-run", *command[1:]], cwd=ROOT, check=True, capture_output=True)
            continue
        done = subprocess.run(
            command,
            cwd=tmp_path,
            env=os.environ | {"PATH": path},
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        expected = example.exit_code if number == len(example.commands) else 0
        assert done.returncode == expected, f"{' '.join(command)}\n{done.stdout}{done.stderr}"


def test_there_are_commands_to_run() -> None:
    assert len(list(examples())) >= 5
