"""Standard output and standard error: closed ones, readers that leave, and terminals that have ASCII only.

All texts for them pass here or a console of `whyperf.cli.output.console`: what a terminal would obey is escaped, from
whatever file or host it came.
"""

import codecs
import json
import os
import sys
import unicodedata
from collections.abc import Iterable
from contextlib import suppress
from typing import IO, Any, TextIO

#: Stand-ins for characters that a stream cannot encode. None of these breaks a string of JSON.
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
    """Makes both streams take any text: closed ones take it nowhere, others escape what a terminal would obey and
    replace what they cannot encode."""
    codecs.register_error(_ERRORS, _replaced)
    for name in ("stdout", "stderr"):
        stream: TextIO | _VisibleStream | None = getattr(sys, name)
        if stream is None:
            stream = open(os.devnull, "w", encoding="utf-8")  # noqa: PTH123, SIM115 - as long as the process
        elif (reconfigure := getattr(stream, "reconfigure", None)) is not None:
            reconfigure(errors=_ERRORS)
        setattr(sys, name, stream if isinstance(stream, _VisibleStream) else _VisibleStream(stream))


class _VisibleStream:
    """A stream that escapes what a terminal would obey; in all else it is the stream."""

    def __init__(self, stream: TextIO) -> None:
        #: The stream itself, by the name under which rich looks for it.
        self.rich_proxied_file = stream

    def write(self, text: str) -> int:
        if not (text.isprintable() or text == "\n"):
            from whyperf.foreign import visible  # noqa: PLC0415 - most texts need no look

            text = visible(text, keep="\n\t")
        return self.rich_proxied_file.write(text)

    def writelines(self, lines: Iterable[str]) -> None:
        for line in lines:
            self.write(line)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.rich_proxied_file, name)


def fitting(text: str, stream: IO[str], indent: int | None = None) -> str:
    """Lines for people: as they are in a pipe or a file, in which programs read them; on a terminal, between words.

    What does not fit goes on below the value of a line `Name  value`, or at `indent`. A command at the end of a line
    stays whole, because it is copied.
    """
    if not stream.isatty():
        return text
    # Imported here: most commands print nothing so long.
    import shutil  # noqa: PLC0415

    width = shutil.get_terminal_size().columns
    return "\n".join(line if len(line) <= width else _wrapped(line, width, indent) for line in text.split("\n"))


def _wrapped(line: str, width: int, indent: int | None) -> str:
    import re  # noqa: PLC0415 - as above
    import textwrap  # noqa: PLC0415 - as above

    if indent is None:
        found = re.match(r"(?: *\S+(?: \S+){0,2} {2,}| *)(?=\S)", line)
        indent = 0 if found is None else found.end()
    head, label, command = line.rpartition(": whyperf ")
    if label and len(command) < width - indent - len(label):
        line = head + label.replace(" ", "\0").replace(":\0", ": ") + command.replace(" ", "\0")
    wrapped = textwrap.fill(
        line,
        width,
        subsequent_indent=" " * min(indent, width // 2),
        break_long_words=False,
        break_on_hyphens=False,
        replace_whitespace=False,
    )
    return wrapped.replace("\0", " ")


def print_text(text: str, indent: int | None = None) -> None:
    """Prints lines for people on standard output, as `fitting`."""
    print(fitting(text, sys.stdout, indent))  # noqa: T201


def drop_output() -> None:
    """Sends the rest of standard output nowhere: its reader has left, or what it goes to is full."""
    with suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def print_json(document: Any) -> None:
    """Prints a document in lines, as `json_text`."""
    print(json_text(document, indent=1))  # noqa: T201


def json_text(document: Any, indent: int | None = None) -> str:
    """A document as JSON. What standard output cannot encode, or a terminal would obey, has escapes of JSON: no string
    changes."""
    from whyperf.foreign import visible_json  # noqa: PLC0415 - keeps help quick

    encoding = (sys.stdout.encoding or "ascii").lower().replace("-", "")
    return visible_json(json.dumps(document, indent=indent, ensure_ascii=not encoding.startswith("utf")))


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
