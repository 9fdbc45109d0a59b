"""`python -m scripts.size`: code lines by folder, without blanks, comments and documentation.

Lines of Rust unit tests inside a source file (`#[cfg(test)] mod tests`) count as tests.
"""

import ast
import io
import subprocess
import sys
import tokenize
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median

ROOT = Path(__file__).parent.parent
LABORATORY = ("lab", "scripts")
"""Folders at the root that grade and build the product, and are not in its wheel."""
STUDIES = (
    "python/whyperf/studies",
    "crates/sim/src/sunos",
    "crates/sim/src/solaris",
    "crates/udt",
    "crates/congestion",
)
"""Folders that only the five studies need."""
ENDINGS = {".py": "python", ".rs": "rust", ".c": "c", ".h": "c", ".js": "c", ".css": "c"}
GENERATED = "python/whyperf/wire.py"
LONG_LINES = 500
"""From so many code lines on, a file is listed by name."""


@dataclass
class Counted:
    """The code lines of each file of a part of the project."""

    files: dict[str, int] = field(default_factory=dict)

    @property
    def lines(self) -> int:
        """All of them."""
        return sum(self.files.values())

    @property
    def median(self) -> float:
        """Of the files that have any."""
        return median(own) if (own := [lines for lines in self.files.values() if lines]) else 0.0


def main() -> int:
    """Prints the parts, then the folders, then the long and the short files."""
    parts: dict[str, Counted] = defaultdict(Counted)
    folders: dict[str, Counted] = defaultdict(Counted)
    for name in _files():
        code, tests = counted(name, (ROOT / name).read_text(encoding="utf-8", errors="replace"))
        part = part_of(name)
        parts[part].files[name] = code
        if tests:
            parts["tests"].files[f"{name} (tests)"] = tests
        if part != "tests":
            folders[_folder(name)].files[name] = code
    print(f"{'part':<44}{'files':>6}{'lines':>8}{'median':>8}")
    for name, own in [*sorted(parts.items()), *sorted(folders.items(), key=lambda each: -each[1].lines)]:
        print(f"{name:<44}{len(own.files):>6}{own.lines:>8}{own.median:>8.0f}")
    product = parts["product"].files
    short = sum(0 < lines < 40 for lines in product.values())
    print(f"product files under 40 lines: {short}; over {LONG_LINES}:")
    for name, lines in sorted(product.items(), key=lambda each: -each[1]):
        if lines > LONG_LINES:
            print(f"  {lines:>6} {name}")
    return 0


def part_of(name: str) -> str:
    """The part of the project that a file belongs to."""
    if "/tests/" in f"/{name}" or "/benches/" in name or "/examples/" in name:
        return "tests"
    if name.startswith(tuple(f"{folder}/" for folder in STUDIES)):
        return "studies"
    if name.startswith(tuple(f"{folder}/" for folder in LABORATORY)):
        return "laboratory"
    return "generated" if name == GENERATED else "product"


def counted(name: str, text: str) -> tuple[int, int]:
    """The code lines of a file, and those of the unit tests inside it."""
    if name.endswith(".py"):
        return len(_python_lines(text)), 0
    body, _, tests = text.partition("#[cfg(test)]\nmod tests {") if name.endswith(".rs") else (text, "", "")
    return _c_lines(body.splitlines()), _c_lines(tests.splitlines())


def _python_lines(text: str) -> set[int]:
    """The lines with a token that is no comment and no documentation."""
    skipped: set[int] = set()
    for node in ast.walk(ast.parse(text)):
        for statement in getattr(node, "body", []) if not isinstance(node, ast.Lambda | ast.IfExp) else []:
            if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant):
                skipped.update(range(statement.lineno, (statement.end_lineno or statement.lineno) + 1))
    empty = {tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER}
    lines: set[int] = set()
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type not in empty:
            lines.update(range(token.start[0], token.end[0] + 1))
    return lines - skipped


def _c_lines(lines: Iterable[str]) -> int:
    """The same of C, Rust and scripts of pages: no line comments, no block comments."""
    count, is_comment = 0, False
    for line in map(str.strip, lines):
        if is_comment or line.startswith("/*"):
            is_comment = "*/" not in line
        elif line and not line.startswith("//"):
            count += 1
    return count


def _files() -> list[str]:
    listed = subprocess.run(("git", "ls-files"), cwd=ROOT, capture_output=True, text=True, check=True).stdout
    return [name for name in listed.splitlines() if Path(name).suffix in ENDINGS and (ROOT / name).is_file()]


def _folder(name: str) -> str:
    """Two levels of Python packages, one of crates."""
    parts = name.split("/")
    return "/".join(parts[: 3 if parts[0] in {"python", "lab"} else 2][: len(parts) - 1])


if __name__ == "__main__":
    sys.exit(main())
