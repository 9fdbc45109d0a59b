"""Reads the project's Markdown files: links, headings, and the commands they show."""

import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
DOCUMENTS = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])

LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
HEADING = re.compile(r"^#+ +(.+)$", re.MULTILINE)
FENCE = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)
RUNNABLE = re.compile(r"<!-- run(?: (?P<words>[^>]*?))? -->\n```console\n(?P<block>.*?)^```$", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True)
class Example:
    """A block of commands a document says can be run: `<!-- run -->` before it, or `<!-- run exit=0,3 -->`.

    `exit_codes` are those that any of its commands may end with; a log that the host left gaps in ends several with 3.
    """

    document: str
    commands: tuple[list[str], ...]
    exit_codes: tuple[int, ...]


def name_of(document: Path) -> str:
    """The document's path below the root, such as `docs/how-to/paths.md`."""
    return str(document.relative_to(ROOT))


def links(text: str) -> list[str]:
    """Targets of all links outside of code blocks."""
    return LINK.findall(FENCE.sub("", text))


def anchors(text: str) -> set[str]:
    """The names by which headings are linked, as GitHub makes them."""
    headings = HEADING.findall(FENCE.sub("", text))
    return {re.sub(r"[^\w\- ]", "", heading.lower()).strip().replace(" ", "-") for heading in headings}


def examples() -> Iterator[Example]:
    """All runnable blocks of all documents, in order."""
    for document in DOCUMENTS:
        for found in RUNNABLE.finditer(document.read_text()):
            lines = [line.removeprefix("$ ") for line in found["block"].splitlines() if line.startswith("$ ")]
            commands = tuple(shlex.split(line, comments=True) for line in lines)
            words = dict(word.split("=") for word in (found["words"] or "").split())
            codes = tuple(int(code) for code in words.get("exit", "0").split(","))
            yield Example(name_of(document), commands, codes)
