"""Ranges in brackets, such as `node[01-15]`: one text to many names, within bounds, in the order of the text."""

import re
from collections.abc import Callable, Sequence
from itertools import product
from math import prod

from whyperf.hosts.known_hosts import MAX_HOST_LENGTH, is_numeric

MAX_SPREAD = 65_536
"""Names of one text with ranges. The library would make all numbers of any range before anybody could count them."""

_NODESET_REMEDY = "write node[1-15] or node[01-15,20]"
_ANSIBLE_REMEDY = "write web[01:50] or db[a:f]"
_NODESET_BRACKET = re.compile(r"\[([^\[\]]*)\]")
_NUMBERS = re.compile(r"(?P<first>[0-9]{1,18})(?:-(?P<last>[0-9]{1,18})(?:/(?P<step>[0-9]{1,9}))?)?")
_ANSIBLE_BRACKET = re.compile(r"\[([0-9]{1,18}:[0-9]{1,18}(?::[0-9]{1,9})?|[A-Za-z]:[A-Za-z](?::[0-9]{1,9})?)\]")


def spread_nodeset(text: str) -> list[str]:
    """The names of a text with ranges of ClusterShell's NodeSet: `rack[1-2]n[01-10,15,20-30/2]`.

    Unlike a NodeSet, the list keeps the order of the text, and has a name twice where the text has.

    Raises:
        ValueError: a range is none, or there are over `MAX_SPREAD` names.
    """
    return _spread(text, _NODESET_BRACKET, _numbers)


def spread_ansible(text: str) -> list[str]:
    """The names of a text with ranges of Ansible's inventories: `web[01:50:2]`, `db-[a:f]`.

    Raises:
        ValueError: as `spread_nodeset`.
    """
    return _spread(text, _ANSIBLE_BRACKET, _ansible_indexes)


def _spread(text: str, bracket: re.Pattern[str], indexes: Callable[[str], Sequence[str]]) -> list[str]:
    # Literal texts and contents of brackets, by turns.
    parts = bracket.split(text)
    choices = [[part] if number % 2 == 0 else indexes(part) for number, part in enumerate(parts)]
    if prod(map(len, choices)) > MAX_SPREAD:
        raise ValueError(_too_many())
    if sum(max(map(len, choice)) for choice in choices) > MAX_HOST_LENGTH:
        raise ValueError(f"its names are longer than {MAX_HOST_LENGTH} characters; shorten them")
    return ["".join(names) for names in product(*choices)]


def _numbers(inside: str) -> Sequence[str]:
    """The numbers of `1-3,7,10-20/5`, with their leading zeros."""
    if ":" in inside:
        return [f"[{_literal(inside)}]"]
    found: list[str] = []
    for text in inside.split(","):
        if (match := _NUMBERS.fullmatch(text.strip())) is None:
            raise ValueError(f'"{text}" is no range of numbers; {_NODESET_REMEDY}')
        found += _range(match["first"], match["last"], match["step"], _NODESET_REMEDY)
        if len(found) > MAX_SPREAD:
            raise ValueError(_too_many())
    return found


def _literal(inside: str) -> str:
    """An IPv6 address, which stands in brackets too."""
    if not is_numeric(inside):
        raise ValueError(f'"{inside}" is neither a range of numbers nor an IPv6 address; {_NODESET_REMEDY}')
    return inside


def _range(first: str, last: str | None, step: str | None, remedy: str) -> Sequence[str]:
    if last is None:
        return [first]
    # Imported here: no command without a set waits for it.
    from ClusterShell.RangeSet import RangeSet, RangeSetParseError  # noqa: PLC0415

    if (int(last) - int(first)) // max(int(step or 1), 1) >= MAX_SPREAD:
        raise ValueError(_too_many())
    text = f"{first}-{last}/{step}" if step else f"{first}-{last}"
    try:
        return list(RangeSet(text).striter())
    except RangeSetParseError:
        raise ValueError(f'"{text}" is no range of numbers; {remedy}') from None


def _ansible_indexes(inside: str) -> Sequence[str]:
    first, last, *step = inside.split(":")
    if first.isdecimal():
        return _range(first, last, step[0] if step else None, _ANSIBLE_REMEDY)
    letters = range(ord(first), ord(last) + 1, int(step[0]) if step else 1)
    if not letters or first.isupper() != last.isupper():
        raise ValueError(f'"{inside}" is no range of letters; {_ANSIBLE_REMEDY}')
    return [chr(letter) for letter in letters]


def _too_many() -> str:
    return f"it has over {MAX_SPREAD:,} names; name fewer"
