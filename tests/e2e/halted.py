"""Stops single threads of other processes and lets them go on: ptrace(2), because a signal stops a whole process."""

import ctypes
import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

#: include/uapi/linux/ptrace.h, include/uapi/linux/wait.h.
PTRACE_SEIZE, PTRACE_INTERRUPT, PTRACE_DETACH = 0x4206, 0x4207, 17
WAIT_FOR_THREADS = 0x40000000

_ptrace = ctypes.CDLL(None, use_errno=True).ptrace
_ptrace.argtypes = [ctypes.c_long, ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p]
_ptrace.restype = ctypes.c_long


def idle_threads(pid: int) -> list[int]:
    """Threads of a process that run only where nobody else wants the CPU, as those do that write segment logs."""
    found = []
    for path in Path(f"/proc/{pid}/task").iterdir():
        # A thread may end between the listing and the question.
        with suppress(ProcessLookupError):
            if os.sched_getscheduler(int(path.name)) == os.SCHED_IDLE:
                found.append(int(path.name))
    return found


@contextmanager
def halted(thread: int) -> Iterator[None]:
    """Stops a thread until the end of the block, which must be in the same thread of this process."""
    _call(PTRACE_SEIZE, thread)
    try:
        _call(PTRACE_INTERRUPT, thread)
        _, status = os.waitpid(thread, WAIT_FOR_THREADS)
        assert os.WIFSTOPPED(status)
        assert os.WSTOPSIG(status) == signal.SIGTRAP
        yield
    finally:
        _call(PTRACE_DETACH, thread)


def _call(request: int, thread: int) -> None:
    if _ptrace(request, thread, None, None) == -1:
        error = ctypes.get_errno()
        raise OSError(error, f"ptrace request {request:#x} of thread {thread}: {os.strerror(error)}")
