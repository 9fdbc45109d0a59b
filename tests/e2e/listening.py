"""Sockets on which a command and all that it starts listen, from the log of its system calls: the briefest is seen."""

import os
import re
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from ipaddress import ip_address
from pathlib import Path

TRACED = "bind,listen,connect,close"
#: As in `1<whyperf-agent> listen(3<TCP:[127.0.0.1:36245]>, 128) = 0`: thread, its name, call, descriptor, kind, socket,
#: the rest. The socket is a number before it is bound, and in another network namespace. A call in which another thread
#: ran is unfinished, and counts.
_CALL = re.compile(
    r"(\d+)<(.*?)> +(bind|listen|connect|close)\((\d+)<(\w+?)(v6)?:\[?(.*?)\]?>(.*?)(?:\) += 0|<unfinished \.\.\.>)$"
)
#: An address in the arguments of bind.
_ADDRESS = re.compile(r'htons\((\d+)\).*?"([0-9a-fA-F.:]+)"')


@dataclass(frozen=True)
class Listener:
    """A socket that others can reach: the name of the thread that opened it, and its address."""

    program: str
    protocol: str
    address: str
    port: int

    @property
    def is_everywhere(self) -> bool:
        """Whether it takes what comes to any address of the host."""
        return ip_address(self.address).is_unspecified


def listeners_of(
    argv: Sequence[str], folder: Path, environment: Mapping[str, str] | None = None
) -> tuple[set[Listener], "subprocess.CompletedProcess[str]"]:
    """Runs a command to its end; where it listened, and how it ended."""
    log = folder / "calls"
    options = ("-f", "-qq", "-yy", "-Y", "--seccomp-bpf", "-e", f"trace={TRACED}", "-e", "signal=none", "-o", str(log))
    command = subprocess.run(
        ["strace", *options, *argv],
        cwd=folder,
        env=os.environ | (environment or {}),
        capture_output=True,
        text=True,
        stdin=subprocess.DEVNULL,
        timeout=240,
        check=False,
    )
    return set(listeners_in(log.read_text(errors="replace").splitlines())), command


def listeners_in(lines: Sequence[str]) -> Iterator[Listener]:
    """Those of a log: streams that listen, and sockets for datagrams that stay open to everybody."""
    bound: dict[str, tuple[str, int]] = {}
    #: By thread: datagrams of everybody, unless its next call connects or closes the socket.
    open_to_all: dict[str, tuple[str, Listener]] = {}
    for line in lines:
        if (call := _CALL.match(line)) is None:
            continue
        thread, program, name, descriptor, kind, version, where, rest = call.groups()
        everywhere = "::" if version else "0.0.0.0"
        if (before := open_to_all.pop(thread, None)) is not None and (name == "bind" or descriptor != before[0]):
            yield before[1]
        match name:
            case "bind" if (found := _ADDRESS.search(rest)) is not None:
                bound[where] = (found[2], int(found[1]))
                listener = Listener(program, kind.lower(), *bound[where])
                if kind == "UDP" and listener.is_everywhere:
                    open_to_all[thread] = (descriptor, listener)
                elif kind == "UDP":
                    yield listener
            case "listen":
                address, _, port = where.rpartition(":")
                place = (address.strip("[]"), int(port)) if address else bound.get(where, (everywhere, 0))
                yield Listener(program, kind.lower(), *place)
    yield from (listener for _, listener in open_to_all.values())


def marked(mark: str) -> list[int]:
    """Processes that have the variable `NAME=VALUE` in their environment."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdecimal():
            with suppress(OSError):
                if mark.encode() in (entry / "environ").read_bytes().split(b"\0"):
                    found.append(int(entry.name))
    return found
