"""Programs of others on one side of the testbed, as this process sees them: started, asked whether they run, ended."""

import json
import os
import subprocess
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from whyperf.own_python import own_environment, own_python
from whyperf.run.errors import RunError

_END_WAIT_S = 10.0
_LAUNCHER = Path(__file__).with_name("launcher.py")
"""It imports nothing of this repository."""
MORE_PROGRAMS = ("/usr/sbin", "/sbin", *(str(path) for path in sorted(Path("/usr/lib/postgresql").glob("*/bin"))[-1:]))
"""Where servers are, in addition to PATH."""
#: A process namespace, so that the kernel kills all programs with the launcher; a mount namespace, so that a server may
#: have the folders in /run that it needs.
_NAMESPACES = ("unshare", "--mount", "--pid", "--fork", "--kill-child=KILL", "--")


class LaunchedSide:
    """A running launcher (`lab.disturb.launcher`). It ends its programs by itself when this process is killed."""

    def __init__(self, side: str, agent_process: int, folder: Path, cpus: Sequence[int]) -> None:
        """Start it in the network namespace of an agent. Its programs run in `folder`, on the given CPUs.

        Raises:
            RunError: it cannot be started.
        """
        self.side = side
        inside = ["nsenter", "-t", str(agent_process), "-n", "--", *_NAMESPACES]
        self._process = subprocess.Popen(
            [*inside, *own_python(str(_LAUNCHER), str(folder), *map(str, cpus))],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=own_environment() | {"PATH": os.pathsep.join(filter(None, (os.environ.get("PATH"), *MORE_PROGRAMS)))},
            start_new_session=True,
        )
        try:
            #: Its number on this host.
            self.process = int(self._heard()["process"])
        except BaseException:
            self.close()
            raise

    def run(self, argv: Sequence[str]) -> None:
        """Run a program to its end.

        Raises:
            RunError: it fails.
        """
        self._order(do="run", argv=list(argv))

    def start(self, argv: Sequence[str]) -> None:
        """Start a program that is to go on.

        Raises:
            RunError: it cannot be started.
        """
        self._order(do="start", argv=list(argv))

    def wait_for_port(self, port: int) -> None:
        """Wait until a server listens.

        Raises:
            RunError: none does in time, or a program has ended.
        """
        self._order(do="listen", port=port)

    def check(self) -> None:
        """See that all programs still run.

        Raises:
            RunError: one has ended; the message has what it printed last.
        """
        self._order(do="look")

    def others(self) -> tuple[float, str]:
        """Number of CPUs used since the last call by processes that this one and its children have not started; and
        the busiest of them.
        """
        answer = self._order(do="others", of=os.getpid())
        return float(answer["cpus"]), str(answer["busiest"])

    def usage(self, ends_s: float) -> tuple[float, float]:
        """User and system CPU time in s of all programs that were started and have ended.

        Those that still run after `ends_s` are killed, and count.
        """
        answer = self._order(do="usage", ends=ends_s)
        return float(answer["user_s"]), float(answer["system_s"])

    def close(self) -> None:
        """End all programs, and wait for it."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        with suppress(OSError):
            self._process.stdin.close()
        try:
            self._process.wait(_END_WAIT_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._process.stdout.close()

    def __enter__(self) -> Self:
        """Use it in a with statement."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close it."""
        self.close()

    def _order(self, **order: object) -> dict[str, Any]:
        assert self._process.stdin is not None
        with suppress(OSError):
            self._process.stdin.write(json.dumps(order).encode() + b"\n")
            self._process.stdin.flush()
        return self._heard()

    def _heard(self) -> dict[str, Any]:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            raise RunError(f"the programs of the {self.side} side could not be started, or were ended by somebody")
        answer: dict[str, Any] = json.loads(line)
        if "error" in answer:
            raise RunError(f"{self.side}: {answer['error']}")
        return answer
