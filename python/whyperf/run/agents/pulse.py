"""An agent's end of the pipe: an agent that lives is never silent for long (HEARTBEAT_NS in crates/schema)."""

import io
import os
import select
import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from whyperf.run.errors import PipeClosedError

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

_SLICE_S = 0.25
SILENT_S = 2.2
"""So long without a byte, and four heartbeats are missing: the agent counts as stopped. It is noticed within 3 s."""


class SilentError(PipeClosedError):
    """An agent that sends nothing and so counts as dead, although its pipe is open."""


class Pulse(io.RawIOBase):
    """Reads a pipe, and raises SilentError where nothing comes for `SILENT_S`.

    Only time counts that was spent waiting at an empty pipe, slice by slice. So a controller that was stopped, had no
    CPU, or was busy with what the agent has sent before does not blame the agent: after any of that it first finds
    what came meanwhile, and a slice that took much longer than it should counts as two.
    """

    def __init__(self, descriptor: int, must_speak: Callable[[], bool], may_be_late: Callable[[], bool]) -> None:
        """``must_speak`` says, when a slice is over, whether the agent should have said something in it.

        ``may_be_late`` says whether it may have, and the load fills the network that the pipe shares: then the agent
        is given up only when the load no longer moves.
        """
        self._descriptor = descriptor
        self._must_speak = must_speak
        self._may_be_late = may_be_late
        self._poll = select.poll()
        self._poll.register(descriptor, select.POLLIN)

    def readable(self) -> bool:
        """It is."""
        return True

    def readinto(self, buffer: "WriteableBuffer") -> int:
        """Read what there is, or wait for it; 0 where the pipe has closed."""
        silent_s = 0.0
        since = time.monotonic()
        while not self._poll.poll(_SLICE_S * 1000):
            now = time.monotonic()
            silent_s = silent_s + min(now - since, 2 * _SLICE_S) if self._must_speak() else 0.0
            since = now
            if silent_s >= SILENT_S and not self._may_be_late():
                raise SilentError(f"{silent_s:.1f} s")
        return os.readv(self._descriptor, [buffer])
