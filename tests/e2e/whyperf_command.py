"""The command `whyperf` as a user runs it."""

import os
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

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


def argv(*arguments: object) -> list[str]:
    """The command line of `whyperf`."""
    return [str(WHYPERF), *(str(word) for word in arguments)]


def whyperf(
    *arguments: object,
    folder: Path,
    before: tuple[str, ...] = (),
    environment: Mapping[str, str] | None = None,
    timeout_s: float = 240,
) -> Done:
    """Runs `whyperf` in a folder, perhaps under another command, and waits."""
    done = subprocess.run(
        [*before, *argv(*arguments)],
        cwd=folder,
        env=os.environ | (environment or {}),
        capture_output=True,
        text=True,
        stdin=subprocess.DEVNULL,
        timeout=timeout_s,
        check=False,
    )
    assert "Traceback" not in done.stderr, done.stderr
    assert "internal error" not in done.stderr, done.stderr
    return Done(done.returncode, done.stdout, done.stderr)
