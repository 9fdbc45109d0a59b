"""The commands that the documents call runnable are run."""

import os
import shlex
from pathlib import Path

import pytest

from tests.docs.documents import Example, examples
from tests.e2e.conftest import WHY_NOT_PRIVILEGED
from tests.e2e.warm_command import MAINS
from tests.e2e.whyperf_command import WHYPERF, whyperf


def is_part(example: Example, other: Example) -> bool:
    """Whether another example has all commands of this one, in the same order."""
    steps = iter(other.steps)
    if example.files or other.is_slow or len(example.steps) >= len(other.steps):
        return False
    return all(step in steps for step in example.steps)


EVERY = list(examples())
#: Those that are a part of another are run with it.
EXAMPLES = [example for example in EVERY if not any(is_part(example, other) for other in EVERY)]


@pytest.mark.parametrize(
    "example",
    [pytest.param(example, marks=[pytest.mark.slow] if example.is_slow else []) for example in EXAMPLES],
    ids=[f"{example.document}: {shlex.join(example.steps[-1].command)}" for example in EXAMPLES],
)
def test_a_documented_command_runs(example: Example, tmp_path: Path) -> None:
    """In a folder of its own."""
    if example.needs_root and WHY_NOT_PRIVILEGED is not None:
        pytest.skip(WHY_NOT_PRIVILEGED)
    for name, content in example.files.items():
        (tmp_path / name).write_text(content)
    # `whyperf watch` starts a command. What doctor --probe-cost keeps is not to replace a real measurement.
    environment = {
        "PATH": f"{WHYPERF.parent}{os.pathsep}{os.environ['PATH']}",
        "XDG_STATE_HOME": str(tmp_path / "state"),
    }
    for step in example.steps:
        program, *arguments = step.command
        assert program in MAINS
        done = whyperf(*arguments, folder=tmp_path, environment=environment, program=program)
        assert done.status in step.exit_codes, f"{shlex.join(step.command)}\n{done.out}{done.err}"


def test_there_are_commands_to_run() -> None:
    assert sum(len(example.steps) for example in EXAMPLES) >= 8
