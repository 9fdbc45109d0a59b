"""The TCP connections that carry a watch: those of the commands at this end of the agents' pipes, such as ssh."""

import socket
import struct
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path

from whyperf.wire import Endpoints

_PROC = Path("/proc")
_TABLES = (("tcp", socket.AF_INET), ("tcp6", socket.AF_INET6))
_LOCAL, _REMOTE, _INODE = 1, 2, 9
"""Columns of /proc/net/tcp (proc_net_tcp(5))."""


def connections_of(process: int) -> list[Endpoints]:
    """The connections that a process of this user and all that it has started hold, each with the local end first.

    What has ended meanwhile has none.
    """
    found: set[tuple[str, str]] = set()
    for number in _with_children(process):
        if inodes := _sockets_of(number):
            found.update(_connections(number, inodes))
    return [{"local": local, "remote": remote} for local, remote in sorted(found)]


def _with_children(process: int) -> Iterator[int]:
    yield process
    for children in (_PROC / str(process) / "task").glob("*/children"):
        with suppress(OSError):
            for child in children.read_text().split():
                yield from _with_children(int(child))


def _sockets_of(process: int) -> set[str]:
    """The inodes of its sockets."""
    inodes = set()
    with suppress(OSError):
        for descriptor in (_PROC / str(process) / "fd").iterdir():
            with suppress(OSError):
                kind, _, inode = str(descriptor.readlink()).partition(":")
                if kind == "socket":
                    inodes.add(inode.strip("[]"))
    return inodes


def _connections(process: int, inodes: set[str]) -> Iterable[tuple[str, str]]:
    """The ends of those of its TCP sockets that are connections, in its network namespace."""
    for table, family in _TABLES:
        with suppress(OSError):
            for line in (_PROC / str(process) / "net" / table).read_text().splitlines()[1:]:
                columns = line.split()
                if columns[_INODE] in inodes and not columns[_REMOTE].endswith(":0000"):
                    yield _end(columns[_LOCAL], family), _end(columns[_REMOTE], family)


def _end(text: str, family: socket.AddressFamily) -> str:
    """`address:port` of an end in hexadecimal, its address in words of 32 bits in the order of the host."""
    address, port = text.split(":")
    octets = struct.pack(f"={len(address) // 8}I", *(int(address[at : at + 8], 16) for at in range(0, len(address), 8)))
    name = socket.inet_ntop(family, octets)
    return f"[{name}]:{int(port, 16)}" if family == socket.AF_INET6 else f"{name}:{int(port, 16)}"
