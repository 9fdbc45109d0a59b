"""Sets of hosts as a text: ClusterShell's NodeSet syntax, in the order of the text."""

import re
from collections.abc import Callable, Iterator, Sequence
from difflib import get_close_matches
from operator import ne

from whyperf.foreign import quoted
from whyperf.hosts.known_hosts import (
    MAX_HOSTS,
    SHOWN_LENGTH,
    HostSetError,
    Inventory,
    NamedHosts,
    is_usable_host,
    shown,
)
from whyperf.hosts.ranges import spread_nodeset

_TERM = re.compile(r"((?:\[[^\[\]]*\]|[^,!&^\[\]])*)([,!&^]|$)")
_NUMBER = re.compile(r"[0-9]+")
MAX_JUMPS = 64
"""Names of a run that differ from the one before in several numbers. A NodeSet of 1,000 takes 10 s to fold."""
_EXAMPLE = "node[1-15]"

Groups = Callable[[str, str], Sequence[str]]
"""The members of the group with a name; the second text says where the group is asked for."""


def expand(text: str, inventory: Inventory, option: str) -> tuple[str, ...]:
    """The hosts of a set, in the order of the text.

    Terms are names, names with ranges, and `@group`. Operators are read from left to right, as ClusterShell does:
    `,` adds, `!` removes, `&` keeps what both have, `^` keeps what only one has. `option` is named in errors.

    Raises:
        HostSetError: the set cannot be read, is empty, has a host twice, or has over `MAX_HOSTS` hosts; a group is not
            in the inventory; a name cannot be a host; the inventory has something for a host that cannot be done.
    """

    def members(name: str, where: str) -> Sequence[str]:
        if name not in inventory.groups:
            raise unknown_group(where, name, inventory)
        return inventory.groups[name]

    names = read_set(text, members, option, NamedHosts(option))
    if not names:
        problem = f"{shown(text)} leaves no host; name at least one, as in {_EXAMPLE}"
        raise HostSetError(option, problem)
    if len(names) > MAX_HOSTS:
        problem = f"{shown(text)} has {len(names):,} hosts, and a set takes up to {MAX_HOSTS:,}; name fewer"
        raise HostSetError(option, problem)
    _refuse_group_without_sign(names, inventory, option)
    for name in names:
        inventory.destination(name)
    return names


def read_set(text: str, groups: Groups, where: str, named: NamedHosts) -> tuple[str, ...]:
    """The hosts of a set, which may be none, or more than a run takes.

    Raises:
        HostSetError: the set cannot be read, has a host twice, or a name cannot be a host.
    """
    if not text.strip():
        raise HostSetError(where, f"it is empty; name hosts, as in {_EXAMPLE}")
    # Each host with the term that named it first.
    chosen: dict[str, str] = {}
    for operator, term in _terms(text, where):
        names = _names(term, groups, where, named)
        match operator:
            case ",":
                for name in names:
                    if name in chosen:
                        raise _twice(name, chosen[name], term, where)
                    chosen[name] = term
            case "!":
                for name in names:
                    chosen.pop(name, None)
            case "&":
                chosen = {name: first for name, first in chosen.items() if name in names}
            case "^":
                for name in names:
                    if chosen.pop(name, None) is None:
                        chosen[name] = term
    return tuple(chosen)


def fold(names: Sequence[str]) -> str:
    """Hosts in the short form that `expand` reads: `node[1-15]`. The order is kept."""
    runs: list[list[str]] = []
    shape, numbers, jumps = "", [(0, "")], 0
    for name in names:
        shape_before, before = shape, numbers
        # A NodeSet sorts numbers by their length first.
        shape, numbers = _NUMBER.sub("#", name), [(len(number), number) for number in _NUMBER.findall(name)]
        jumps += sum(map(ne, before, numbers)) > 1
        if runs and shape == shape_before and before < numbers and jumps <= MAX_JUMPS:
            runs[-1].append(name)
        else:
            runs.append([name])
            jumps = 0
    return ",".join(map(_folded, runs))


def unknown_group(where: str, name: str, inventory: Inventory) -> HostSetError:
    """The error for a group that is not in the inventory."""
    known = sorted(inventory.groups)
    if near := get_close_matches(name, known):
        remedy = f"did you mean {' or '.join(f'@{quoted(each, SHOWN_LENGTH)}' for each in near)}?"
    elif not inventory.where:
        remedy = "no file of groups was read; name one with --hosts FILE, or write ~/.config/whyperf/hosts.toml"
    elif known:
        more = ", …" if len(known) > 5 else ""
        remedy = f"{quoted(inventory.where)} has {', '.join(quoted(each, SHOWN_LENGTH) for each in known[:5])}{more}"
    else:
        remedy = f"{quoted(inventory.where)} has no groups; add it there"
    return HostSetError(where, f"there is no group {shown(name)}; {remedy}")


def _terms(text: str, where: str) -> Iterator[tuple[str, str]]:
    """The terms with the operator before each; the first is added."""
    position, operator, is_last = 0, ",", False
    while not is_last:
        match = _TERM.match(text, position)
        if match is None:
            problem = f"{shown(text)} has a bracket without its counterpart; write ranges as in {_EXAMPLE}"
            raise HostSetError(where, problem)
        term = match[1].strip()
        if not term:
            side = "after" if match[2] == "" else "before"
            sign = operator if match[2] == "" else match[2]
            problem = f'{shown(text)} has no name {side} "{sign}"; write one there, or remove the sign'
            raise HostSetError(where, problem)
        yield operator, term
        position, operator, is_last = match.end(), match[2], match[2] == ""


def _names(term: str, groups: Groups, where: str, named: NamedHosts) -> dict[str, None]:
    """The names of one term, in its order."""
    is_group = term.startswith("@")
    try:
        spread = spread_nodeset(term.removeprefix("@"))
    except ValueError as error:
        problem = f"{shown(term)} cannot be read: {quoted(str(error))}"
        raise HostSetError(where, problem) from None
    if is_group:
        spread = [name for group in spread for name in groups(group, where)]
    named.add(len(spread))
    names: dict[str, None] = {}
    for name in spread:
        if not is_usable_host(name):
            raise HostSetError(where, f"{shown(name)} cannot be a host; give a name or an address as for ssh")
        if name in names:
            raise HostSetError(where, f"{shown(name)} stands twice in {shown(term)}; name each host once")
        names[name] = None
    return names


def _twice(name: str, first: str, second: str, where: str) -> HostSetError:
    if first == second:
        return HostSetError(where, f"{shown(first)} stands twice; name each host once")
    return HostSetError(
        where,
        f"{shown(name)} stands twice, in {shown(first)} and in {shown(second)}; name each host once",
    )


def _refuse_group_without_sign(names: Sequence[str], inventory: Inventory, option: str) -> None:
    groups = [name for name in names if name in inventory.groups and name not in inventory.hosts]
    if not groups:
        return
    members = {name for group in inventory.groups.values() for name in group}
    for name in groups:
        if name not in members:
            problem = f"{shown(name)} is a group of {quoted(inventory.where)} and no host; write @{name}"
            raise HostSetError(option, problem)


def _folded(names: list[str]) -> str:
    """Names that differ in their numbers alone."""
    if len(names) == 1:
        return names[0]
    # Imported here: no command without a set waits for it.
    from ClusterShell.NodeSet import RESOLVER_NOGROUP, NodeSet, NodeSetException  # noqa: PLC0415

    try:
        text = str(NodeSet.fromlist(names, resolver=RESOLVER_NOGROUP))
        if [name for _, term in _terms(text, "") for name in spread_nodeset(term)] == names:
            return text
    except (NodeSetException, ValueError):
        pass
    # A NodeSet has its own order; parts of the names may have the same.
    half = len(names) // 2
    return f"{_folded(names[:half])},{_folded(names[half:])}"
