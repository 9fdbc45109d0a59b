"""The end of what a command says on standard error: a far host can have it say as much as it likes."""

import os
import select
import threading

KEPT_BYTES = 8192
_PIPE_BYTES = 64 << 10
"""The bytes that a pipe holds at most: pipe(7)."""


class LastWords:
    """A pipe for standard error, and a thread that reads it to its end and keeps the last `KEPT_BYTES`.

    The thread goes on for as long as anybody holds the pipe, such as ssh's master connection, which must not be ended.
    """

    def __init__(self) -> None:
        """Give `input` to a process, and close it then."""
        read_end, write_end = os.pipe()
        os.set_blocking(read_end, False)
        self.input = os.fdopen(write_end, "wb", buffering=0)
        self._output = os.fdopen(read_end, "rb", buffering=0)
        self._kept = b""
        self._lock = threading.Lock()
        threading.Thread(target=self._keep, name="standard-error", daemon=True).start()

    def text(self) -> str:
        """The end of what was said until now."""
        self._has_ended()
        return self._kept.decode(errors="replace")

    def _keep(self) -> None:
        poll = select.poll()
        poll.register(self._output, select.POLLIN)
        while not self._has_ended():
            poll.poll()

    def _has_ended(self) -> bool:
        """Takes what the pipe holds; whether it has ended."""
        with self._lock:
            if self._output.closed:
                return True
            said = self._output.read(_PIPE_BYTES)
            self._kept = (self._kept + (said or b""))[-KEPT_BYTES:]
            if said == b"":
                self._output.close()
            return said == b""
