"""The rules of `rules.toml`, and what breaks them."""

import re
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from fnmatch import fnmatch
from functools import cached_property
from pathlib import Path
from typing import Any

from scripts.style.source import Piece

RULES = Path(__file__).with_name("rules.toml")
#: Boundaries of the words in a name: `rttMin`, `rtt_min`, `HTTPServer`.
NAME_PART = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")
SENTENCE_END = re.compile(r"(?<=[.!?:])\s+(?=[A-Z`(\"“«\d])|(?<=;)\s+|\n\s*\n")
WORD = re.compile(r"\S*[^\W\d_]\S*")
#: The first words of documentation in Python and Rust.
QUESTION = re.compile(r'\s*(?:r?"""|//[/!] )(What|Whether|How)\b')
#: A list of nothing but names, as a table has it.
LISTED = re.compile(r"\s*`code`(?:,\s+`code`)*\s*")


@dataclass(frozen=True)
class Hit:
    """One break of a rule; `advice` is what to use instead."""

    file: str
    line: int
    found: str
    advice: str

    def __str__(self) -> str:
        """As compilers print it, so that editors find the line."""
        return f"{self.file}:{self.line}: {self.found} → {self.advice}"


@dataclass(frozen=True)
class Allowed:
    """An exception, in files that match a glob: a pattern for the text around a hit, or for a whole name."""

    text: re.Pattern[str] | None
    name: re.Pattern[str] | None
    files: str


@dataclass(frozen=True)
class Rule:
    """One entry of the list.

    `text` is for prose, comments and messages (`kinds`). `parts` is for the words of a name, `names` for a whole name,
    `files` for the stem of a file.
    """

    text: re.Pattern[str] | None
    kinds: frozenset[str]
    parts: re.Pattern[str] | None
    names: re.Pattern[str] | None
    files: re.Pattern[str] | None
    advice: str
    allowed: tuple[Allowed, ...]

    def in_text(self, file: str, piece: Piece) -> Iterator[re.Match[str]]:
        """The matches in a piece of text that no exception covers."""
        if self.text is None or piece.kind not in self.kinds:
            return
        for found in self.text.finditer(piece.text):
            if not any(
                around.start() <= found.start() and found.end() <= around.end()
                for allowed in self._allowed(file)
                if allowed.text is not None
                for around in allowed.text.finditer(piece.text)
            ):
                yield found

    def in_name(self, file: str, name: str) -> bool:
        """True where a name, or one of its words, is banned."""
        split = "_".join(NAME_PART.findall(name)).lower()
        is_banned = (self.names is not None and self.names.fullmatch(name)) or (
            self.parts is not None and self.parts.search(split)
        )
        return bool(is_banned) and not any(
            allowed.name is not None and allowed.name.fullmatch(name) for allowed in self._allowed(file)
        )

    def in_file(self, file: str) -> bool:
        """True where the name of a file is banned."""
        stem = Path(file).name.split(".")[0]
        return (self.files is not None and self.files.fullmatch(stem) is not None) or self.in_name(file, stem)

    def _allowed(self, file: str) -> list[Allowed]:
        return [allowed for allowed in self.allowed if fnmatch(file, allowed.files)]


@dataclass(frozen=True)
class Rules:
    """All of `rules.toml`."""

    banned: tuple[Rule, ...]
    sentence_words: int
    type_definitions: int
    unchecked: tuple[str, ...]
    commits_after: str
    bodies_after: str
    subject_length: int

    @cached_property
    def _any_text(self) -> re.Pattern[str]:
        """Matches whatever a rule may match, so that most pieces are looked at once."""
        return re.compile("|".join(f"(?:{rule.text.pattern})" for rule in self.banned if rule.text), re.IGNORECASE)

    @cached_property
    def _names(self) -> dict[str, tuple[Rule, ...]]:
        return {}

    def is_checked(self, file: str) -> bool:
        """False where the list leaves a file out."""
        return not any(fnmatch(file, pattern) for pattern in self.unchecked)

    def of_piece(self, file: str, piece: Piece, lines: list[str]) -> Iterator[Hit]:
        """Finds what breaks a rule in one piece of a file with these lines."""
        if piece.kind == "name":
            if piece.text not in self._names:
                self._names[piece.text] = tuple(rule for rule in self.banned if rule.in_name("", piece.text))
            for rule in self._names[piece.text]:
                if rule.in_name(file, piece.text):
                    yield Hit(file, piece.line, f"name `{piece.text}`", rule.advice)
        elif piece.kind != "type" and self._any_text.search(piece.text):
            for rule in self.banned:
                for found in rule.in_text(file, piece):
                    yield Hit(file, _line(piece, found, lines), f'"{" ".join(found[0].split())}"', rule.advice)
        if piece.kind == "prose":
            yield from self._long_sentences(file, piece)

    def of_file_name(self, file: str) -> Iterator[Hit]:
        """Finds a file that has a banned name."""
        yield from (
            Hit(file, 1, f"file name `{Path(file).name}`", rule.advice) for rule in self.banned if rule.in_file(file)
        )

    def of_documentation(self, file: str, lines: list[str]) -> Iterator[Hit]:
        """Finds documentation that begins with a question instead of a thing or a verb; tests are free to."""
        if "tests/" in file:
            return
        for number, line in enumerate(lines, start=1):
            question = QUESTION.match(line)
            if question and not lines[max(0, number - 2)].lstrip().startswith(("///", "//!")):
                advice = 'a thing, or what is done: "The number of …", "True where …", "Counts …"'
                yield Hit(file, number, f'documentation begins with "{question[1]}"', advice)

    def _long_sentences(self, file: str, piece: Piece) -> Iterator[Hit]:
        start = 0
        for sentence in SENTENCE_END.split(piece.text):
            count = len(WORD.findall(sentence))
            if count > self.sentence_words and not LISTED.fullmatch(sentence):
                line = piece.line + piece.text.count("\n", 0, piece.text.find(sentence, start))
                opening = " ".join(sentence.split()[:6])
                yield Hit(
                    file,
                    line,
                    f'"{opening} …" has {count} words',
                    f"at most {self.sentence_words}; one idea per sentence",
                )
            start += len(sentence)


def _line(piece: Piece, found: re.Match[str], lines: list[str]) -> int:
    """The line of a match. Where a message joins several strings, the first of their lines that has its first word."""
    counted = piece.line + piece.text.count("\n", 0, found.start())
    first = found[0].split()[0]
    if counted <= len(lines) and first in lines[counted - 1]:
        return counted
    return next((line for line in range(piece.line, piece.last + 1) if first in lines[line - 1]), piece.line)


def read(path: Path = RULES) -> Rules:
    """The rules of a file."""
    data = tomllib.loads(path.read_text())
    return Rules(
        banned=tuple(read_rule(entry) for entry in data["banned"]),
        sentence_words=data["sentences"]["max_words"],
        type_definitions=data["types"]["max_definitions"],
        unchecked=tuple(entry["files"] for entry in data["unchecked"]),
        commits_after=data["commits"]["after"],
        bodies_after=data["commits"]["bodies_after"],
        subject_length=data["commits"]["max_length"],
    )


def read_rule(entry: dict[str, Any]) -> Rule:
    """One entry of the list."""
    allowed = tuple(
        Allowed(_spaced(exception.get("text")), _spaced(exception.get("name")), exception.get("files", "*"))
        for exception in entry.get("allow", ())
    )
    text, parts, names, files = (entry.get(key) for key in ("text", "parts", "names", "files"))
    return Rule(
        text=_spaced(text and rf"\b(?:{text})\b"),
        kinds=frozenset(entry.get("in", ("prose", "comment", "message"))),
        parts=re.compile(rf"(?:^|_)(?:{parts})(?:_|$)") if parts else None,
        names=re.compile(names) if names else None,
        files=re.compile(files) if files else None,
        advice=f"{entry['use']} ({entry['reason']})",
        allowed=allowed,
    )


def _spaced(pattern: str | None) -> re.Pattern[str] | None:
    """A pattern for text: a space matches any white space, and case is ignored."""
    return re.compile(pattern.replace(" ", r"\s+"), re.IGNORECASE) if pattern else None
