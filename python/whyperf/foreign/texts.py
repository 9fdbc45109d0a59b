"""Texts that somebody else may have written, before they go to a terminal."""

import unicodedata

SHOWN_CHARACTERS = 200
"""Of a text of somebody else that a sentence quotes."""


def quoted(text: str, most: int = SHOWN_CHARACTERS) -> str:
    """A text as a sentence may have it: not longer than `most`, and without what a terminal would obey."""
    return visible(text if len(text) <= most else text[:most] + "…")


def visible(text: str, keep: str = "") -> str:
    """The text with escapes for what a terminal would obey or hide: control characters and marks of direction.

    `keep` are characters that stay as they are.
    """
    if text.isprintable():
        return text
    return "".join(
        repr(each)[1:-1] if each not in keep and unicodedata.category(each).startswith("C") else each for each in text
    )
