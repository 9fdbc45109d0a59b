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
RUNNABLE = re.compile(r"<!-- run(?P<options>[^>]*?) -->\n```console\n(?P<block>.*?)^```$", re.MULTILINE | re.DOTALL)
SHOWN_FILE = re.compile(r"<!-- file (?P<name>[\w.-]+) -->\n```\w+\n(?P<content>.*?)^```$", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True)
class Step:
    """A command with the exit codes that it may end with."""

    command: list[str]
    exit_codes: tuple[int, ...]
    needs_root: bool
    is_slow: bool


@dataclass(frozen=True)
class Example:
    """Commands that a document marks as runnable, and the files that it shows; all in one folder.

    `<!-- run -->` before a block starts an example, and `<!-- run continued -->` adds a block to the example before it.
    `root` in the marker says that a command needs privilege to build network namespaces.
    `exit=0,3` in the marker lists the allowed exit codes: several commands end with 3 where a log has gaps.
    `slow` in the marker says that the example measures for a minute: it is run with the slow tests.
    `<!-- file NAME -->` before a block makes it a file of all examples of the document.
    """

    document: str
    files: dict[str, str]
    steps: tuple[Step, ...]

    @property
    def needs_root(self) -> bool:
        """Whether any of its commands does."""
        return any(step.needs_root for step in self.steps)

    @property
    def is_slow(self) -> bool:
        """Whether it measures for long."""
        return any(step.is_slow for step in self.steps)


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
    """All examples of all documents, in order."""
    for document in DOCUMENTS:
        text = document.read_text()
        files = {shown["name"]: shown["content"] for shown in SHOWN_FILE.finditer(text)}
        for steps in _steps(text):
            yield Example(name_of(document), files, tuple(steps))


def _steps(text: str) -> list[list[Step]]:
    """The steps of each example of a document."""
    found: list[list[Step]] = []
    for block in RUNNABLE.finditer(text):
        options = block["options"].split()
        if "continued" not in options:
            found.append([])
        codes = next((option.removeprefix("exit=") for option in options if option.startswith("exit=")), "0")
        commands = [line.removeprefix("$ ") for line in block["block"].splitlines() if line.startswith("$ ")]
        allowed = tuple(int(code) for code in codes.split(","))
        found[-1] += [
            Step(shlex.split(command, comments=True), allowed, "root" in options, "slow" in options)
            for command in commands
        ]
    return found
