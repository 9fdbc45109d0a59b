"""A keeper of disturbances as this process sees it: started with its orders, and ended when they are to be undone."""

import subprocess
from collections.abc import Sequence
from contextlib import suppress
from types import TracebackType
from typing import Self

from pydantic import BaseModel

from whyperf.disturb.keeper import READY
from whyperf.own_python import own_environment, own_python
from whyperf.run.errors import KeeperLostError, PipeClosedError, RunError
from whyperf.run.leftovers import clean

_END_WAIT_S = 10.0


PROGRAM = ("-m", "whyperf.disturb.keeper")


class Keeper:
    """A running keeper: `PROGRAM`, or one like it. It undoes everything by itself when this process is killed.

    Leaving it has everything undone; where the keeper itself was killed meanwhile, that is an error.
    """

    def __init__(
        self, orders: BaseModel, failure: str, program: Sequence[str] = PROGRAM, before: Sequence[str] = ()
    ) -> None:
        """Start it behind the words `before`, and wait until everything that is to be there first is there.

        Raises:
            RunError: it is not; the message begins with `failure`.
        """
        self._process = subprocess.Popen(
            [*before, *own_python(*program)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=own_environment(),
            start_new_session=True,
        )
        try:
            assert self._process.stdout is not None
            self.send(orders.model_dump_json() + "\n")
            answer = self._process.stdout.readline().decode().strip()
            if answer != READY:
                raise RunError(f"{failure}: {answer.removeprefix('error ') or 'its keeper ended'}")
        except BaseException:
            self.end()
            raise

    def end(self) -> str | None:
        """Have everything undone, and wait for it. Returns why something may be left, None where nothing is."""
        with suppress(OSError):
            assert self._process.stdin is not None
            self._process.stdin.close()
        try:
            status = self._process.wait(_END_WAIT_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            status = self._process.wait()
        assert self._process.stdout is not None
        with self._process.stdout as output:
            answer = output.read().decode(errors="replace").strip()
        if status == 0:
            return None
        # Control groups outlive the testbed. What cannot be removed now, the next run tries again.
        with suppress(RunError):
            clean()
        ended = f"was killed by signal {-status}" if status < 0 else f"failed: {answer.removeprefix('error ')}"
        return f"the process that undoes the disturbances of the trial (keeper {self._process.pid}) {ended}"

    def __enter__(self) -> Self:
        """Use it in a with statement."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """End it.

        Raises:
            KeeperLostError: it may have left something. A lost agent or an interruption says more than that.
        """
        lost = self.end()
        says_less = error is None or (isinstance(error, RunError) and not isinstance(error, PipeClosedError))
        if lost is not None and says_less:
            raise KeeperLostError(lost) from error

    def send(self, text: str) -> None:
        """Write to its standard input."""
        assert self._process.stdin is not None
        # The end of the trial finds a keeper that is gone.
        with suppress(OSError):
            self._process.stdin.write(text.encode())
            self._process.stdin.flush()
