"""Inventories of Ansible: INI, and JSON as `ansible-inventory --list` prints it.

What is read of hosts in addition to names and groups: `ansible_host`, `ansible_user`, `ansible_port`,
`ansible_connection`, and `whyperf_address`, the numeric address for data connections. Variables of groups in INI files
are not read; `ansible-inventory --list` writes them to each host.
Source: docs.ansible.com, "How to build your inventory" and "ansible.builtin.ini inventory".
"""

import re
import shlex
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from whyperf.foreign import quoted
from whyperf.hosts.known_hosts import (
    LOCAL,
    MAX_KNOWN,
    SHOWN_LENGTH,
    HostSetError,
    Inventory,
    KnownHost,
    NamedHosts,
    is_numeric,
    is_usable_host,
    shown,
)
from whyperf.hosts.nesting import Group, resolve
from whyperf.hosts.ranges import spread_ansible

_SECTION = re.compile(r"\[([^:\]\s]+)(?::([a-z]+))?\]\s*(?:#.*)?")
_IN_BRACKETS = re.compile(r"\[[^\[\]]*\]")
MAX_LINE = 16_384
"""Characters. The library takes time with the square of the longest word."""
_SSH = {"ssh", "smart", "paramiko", "paramiko_ssh"}
"""Connections that reach the host as ssh does."""
_VARIABLES = ("ansible_host", "ansible_user", "ansible_port", "ansible_connection", "whyperf_address")
_BEFORE_2_0 = {name: name.replace("ansible_", "ansible_ssh_") for name in _VARIABLES}
"""The names that Ansible had before version 2.0."""
_READ = frozenset({*_VARIABLES, *_BEFORE_2_0.values()})
_ALL, _UNGROUPED = "all", "ungrouped"


class _Found:
    """Findings so far: hosts and groups of each group, and variables of each host."""

    def __init__(self, where: str) -> None:
        self.where = where
        self.hosts: dict[str, dict[str, None]] = {_ALL: {}, _UNGROUPED: {}}
        self.children: dict[str, dict[str, None]] = {}
        self.variables: dict[str, dict[str, Any]] = {}
        self.named = NamedHosts(where)

    def add_hosts(self, group: str, names: Sequence[str]) -> None:
        self.named.add(len(names))
        self.hosts.setdefault(group, {}).update(dict.fromkeys(names))
        self.add_variables(names, {})

    def add_variables(self, names: Iterable[str], variables: Mapping[str, Any]) -> None:
        """Keeps those that are used of some hosts, which need not be known."""
        own = {name: value for name, value in variables.items() if name in _READ}
        for name in names:
            self.variables.setdefault(name, {}).update(own)
        if len(self.variables) > MAX_KNOWN:
            problem = f"it has over {MAX_KNOWN:,} hosts; leave out what is not measured"
            raise HostSetError(self.where, problem)

    def inventory(self) -> Inventory:
        """All of it.

        Raises:
            HostSetError: a group has itself as a member, or a group in it is nowhere.
        """

        def members(name: str, group: Group) -> Iterable[str]:
            if name == _ALL:
                return self.variables
            found = dict(self.hosts.get(name, {}))
            for child in self.children.get(name, {}):
                inner = group(child)
                self.named.add(len(inner))
                found.update(dict.fromkeys(inner))
            return found

        groups = resolve([*self.hosts, *self.children], members, self.where)
        known = {name: _known(name, variables) for name, variables in self.variables.items() if variables}
        # A group without a host is one of Ansible's own, or empty.
        return Inventory({name: hosts for name, hosts in groups.items() if hosts}, known, self.where)


def from_ini(text: str, where: str) -> Inventory:
    """The inventory of an INI file.

    Raises:
        HostSetError: a line cannot be read, or a group cannot be resolved.
    """
    found = _Found(where)
    group, kind = _UNGROUPED, "hosts"
    for number, line in enumerate(text.splitlines(), 1):
        place = f"{where}: line {number}"
        if not line.strip() or line.lstrip().startswith(("#", ";")):
            continue
        if len(line) > MAX_LINE:
            raise HostSetError(place, f"it has over {MAX_LINE:,} characters; write a host on each line")
        if (section := _SECTION.fullmatch(line.strip())) is not None:
            group, kind = section[1], section[2] or "hosts"
            if kind not in {"hosts", "children", "vars"}:
                raise HostSetError(
                    place, f"{shown(kind)} is no kind of section; write [NAME], [NAME:children] or [NAME:vars]"
                )
            # A section may be empty, and is a group all the same.
            if kind != "vars":
                found.hosts.setdefault(group, {})
            continue
        if kind == "vars":
            continue
        try:
            first, *rest = shlex.split(line, comments=True)
        except ValueError as error:
            raise HostSetError(place, f"it cannot be read: {error}; close the quotes") from None
        if kind == "children":
            found.children.setdefault(group, {})[first] = None
        else:
            _read_host(found, group, first, rest, place)
    return _complete(found)


def _read_host(found: _Found, group: str, written: str, assignments: list[str], place: str) -> None:
    variables: dict[str, Any] = {}
    host, _, port = written.rpartition(":")
    if port.isdecimal() and ":" not in _IN_BRACKETS.sub("", host):
        written, variables["ansible_port"] = host, port
    for assignment in assignments:
        key, sign, value = assignment.partition("=")
        if not sign or not key:
            raise HostSetError(place, f"{shown(assignment)} is no variable of a host; write NAME=VALUE without spaces")
        variables[key] = value
    try:
        names = spread_ansible(written)
    except ValueError as error:
        raise HostSetError(place, f"{shown(written)} cannot be read: {quoted(str(error))}") from None
    found.add_hosts(group, names)
    found.add_variables(names, variables)


def _complete(found: _Found) -> Inventory:
    for group, children in found.children.items():
        for child in children:
            if child not in found.hosts:
                place = f"{found.where}: {quoted(group, SHOWN_LENGTH)}"
                raise HostSetError(place, f"there is no group {shown(child)}; write a section [{quoted(child, 40)}]")
    return found.inventory()


def from_json(document: object, where: str) -> Inventory:
    """The inventory of a JSON document, as `ansible-inventory --list` and inventory scripts print it.

    Raises:
        HostSetError: it is none, or a group cannot be resolved.
    """
    found = _Found(where)
    for name, entry in _mapping(document, where, "an inventory").items():
        if name == "_meta":
            continue
        # Scripts may print a plain list of hosts.
        group = {"hosts": entry} if isinstance(entry, list) else _mapping(entry, where, name)
        found.hosts.setdefault(name, {})
        found.add_hosts(name, _names(group.get("hosts", []), where, f"{name}.hosts"))
        found.children[name] = dict.fromkeys(_names(group.get("children", []), where, f"{name}.children"))
    meta = _mapping(_mapping(document, where, "an inventory").get("_meta", {}), where, "_meta")
    for name, variables in _mapping(meta.get("hostvars", {}), where, "_meta.hostvars").items():
        found.add_variables((name,), _mapping(variables, where, f"_meta.hostvars.{name}"))
    # ansible-inventory leaves out groups without a host, and names them as members.
    for children in list(found.children.values()):
        for child in children:
            found.hosts.setdefault(child, {})
    return found.inventory()


def _mapping(value: object, where: str, what: str) -> Mapping[str, Any]:
    if not isinstance(value, dict):
        problem = f"{quoted(what, SHOWN_LENGTH)} is no object; write the file by `ansible-inventory --list`"
        raise HostSetError(where, problem)
    return value


def _names(value: object, where: str, what: str) -> list[str]:
    if not isinstance(value, list) or not all(isinstance(name, str) for name in value):
        problem = f"{quoted(what, SHOWN_LENGTH)} is no list of names; write the file by `ansible-inventory --list`"
        raise HostSetError(where, problem)
    return value


def _known(name: str, variables: Mapping[str, Any]) -> KnownHost:
    """Reads what whyperf uses of the variables of a host."""

    def value(key: str) -> str | None:
        found = variables.get(key, variables.get(_BEFORE_2_0[key]))
        return None if found is None else str(found)

    host, user, address = value("ansible_host"), value("ansible_user"), value("whyperf_address")
    target = host or name
    destination = f"{user}@{target}" if user else host
    connection = (value("ansible_connection") or "ssh").removeprefix("ansible.builtin.")
    refused = None
    if name == LOCAL:
        refused = None if destination is None else "the name that always is this host; rename it"
    elif connection == LOCAL:
        refused = f"ansible_connection=local; write {LOCAL} for this host"
    elif connection not in _SSH:
        refused = (
            f"ansible_connection={quoted(connection, SHOWN_LENGTH)}, and whyperf reaches hosts by ssh; leave it out"
        )
    elif (port := value("ansible_port") or "22") != "22":
        entry = f"`Host {quoted(target, SHOWN_LENGTH)}` with `Port {quoted(port, 10)}`"
        refused = f"a port of ssh, {quoted(port, 10)}; write {entry} to ~/.ssh/config, and remove ansible_port"
    elif destination is not None and not is_usable_host(destination):
        refused = f"{shown(destination)} for ssh, which cannot be a host; correct ansible_host or ansible_user"
    elif address is not None and not is_numeric(address):
        refused = f"whyperf_address={quoted(address, SHOWN_LENGTH)}; write a numeric address, such as 192.0.2.1"
    return KnownHost(destination, address, refused)
