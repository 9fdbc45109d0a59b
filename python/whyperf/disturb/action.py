"""What every action of a keeper is, and how it runs a command."""

import os
import subprocess
from collections.abc import Sequence
from typing import Any, Protocol

from whyperf.own_python import own_python

Item = dict[str, Any]
"""A disturbance as JSON: the fields of its class in `model`."""
Places = dict[str, dict[str, Any]]
"""The sides by name: the fields of `Place`."""

COMMAND_WAIT_S = 10.0
END_WAIT_S = 5.0


class Action(Protocol):
    """A disturbance that can be started and stopped, again and again. Stopping one that is not there does nothing."""

    def start(self) -> None:
        """Start it.

        Raises:
            DisturbError: the host refuses it.
        """

    def stop(self) -> None:
        """Undo it."""


class DisturbError(Exception):
    """A disturbance that cannot be made, in a sentence."""


def run(argv: Sequence[str], text: str = "") -> str:
    """What a command prints.

    Raises:
        DisturbError: it is not there, or fails.
    """
    try:
        done = subprocess.run(argv, input=text, capture_output=True, text=True, timeout=COMMAND_WAIT_S, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise DisturbError(f"{argv[0]}: {error}") from None
    if done.returncode:
        raise DisturbError(f"{' '.join(argv)}: {done.stderr.strip()}")
    return done.stdout


def inside(process: int, *argv: str) -> list[str]:
    """The command, in the network namespace of a process."""
    return ["nsenter", "-t", str(process), "-n", "--", *argv]


class Programs:
    """Programs in Python that run until they are ended; each also ends with this process."""

    def __init__(self) -> None:
        """None yet."""
        self._running: list[subprocess.Popen[bytes]] = []

    def start(self, program: str, *arguments: object, process: int | None = None) -> "subprocess.Popen[bytes]":
        """Start one, in the namespace of `process` where that is given.

        Each is in a session of its own: the kernel shares a CPU between sessions first (sched(7), autogroup).
        """
        argv = own_python("-S", "-c", program, str(os.getpid()), *map(str, arguments))
        started = subprocess.Popen(
            argv if process is None else inside(process, *argv),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        self._running.append(started)
        return started

    def end(self) -> None:
        """End all of them."""
        for program in self._running:
            program.kill()
        for program in self._running:
            program.wait(END_WAIT_S)
            if program.stdout is not None:
                program.stdout.close()
        self._running.clear()
