"""The part of the proof of fleets that is measured, the place of its files, and the call of `whyperf run` on a rack."""

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.fleet.rack import CONTROL, Rack, rack

WHYPERF = str(Path(sys.executable).parent / "whyperf")


@dataclass(frozen=True)
class Setting:
    """The full proof, or a short try whose figures show only that it works."""

    is_quick: bool
    folder: Path
    seed: int

    def of(self, full: int, quick: int) -> int:
        """A number of something."""
        return quick if self.is_quick else full


@contextmanager
def hosts(names: Sequence[str], *, with_sshd: bool = False) -> Iterator[Rack]:
    """A rack whose files are gone with it."""
    with (
        tempfile.TemporaryDirectory(prefix="whyperf-fleet-") as folder,
        rack(Path(folder), names, with_sshd=with_sshd) as made,
    ):
        yield made


def command(made: Rack, *arguments: object, out: Path, by_ssh: bool = False) -> list[str]:
    """The command line of `whyperf run …` on the host of the controller."""
    settings = [f"{name}={value}" for name, value in made.environment.items()]
    via = [] if by_ssh else ["--via", made.enter]
    line = [WHYPERF, "run", *map(str, arguments), "--hosts", str(made.inventory), *via, "--out", str(out)]
    return made.inside(CONTROL, "env", *settings, *line, "--no-report")


def run(made: Rack, *arguments: object, out: Path, by_ssh: bool = False) -> "subprocess.CompletedProcess[str]":
    """`whyperf run …` to its end."""
    argv = command(made, *arguments, out=out, by_ssh=by_ssh)
    return subprocess.run(
        argv, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False, env=dict(os.environ)
    )


def named(count: int) -> list[str]:
    """Names of so many hosts."""
    return [f"node{number}" for number in range(1, count + 1)]
