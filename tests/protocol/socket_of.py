"""Another process's sockets, asked for their options as their owner asks."""

import ctypes
import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

#: arch/x86/entry/syscalls/syscall_64.tbl; the numbers are those of all architectures since Linux 5.6.
PIDFD_GETFD = 438


@contextmanager
def connected_to(pid: int, port: int) -> Iterator[socket.socket]:
    """The one socket of a process that is connected to a port, here too until the block ends."""
    pidfd = os.pidfd_open(pid)
    try:
        found = [socket for socket in _sockets(pid, pidfd) if _peer_port(socket) == port]
        assert len(found) == 1, found
        with found[0] as taken:
            yield taken
    finally:
        os.close(pidfd)


def _sockets(pid: int, pidfd: int) -> Iterator[socket.socket]:
    libc = ctypes.CDLL(None, use_errno=True)
    for link in Path(f"/proc/{pid}/fd").iterdir():
        try:
            target = str(link.readlink())
        except FileNotFoundError:
            # It was closed meanwhile.
            continue
        if not target.startswith("socket:"):
            continue
        descriptor = libc.syscall(PIDFD_GETFD, pidfd, int(link.name), 0)
        if descriptor < 0:
            raise OSError(ctypes.get_errno(), f"taking descriptor {link.name} of process {pid}")
        yield socket.socket(fileno=descriptor)


def _peer_port(connection: socket.socket) -> int | None:
    try:
        name = connection.getpeername()
    except OSError:
        return None
    return name[1] if isinstance(name, tuple) else None
