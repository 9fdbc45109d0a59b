"""Files with hosts and groups: whyperf's own TOML, and inventories of Ansible."""

import os
import tomllib
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from whyperf.foreign import parse_json, parse_toml, quoted, read_text
from whyperf.hosts.ansible import from_ini, from_json
from whyperf.hosts.known_hosts import (
    LOCAL,
    HostSetError,
    Inventory,
    KnownHost,
    NamedHosts,
    is_numeric,
    is_usable_host,
    shown,
)
from whyperf.hosts.nesting import Group, resolve
from whyperf.hosts.sets import read_set, unknown_group

MAX_TEXT_BYTES = 1 << 20
"""An inventory that is no JSON: about 10,000 hosts with a line each."""

_HOST_KEYS = ("destination", "address")
_EXAMPLE = 'clients = "node[1-15]"'


def read_inventory(path: Path | None) -> Inventory:
    """The hosts and groups of a file; None reads `~/.config/whyperf/hosts.toml`, which need not be there.

    The format is TOML, INI as Ansible has it, or JSON as `ansible-inventory --list` prints it. The name decides where
    it ends with .toml, .json or .ini, otherwise the content.

    Raises:
        HostSetError: the file cannot be read, or something in it cannot be used.
    """
    file = path or _usual_path()
    where = str(file)
    try:
        text = read_text(file, is_users=True)
    except FileNotFoundError:
        if path is None:
            return Inventory()
        raise HostSetError(where, "there is no such file; name one with --hosts FILE") from None
    except OSError as error:
        raise HostSetError(where, f"it cannot be read: {error.strerror}; name another file with --hosts") from None
    except UnicodeDecodeError:
        raise HostSetError(where, "it is no text in UTF-8; save it as one") from None
    return read(text, where)


def read(text: str, where: str) -> Inventory:
    """The same of the text of a file.

    Raises:
        HostSetError: something in it cannot be used.
    """
    suffix = Path(where).suffix.lower()
    if suffix in {".yml", ".yaml"} or text.startswith("---"):
        problem = (
            "it is YAML, which whyperf does not read; write JSON, by `ansible-inventory -i FILE --list > hosts.json`"
        )
        raise HostSetError(where, problem)
    if suffix == ".json" or (suffix not in {".toml", ".ini"} and text.lstrip().startswith("{")):
        return from_json(_parsed(parse_json, text, where, "JSON"), where)
    if len(text) > MAX_TEXT_BYTES:
        problem = f"it is larger than {MAX_TEXT_BYTES >> 20} MiB; write JSON, by `ansible-inventory -i FILE --list`"
        raise HostSetError(where, problem)
    if suffix == ".toml" or (suffix != ".ini" and _is_ours(text)):
        return _from_toml(_parsed(parse_toml, text, where, "TOML"), where)
    return from_ini(text, where)


def _usual_path() -> Path:
    config = os.environ.get("XDG_CONFIG_HOME") or str(Path.home() / ".config")
    return Path(config) / "whyperf" / "hosts.toml"


def _parsed(parse: Callable[[str], Any], text: str, where: str, kind: str) -> Any:
    try:
        return parse(text)
    except ValueError as error:
        raise HostSetError(where, f"it is no {kind}: {quoted(str(error))}; correct it there") from None


def _is_ours(text: str) -> bool:
    """True where it is TOML with our tables; Ansible's INI seldom is TOML at all."""
    try:
        return parse_toml(text).keys() <= {"groups", "hosts"}
    except tomllib.TOMLDecodeError:
        return False


def _from_toml(document: Mapping[str, Any], where: str) -> Inventory:
    for key in document:
        if key not in {"groups", "hosts"}:
            raise HostSetError(where, f"there is no table {shown(key)}; write [groups] or [hosts.NAME]")
    written = {name: _texts(name, value, where) for name, value in _table(document, "groups", where).items()}
    hosts = {name: _host(name, value, where) for name, value in _table(document, "hosts", where).items()}
    known = Inventory(dict.fromkeys(written, ()), {}, where)
    named = NamedHosts(where)

    def members(name: str, group: Group) -> Iterable[str]:
        place = f"{where}: groups.{name}"

        def inner(other: str, _: str) -> Sequence[str]:
            if other not in written:
                raise unknown_group(place, other, known)
            return group(other)

        found: dict[str, None] = {}
        for text in written[name]:
            for host in read_set(text, inner, place, named):
                if host in found:
                    raise HostSetError(place, f"{shown(host)} stands twice; name each host once")
                found[host] = None
        return found

    return Inventory(resolve(written, members, where), hosts, where)


def _table(document: Mapping[str, Any], key: str, where: str) -> Mapping[str, Any]:
    table = document.get(key, {})
    if not isinstance(table, dict):
        raise HostSetError(where, f"{key} is no table; write [{key}] above it")
    return table


def _texts(name: str, value: object, where: str) -> tuple[str, ...]:
    texts = (value,) if isinstance(value, str) else value
    if not isinstance(texts, list | tuple) or not all(isinstance(text, str) for text in texts):
        problem = f"it is neither a text nor a list of texts; write a set of hosts, as in {_EXAMPLE}"
        raise HostSetError(f"{where}: groups.{name}", problem)
    return tuple(texts)


def _host(name: str, value: object, where: str) -> KnownHost:
    place = f"{where}: hosts.{name}"
    if name == LOCAL or not is_usable_host(name):
        reason = "it always is this host" if name == LOCAL else "it cannot be a host"
        raise HostSetError(place, f"{reason}; use another name")
    if not isinstance(value, dict):
        raise HostSetError(place, f'it is no table; write [hosts.{name}] and destination = "me@192.0.2.1" below it')
    for key, text in value.items():
        if key not in _HOST_KEYS or not isinstance(text, str):
            problem = f"{shown(key)} is no {' or '.join(_HOST_KEYS)} with a text"
            raise HostSetError(place, f'{problem}; write address = "192.0.2.1"')
    destination, address = value.get("destination"), value.get("address")
    if destination is not None and not is_usable_host(destination):
        raise HostSetError(place, f"{shown(destination)} cannot be a host; give destination as for ssh")
    if address is not None and not is_numeric(address):
        raise HostSetError(
            place, f"{shown(address)} is no numeric address; write one, such as 192.0.2.1 or 2001:db8::1"
        )
    return KnownHost(destination, address)
