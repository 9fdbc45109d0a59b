"""Pseudonyms: every identity of a result gets one other name, the same wherever it occurs.

Three kinds of names are recognized in any text: addresses, MAC addresses and paths, because of their form. Names of
hosts, users and devices have no form of their own: they are those that an identifying field of the result holds, and
are replaced in texts too. One that is also a word of the result itself (a host called `stream`) is replaced in
identifying fields only: in a text it could be the word.

Not recognized: names that stand in a free text and in no identifying field.

Finds many names in texts: the time grows with the text, and hardly with the number of names.
"""

import ipaddress
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from whyperf.record.errors import RecordError

MAX_NAME_CHARACTERS = 4096
"""Of a name: a path has no more (PATH_MAX of linux/limits.h)."""
_PIECE = re.compile(r"([A-Za-z0-9_]+)|[^A-Za-z0-9_]")
"""A word, or a character between words: names begin and end where a piece does."""
_WHOLE = ""
"""The key under which a node of the tree has the name that ends there."""


class KnownNames:
    """Names by their pieces, as a tree of dictionaries."""

    def __init__(self) -> None:
        """Without a name."""
        self._tree: dict[str, Any] = {}

    def add(self, name: str) -> None:
        """Have a name found from now on.

        Raises:
            RecordError: it is longer than any name.
        """
        if len(name) > MAX_NAME_CHARACTERS:
            raise RecordError(
                f'the name "{name[:20]}…" has over {MAX_NAME_CHARACTERS:,} characters, so the result is not copied'
            )
        node = self._tree
        for piece in _PIECE.finditer(name):
            node = node.setdefault(piece[0], {})
        node[_WHOLE] = name

    def found_in(self, text: str) -> Iterator[tuple[int, str]]:
        """The names in a text, with where they begin: from the left, the longest of a place, and no part of a word."""
        free_from, is_in_word = 0, False
        for piece in _PIECE.finditer(text):
            begins_name = not is_in_word and piece.start() >= free_from and piece[0] in self._tree
            is_in_word = piece[1] is not None
            if begins_name and (name := self._longest(text, piece.start())) is not None:
                yield piece.start(), name
                free_from = piece.start() + len(name)

    def replaced(self, text: str, by: Mapping[str, str]) -> str:
        """A text with what stands for each name instead of it."""
        parts: list[str] = []
        end = 0
        for start, name in self.found_in(text):
            parts += text[end:start], by[name]
            end = start + len(name)
        return "".join((*parts, text[end:]))

    def _longest(self, text: str, at: int) -> str | None:
        """The longest name that begins at a place."""
        node, found = self._tree, None
        while (piece := _PIECE.match(text, at)) is not None and piece[0] in node:
            node, at = node[piece[0]], piece.end()
            following = _PIECE.match(text, at)
            ends = piece[1] is not None or following is None or following[1] is None
            found = node.get(_WHOLE, found) if ends else found
        return found


#: Addresses of everybody: loopback, unspecified, broadcast, and those of the embedded testbed (RFC 2544, RFC 5180).
_PUBLIC = tuple(
    ipaddress.ip_network(network)
    for network in (
        *("127.0.0.0/8", "0.0.0.0/32", "255.255.255.255/32", "198.18.0.0/15"),
        *("::1/128", "::/128", "2001:2::/48"),
    )
)
#: Networks for documents (RFC 5737), then one that nobody may use (RFC 1112 section 4), and one of IPv6 (RFC 3849).
_IPV4 = tuple(
    ipaddress.ip_network(network) for network in ("192.0.2.0/24", "198.51.100.0/24", "203.0.113.0/24", "240.0.0.0/4")
)
_IPV6 = ipaddress.ip_network("2001:db8::/32")
_IPV4_FORM = re.compile(r"(?<![\w.])\d{1,3}(?:\.\d{1,3}){3}(?![\w]|\.\d)")
_IPV6_FORM = re.compile(r"(?<![\w:.])[0-9A-Fa-f]{0,4}(?::[0-9A-Fa-f]{0,4}){2,7}(?:\.\d{1,3}){0,3}(?![\w:])")
_MAC_FORM = re.compile(r"(?<![\w:-])[0-9A-Fa-f]{2}(?:([:-])[0-9A-Fa-f]{2})(?:\1[0-9A-Fa-f]{2}){4}(?![\w:-])")
#: Absolute paths and those below a home folder; a rate such as KB/s has a letter before its slash.
_PATH_FORM = re.compile(r"(?<![\w.~/:])~?(?:/[\w.@+:~-]+){2,}/?")
#: Files that every Linux has under this name.
_EVERYBODYS_PATHS = ("/proc/sys/", "/sys/kernel/", "/dev/null")
#: Devices that every Linux host has, and those of the testbed.
_EVERYBODYS_DEVICES = frozenset({"lo", "veth-near", "veth-far", "path-near", "path-far"})
_USER_AND_HOST = re.compile(r"(?:(?P<user>[^@\s]+)@)?(?P<host>\[?[^@\s]+?\]?)")


class Pseudonyms:
    """The pseudonyms of one result."""

    def __init__(self, vocabulary: Iterable[str]) -> None:
        """`vocabulary` has the words of the result that are nobody's: keys, code words, names of levels."""
        self._vocabulary = frozenset(
            part.lower() for word in vocabulary for part in (word, *re.split(r"[^A-Za-z0-9]+", word))
        )
        self._given: dict[str, str] = {}
        self._pseudonyms: set[str] = set()
        self._counts: defaultdict[str, int] = defaultdict(int)
        self._in_texts = KnownNames()
        self._unregistered: dict[tuple[str, str], str] = {}

    @property
    def given(self) -> dict[str, str]:
        """The pseudonyms by what they stand for."""
        return dict(self._given)

    @property
    def counts(self) -> dict[str, int]:
        """The number of names of each kind that were replaced."""
        return dict(self._counts)

    def host(self, name: str) -> str:
        """A host as for ssh, `user@host` with a user; an address stays an address."""
        parts = _USER_AND_HOST.fullmatch(name)
        if not name or parts is None:
            return self._plain("host", name) if name else name
        user = "" if parts["user"] is None else self._plain("user", parts["user"]) + "@"
        bare = parts["host"].strip("[]")
        address = _address(bare)
        if address is not None:
            return user + self._of_address(bare, address)
        short = bare.partition(".")[0]
        if bare not in self._given and short in self._given:
            # The same host with its domain.
            self._give(bare, self._given[short])
        given = self._plain("host", bare)
        if short != bare and short not in self._given:
            self._give(short, given)
        return user + given

    def device(self, name: str) -> str:
        """A network device."""
        return name if name in _EVERYBODYS_DEVICES else self._plain("device", name)

    def process(self, name: str) -> str:
        """A program that ran on a host; one that is not known stays empty."""
        return self._plain("process", name) if name else name

    def unregistered(self, kind: str, name: str) -> str:
        """A name that is replaced where it stands, and in no text: it may be a common word, as functions' names are."""
        return self._unregistered.setdefault((kind, name), f"{kind}-{len(self._unregistered) + 1}")

    def known_process(self, name: str) -> str:
        """A program that has a pseudonym by now; another one as any text."""
        return self._given[name] if name in self._given else self.text(name)

    def file(self, path: str) -> str:
        """The path of a file; one that is not known stays empty."""
        return "/" + self._plain("path", path) if path else path

    def number(self, kind: str, value: int) -> int:
        """A number of a host, such as a process identifier: 1, 2, …"""
        return int(self._plain(kind, str(value)).rpartition("-")[2])

    def group(self, path: str) -> str:
        """A control group; the root stays, and one that is not known."""
        return path if path in {"", "/"} else "/" + self._plain("group", path)

    def endpoint(self, text: str) -> str:
        """An address with its port, or what else a connection has for one."""
        host, colon, port = text.rpartition(":")
        bare = host.strip("[]")
        if colon and port.isdigit() and (address := _address(bare)) is not None:
            given = self._of_address(bare, address)
            return f"[{given}]:{port}" if address.version == 6 else f"{given}:{port}"
        if text.startswith(("/", "@")):
            return self._plain("socket", text)
        return self.text(text)

    def text(self, text: str) -> str:
        """Any text, with every identity in it replaced."""
        for form, replaced in (
            (_MAC_FORM, self._replaced_mac),
            (_IPV4_FORM, self._replaced_address),
            (_IPV6_FORM, self._replaced_address),
            (_PATH_FORM, self._replaced_path),
        ):
            text = form.sub(replaced, text)
        return self._in_texts.replaced(text, self._given)

    def left_in(self, text: str) -> str | None:
        """An identity that stands in a text and is not a word of the result: the copy must hold none."""
        return next((name for _, name in self._in_texts.found_in(text)), None)

    def _is_distinct(self, name: str) -> bool:
        return len(name) > 1 and not name.isdigit() and name.lower() not in self._vocabulary

    def _plain(self, kind: str, name: str) -> str:
        if name not in self._given:
            self._counts[kind] += 1
            self._give(name, f"{kind}-{self._counts[kind]}")
        return self._given[name]

    def _give(self, name: str, pseudonym: str) -> None:
        self._given[name] = pseudonym
        self._pseudonyms.add(pseudonym)
        if self._is_distinct(name):
            self._in_texts.add(name)

    def _of_address(self, text: str, address: ipaddress.IPv4Address | ipaddress.IPv6Address) -> str:
        if any(address in network for network in _PUBLIC) or text in self._pseudonyms:
            return text
        if text not in self._given:
            self._counts["address"] += 1
            number = self._counts["address"]
            self._give(text, str(_IPV6[number]) if address.version == 6 else _documentation_address(number))
        return self._given[text]

    def _replaced_address(self, found: re.Match[str]) -> str:
        address = _address(found[0])
        return found[0] if address is None else self._of_address(found[0], address)

    def _replaced_mac(self, found: re.Match[str]) -> str:
        if found[0] not in self._given and found[0] not in self._pseudonyms:
            self._counts["MAC address"] += 1
            # Locally administered, as no vendor's card has it.
            high, low = divmod(self._counts["MAC address"], 256)
            self._give(found[0], f"02:00:00:00:{high:02x}:{low:02x}")
        return self._given.get(found[0], found[0])

    def _replaced_path(self, found: re.Match[str]) -> str:
        path = found[0].rstrip(":.")
        if path.startswith(_EVERYBODYS_PATHS):
            return found[0]
        return "/" + self._plain("path", path) + found[0][len(path) :]


def _documentation_address(number: int) -> str:
    for network in _IPV4:
        if number < network.num_addresses - 1:
            return str(network[number])
        number -= network.num_addresses - 2
    raise ValueError("the result has more addresses than there are to replace them")


def _address(text: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    try:
        return ipaddress.ip_address(text.partition("%")[0])
    except ValueError:
        return None
