"""One process writes to an experiment at a time."""

import errno
import fcntl
import os
import stat
from contextlib import suppress
from pathlib import Path
from typing import Self

from whyperf.record.durable import file_mode
from whyperf.record.errors import RecordError, as_record_error

NAME = ".lock"


def _open(path: Path) -> int:
    """Opens the lock's file, which is written to: no link of any kind to a file of the user."""
    flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK
    descriptor = os.open(path, flags, file_mode(path.parent))
    found = os.fstat(descriptor)
    if not stat.S_ISREG(found.st_mode) or found.st_nlink > 1:
        os.close(descriptor)
        raise OSError(errno.EINVAL, "it is not a plain file; remove it", str(path))
    return descriptor


class Lock:
    """An exclusive flock on the experiment's `.lock`; the kernel drops it when the process dies.

    The file stays and holds the process id of the last writer, for the message to the next.
    """

    def __init__(self, folder: Path) -> None:
        """Takes the lock; RecordError naming the process that has it."""
        path = folder / NAME
        self._descriptor = -1
        with as_record_error("lock", path):
            self._descriptor = _open(path)
            try:
                fcntl.flock(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                holder = os.read(self._descriptor, 32).decode(errors="replace").strip()
                self.release()
                who = f"process {holder}" if holder.isdigit() else "another process"
                text = f"{folder} is being measured by {who}; wait until it ends, or choose another folder with --out"
                raise RecordError(text) from None
            except OSError:
                self.release()
                raise
            # A note for others, which a full disk may refuse.
            with suppress(OSError):
                os.ftruncate(self._descriptor, 0)
                os.pwrite(self._descriptor, f"{os.getpid()}\n".encode(), 0)

    def release(self) -> None:
        """Gives the lock back; more than once does no harm."""
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1

    def __enter__(self) -> Self:
        """Already taken."""
        return self

    def __exit__(self, *_: object) -> None:
        """Gives the lock back."""
        self.release()
