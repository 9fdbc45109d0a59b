"""The command `whyperf` as a user runs it."""

import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from tests.e2e.warm_command import WARM

ROOT = Path(__file__).parents[2]
WHYPERF = Path(sys.executable).parent / "whyperf"


@dataclass(frozen=True)
class Done:
    """How a command ended and what it said."""

    status: int
    out: str
    err: str

    @property
    def sentence(self) -> str:
        """Its one line on standard error; fails when there is more or less than one."""
        (line,) = self.err.splitlines()
        return line


def argv(*arguments: object, program: str = WHYPERF.name) -> list[str]:
    """The command line of `whyperf`, or of `whyperf-lab`, as `program`."""
    command = [str(WHYPERF)]
    if program != WHYPERF.name:
        paths = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")]))
        command = ["env", f"PYTHONPATH={paths}", sys.executable, "-P", "-m", "lab"]
    return [*command, *(str(word) for word in arguments)]


def whyperf(
    *arguments: object,
    folder: Path,
    before: tuple[str, ...] = (),
    environment: Mapping[str, str] | None = None,
    netns: str | None = None,
    timeout_s: float = 240,
    program: str = WHYPERF.name,
) -> Done:
    """Runs `whyperf` in a folder, perhaps in a network namespace, and waits; or `whyperf-lab`, as `program`.

    It is a fork of a process that has the libraries; under another command it is what a user starts.
    """
    variables = os.environ | (environment or {})
    if before:
        completed = subprocess.run(
            [*before, *argv(*arguments, program=program)],
            cwd=folder,
            env=variables,
            capture_output=True,
            text=True,
            stdin=subprocess.DEVNULL,
            timeout=timeout_s,
            check=False,
        )
        done = Done(completed.returncode, completed.stdout, completed.stderr)
    else:
        with tempfile.TemporaryDirectory() as name:
            streams = (Path(name, "out"), Path(name, "err"))
            texts = [str(argument) for argument in arguments]
            code = WARM.run(
                [program, *texts],
                folder=folder,
                streams=streams,
                environment=variables,
                netns=netns,
                timeout_s=timeout_s,
            )
            done = Done(code, *(stream.read_text() for stream in streams))
    assert "Traceback" not in done.err, done.err
    assert "internal error" not in done.err, done.err
    return done
