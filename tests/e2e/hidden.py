"""Processes that the kernel hides even from root, as some sandboxes do with their own.

BPF programs do not run either while such a process is the current one: a packet that is received in a softirq on top of
it is in no log and in no counter of ours, and the kernel does not say so. The socket counts it all the same.
"""

from contextlib import suppress
from pathlib import Path


def is_any_hidden() -> bool:
    """Whether there are such processes on this host."""
    for process in Path("/proc").glob("[0-9]*"):
        with suppress(FileNotFoundError, ProcessLookupError):
            try:
                (process / "ns" / "net").readlink()
            except PermissionError:
                return True
    return False
