"""Finds many names in texts: the time grows with the text, and hardly with the number of names."""

import re
from collections.abc import Iterator, Mapping
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
