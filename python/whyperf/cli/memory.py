"""The bound of what a command may allocate: a result, or a far host, may send tables that take any amount when read."""

import resource
from contextlib import suppress
from pathlib import Path

SHARE = 0.5
"""Part of the memory that the host has left: the rest stays for whoever else works there."""
MIN_BYTES = 2 << 30
"""Half of a host of 4 GB, so that a busy one of that size still reads what it measured."""
MEMORY = Path("/proc/meminfo")
_before: list[tuple[int, int]] = []
"""The limits of this process before they were bound; empty where they are as they were."""


def bound_memory() -> None:
    """Bounds what this process may allocate, and each that it starts (RLIMIT_DATA, setrlimit(2)).

    Beyond it the command ends with a sentence. Without a bound the kernel would end whatever it chooses.
    """
    # A kernel without the line, or a lower limit of the user's: nothing is changed.
    with suppress(OSError, ValueError, StopIteration):
        line = next(line for line in MEMORY.read_text().splitlines() if line.startswith("MemAvailable:"))
        most = max(MIN_BYTES, int(SHARE * 1024 * int(line.split()[1])))
        soft, hard = resource.getrlimit(resource.RLIMIT_DATA)
        if soft == resource.RLIM_INFINITY or soft > most:
            resource.setrlimit(resource.RLIMIT_DATA, (most, hard))
            _before.append((soft, hard))


def unbound_memory() -> None:
    """Takes the bound away, in a process that becomes a command of the user's own."""
    for limits in _before[:1]:
        with suppress(OSError):
            resource.setrlimit(resource.RLIMIT_DATA, limits)
