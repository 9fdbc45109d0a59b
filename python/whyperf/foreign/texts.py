"""Texts that somebody else may have written, before they go to a terminal or into a page."""

import json
import shlex
import unicodedata
from collections.abc import Callable, Iterable
from functools import cache

SHOWN_CHARACTERS = 200
"""Of a text of somebody else that a sentence quotes."""


def quoted(text: str, most: int = SHOWN_CHARACTERS) -> str:
    """A text as a sentence may have it: not longer than `most`, and without what a terminal would obey."""
    return visible(text if len(text) <= most else text[:most] + "…")


def visible(text: str, keep: str = "") -> str:
    """The text with escapes for what a terminal would obey or hide: control characters and marks of direction.

    `keep` are characters that stay as they are.
    """
    return text if text.isprintable() else text.translate(_python_escapes(keep))


def shell_line(arguments: Iterable[str]) -> str:
    """Arguments as a command to copy: a shell takes each of them as one word, whatever it holds."""
    return " ".join(map(_shell_word, arguments))


def _shell_word(word: str) -> str:
    """Control characters would act while it is pasted, whatever quotes stand around them."""
    if word.isprintable():
        return shlex.quote(word)
    escaped = word.replace("\\", r"\\").replace("'", r"\'")
    return f"$'{visible(escaped)}'"


def visible_json(text: str) -> str:
    """The same of a JSON text, with the escapes of JSON: it stays the same document."""
    return text.translate(_JSON_ESCAPES)


def json_in_script(document: object) -> str:
    """The document as JSON that is safe in a script element of a page.

    A browser looks for `</script` there, and for `<!--` and `<script`, after which the next `</script` ends nothing
    (https://html.spec.whatwg.org/multipage/scripting.html#restrictions-for-contents-of-script-elements).
    """
    return json.dumps(document, separators=(",", ":"), ensure_ascii=False).replace("<", "\\u003c")


class _Escapes(dict[int, int | str]):
    """Replacement for a character, by its code; those in `keep` for themselves."""

    def __init__(self, keep: str, escaped: Callable[[str], str]) -> None:
        super().__init__((ord(each), each) for each in keep)
        self._escaped = escaped

    def __missing__(self, code: int) -> int | str:
        is_text = not unicodedata.category(chr(code)).startswith("C")
        found = code if is_text else self._escaped(chr(code))
        if code < _MAX_KEPT:
            self[code] = found
        return found


_MAX_KEPT = 0x3000
"""Escapes are kept for codes below: the letters of most languages."""


@cache
def _python_escapes(keep: str) -> _Escapes:
    return _Escapes(keep, lambda character: repr(character)[1:-1])


_JSON_ESCAPES = _Escapes("\n", lambda character: json.dumps(character)[1:-1])
