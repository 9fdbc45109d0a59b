"""The meaning of the arguments of `whyperf watch`: which connections, on which host."""

import ipaddress
import re
import shlex
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from whyperf.cli.exits import NAMESPACES, UsageError
from whyperf.hosts import is_usable_host
from whyperf.wire import Selection

MAX_PORT: Final = 65_535
#: PID_MAX_LIMIT of include/linux/threads.h.
MAX_PROCESS: Final = 1 << 22
#: Both addresses of this machine: `localhost` is no name for ssh here.
LOCALHOST: Final = ("127.0.0.1", "::1")
CGROUP_MOUNTS: Final = ("/sys/fs/cgroup/unified/", "/sys/fs/cgroup/")
BUSIEST: Final = "busiest"

_NAMESPACE = re.compile(r"\w[\w.@-]*", re.ASCII)
_PORTS = re.compile(r":(\d+(?:,\d+)*)")
_ADDRESS_AND_PORT = re.compile(r"(?:\[(?P<six>[^\]]+)\]|(?P<four>[\d.]+)):(?P<port>\d+)")
_FORMS = ":PORT, a process number, an address"


@dataclass(frozen=True)
class Watched:
    """The subject of a watch: `name` in a word or two, for folders and messages; `host` None is this one."""

    selection: Selection
    name: str
    host: str | None
    #: True where the host is a word on its own, which may have been meant as a program.
    is_word: bool = False


def watched(
    arguments: Sequence[str],
    *,
    host: str | None = None,
    processes: Sequence[int] = (),
    programs: Sequence[str] = (),
    cgroups: Sequence[str] = (),
    command: Sequence[str] = (),
) -> Watched:
    """The meaning of the words before `--` and the options of a selection together.

    One word is read in this order: `:PORT[,PORT…]`; a number is a process; an address, alone or with a port; anything
    else is a host as for ssh. Of two words the first is the host.

    Raises:
        UsageError: a word fits nothing, or the words contradict each other.
    """
    named, what = _host_and_selection(arguments)
    if named is not None and host is not None:
        raise UsageError(f"{named} and --host {host} are two hosts; leave one out")
    host = named if host is None else host
    selection: Selection = {} if what is None else _selected(what) or {}
    names = [] if what is None else [what]
    if processes:
        selection["processes"] = [*selection.get("processes", ()), *processes]
        names += map(str, processes)
    for program in programs:
        if not program or "/" in program:
            raise UsageError(f'--program "{program}" is no name of a program; give the last part, such as nginx')
    if programs:
        selection["programs"] = list(programs)
        names += programs
    if cgroups:
        selection["control_groups"] = [_control_group(path) for path in cgroups]
        names += [path.rstrip("/").rpartition("/")[2] for path in cgroups]
    if command:
        if host is not None:
            raise UsageError(f"a command after -- starts on this host; leave {host} out")
        if selection.get("processes"):
            raise UsageError("a command after -- is the process that is watched; leave the process number out")
        names.append(command[0].rpartition("/")[2])
    if host is not None and not is_usable_host(host):
        raise UsageError(f'"{host}" cannot be a host; give a name or an address as for ssh')
    return Watched(selection, " ".join(names) or BUSIEST, host, is_word=named is not None and len(arguments) == 1)


def namespace(text: str, *, is_here: bool) -> str:
    """The path of the network namespace that `--netns` names, by its name or by a process in it.

    Raises:
        UsageError: it is neither, or there is none of this name on this host.
    """
    if text.isascii() and text.isdecimal() and 1 <= int(text) <= MAX_PROCESS:
        return f"/proc/{text}/ns/net"
    path = NAMESPACES / text
    if not _NAMESPACE.fullmatch(text) or (is_here and not path.exists()):
        raise UsageError(
            f"--netns {text}: there is no such network namespace (ip netns list), nor is it a process number"
        )
    return str(path)


def metrics_address(text: str) -> tuple[str, int]:
    """Where `--metrics` serves: ADDRESS:PORT, or a port of the loopback alone.

    Raises:
        UsageError: neither.
    """
    address, _, port = text.rpartition(":")
    address = address.strip("[]") or "127.0.0.1"
    if not port.isascii() or not port.isdecimal() or int(port) > MAX_PORT or not _is_address(address):
        raise UsageError(f'--metrics "{text}" is no ADDRESS:PORT; give one such as 127.0.0.1:9100, or a port alone')
    return address, int(port)


def seconds(option: str, text: str, least: float, most: float) -> float:
    """The time that an option asks for, in s: `10`, `1.5s`, `500ms`, `2min`.

    Raises:
        UsageError: it is no time, or out of range.
    """
    from whyperf.profile.units import with_unit  # noqa: PLC0415 - keeps help quick

    try:
        found = with_unit(text.strip(), "s")
        value = float(text) if found is None else float(found)
    except ValueError:
        raise UsageError(f"{option} {text} is no time; give seconds such as 10, or 500ms") from None
    if not least <= value <= most:
        raise UsageError(f"{option} {text} is not from {least:g} to {most:g} seconds")
    return value


def _host_and_selection(arguments: Sequence[str]) -> tuple[str | None, str | None]:
    """The word that is a host, and the one that selects connections."""
    if len(arguments) > 2:
        problem = f"{' '.join(arguments)}: give one selection, and before it the host on which to watch, if any"
        raise UsageError(f"{problem}{behind_dashes(arguments)}")
    if len(arguments) == 2:
        host, what = arguments
        if host == "localhost" and _PORTS.fullmatch(what):
            return None, f"{host} {what}"
        if _PORTS.fullmatch(host) or host.isdecimal() or not is_usable_host(host):
            raise UsageError(f"{host} {what}: of two words the first is a host as for ssh; several ports are :80,443")
        if _selected(what) is None:
            raise UsageError(f'"{what}" behind the host {host} is none of: {_FORMS}{behind_dashes(arguments)}')
        return host, what
    word = next(iter(arguments), None)
    if word is None or _selected(word) is not None:
        return None, word
    if not is_usable_host(word) or word.startswith((":", "-")):
        raise UsageError(f'"{word}" is none of: {_FORMS}, a host; `whyperf watch --help` has examples')
    return word, None


def behind_dashes(typed: Sequence[str]) -> str:
    """The addition to an error where the words may be a program to start: they then stand behind `--`."""
    if not typed or typed[0].startswith("-") or shutil.which(typed[0]) is None:
        return ""
    return f"; to start {typed[0]} and watch it: `{shlex.join(['whyperf', 'watch', '--', *typed])}`"


def _selected(word: str) -> Selection | None:
    """The connections that a word selects, or `localhost` with ports; None where it is none of the forms."""
    if ports := _PORTS.fullmatch(word):
        return {"ports": [_port(port, word) for port in ports[1].split(",")]}
    if word.isascii() and word.isdecimal():
        if not 1 <= int(word) <= MAX_PROCESS:
            raise UsageError(f"{word} is no process number; for a port write :{word}")
        return {"processes": [int(word)]}
    name, _, of_ports = word.partition(" ")
    if name == "localhost" and (not of_ports or _PORTS.fullmatch(of_ports)):
        return {"addresses": list(LOCALHOST), **(_selected(of_ports) or {})}
    if _is_address(word.strip("[]")):
        return {"addresses": [word.strip("[]")]}
    both = _ADDRESS_AND_PORT.fullmatch(word)
    if both is not None and _is_address(address := both["six"] or both["four"]):
        return {"addresses": [address], "ports": [_port(both["port"], word)]}
    return None


def _port(text: str, word: str) -> int:
    if not 1 <= int(text) <= MAX_PORT:
        raise UsageError(f"{word}: a port is from 1 to {MAX_PORT}")
    return int(text)


def _is_address(text: str) -> bool:
    try:
        ipaddress.ip_address(text)
    except ValueError:
        return False
    return True


def _control_group(path: str) -> str:
    """Its path below the mount point, with a slash in front."""
    mount = next((mount for mount in CGROUP_MOUNTS if path.startswith(mount)), "/")
    return "/" + path.removeprefix(mount).strip("/")
