"""The form of every action of a keeper, and how it runs a command."""

import subprocess
from collections.abc import Sequence
from typing import Any, Protocol

Item = dict[str, Any]
"""A disturbance as JSON: the fields of its class in `model`."""
Places = dict[str, dict[str, Any]]
"""The sides by name: the fields of `Place`."""

COMMAND_WAIT_S = 10.0


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
    """Runs a command for what it prints.

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
