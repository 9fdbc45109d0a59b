"""A keeper of disturbances as this process sees it: started with its orders, and ended when they are to be undone."""

import os
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import whyperf
from whyperf.disturb.keeper import READY, START
from whyperf.disturb.model import Orders
from whyperf.run.errors import RunError

_END_WAIT_S = 10.0


class Keeper:
    """A running keeper (`whyperf.disturb.keeper`). It undoes everything by itself when this process is killed."""

    def __init__(self, orders: Orders, failure: str) -> None:
        """Start it, and wait until everything that is to be there first is there.

        Raises:
            RunError: it is not; the message begins with `failure`.
        """
        folder = str(Path(whyperf.__file__).parents[1])
        paths = os.pathsep.join(filter(None, (folder, os.environ.get("PYTHONPATH"))))
        self._process = subprocess.Popen(
            [sys.executable, "-m", "whyperf.disturb.keeper"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env={**os.environ, "PYTHONPATH": paths},
            start_new_session=True,
        )
        self._has_started = False
        assert self._process.stdout is not None
        try:
            self._send(orders.model_dump_json() + "\n")
            answer = self._process.stdout.readline().decode().strip()
            if answer != READY:
                raise RunError(f"{failure}: {answer.removeprefix('error ') or 'its keeper ended'}")
        except BaseException:
            self.end()
            raise

    def start_times(self) -> None:
        """The load runs: the times of the disturbances count from the first of these calls."""
        if not self._has_started:
            self._has_started = True
            self._send(f"{START}\n")

    def end(self) -> None:
        """Have everything undone, and wait for it."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        with suppress(OSError):
            self._process.stdin.close()
        self._process.wait(_END_WAIT_S)
        self._process.stdout.close()

    def _send(self, text: str) -> None:
        assert self._process.stdin is not None
        # A keeper that is gone has undone everything; the trial's end finds it.
        with suppress(OSError):
            self._process.stdin.write(text.encode())
            self._process.stdin.flush()
