"""Standard output and standard error: closed ones, readers that leave, and terminals that have ASCII only."""

import codecs
import json
import os
import sys
import unicodedata
from contextlib import suppress
from typing import Any, TextIO

#: What stands for a character that a stream cannot encode. None of these breaks a string of JSON.
_PLAIN = {
    **dict.fromkeys("«»“”„\u2018\u2019", "'"),
    **dict.fromkeys("–—\u2212\u2010\u2011", "-"),
    "…": "...",
    "×": "x",
    "·": "|",
    "→": "->",
    "←": "<-",
    "≤": "<=",
    "≥": ">=",
    "±": "+-",
    "Σ": "sum",
    "µ": "u",
    "δ": "delta",
    "Δ": "delta",
    "\u03c3": "sigma",
    "⋅": "*",
    "■": "#",
    "▲": "^",
    "▼": "v",
}
_ERRORS = "whyperf.plain"


def prepare() -> None:
    """Makes both streams take any text: closed ones take it nowhere, others replace what they cannot encode."""
    codecs.register_error(_ERRORS, _replaced)
    for name in ("stdout", "stderr"):
        stream: TextIO | None = getattr(sys, name)
        if stream is None:
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: PTH123, SIM115 - as long as the process
        elif (reconfigure := getattr(stream, "reconfigure", None)) is not None:
            reconfigure(errors=_ERRORS)


def drop_output() -> None:
    """Sends the rest of standard output nowhere: its reader has left, or what it goes to is full."""
    with suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def print_json(document: Any) -> None:
    """Prints a document; characters that standard output cannot encode are escaped, so that no string changes."""
    encoding = (sys.stdout.encoding or "ascii").lower().replace("-", "")
    print(json.dumps(document, indent=1, ensure_ascii=not encoding.startswith("utf")))  # noqa: T201


def _replaced(error: UnicodeError) -> tuple[str | bytes, int]:
    """As `codecs.register_error` wants it: plain characters for those that cannot be encoded."""
    if not isinstance(error, UnicodeEncodeError):
        raise error
    return "".join(map(_plain, error.object[error.start : error.end])), error.end


def _plain(character: str) -> str:
    if character in _PLAIN:
        return _PLAIN[character]
    bare = unicodedata.normalize("NFKD", character).encode("ascii", "ignore").decode()
    return bare or "?"
