"""The commands that the documents call runnable are run."""

import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from tests.docs.documents import Example, examples

EXAMPLES = list(examples())


@pytest.mark.parametrize(
    "example", EXAMPLES, ids=lambda example: f"{example.document}: {shlex.join(example.commands[-1])}"
)
def test_a_documented_command_runs(example: Example, tmp_path: Path) -> None:
    """In a folder of its own."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    for command in example.commands:
        done = subprocess.run(
            command,
            cwd=tmp_path,
            # What doctor --probe-cost keeps is not to take the place of a real measurement.
            env=os.environ | {"PATH": path, "XDG_STATE_HOME": str(tmp_path / "state")},
            capture_output=True,
            text=True,
            timeout=240,
            check=False,
        )
        assert done.returncode in example.exit_codes, f"{' '.join(command)}\n{done.stdout}{done.stderr}"


def test_there_are_commands_to_run() -> None:
    assert sum(len(example.commands) for example in EXAMPLES) >= 8
