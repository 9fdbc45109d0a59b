"""Takes a source file apart: prose, comments, messages and names, each with its line."""

import ast
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

from markdown_it import MarkdownIt
from markdown_it.token import Token
from pygments.lexers import get_lexer_for_filename
from pygments.token import Comment, Name, String, Text
from pygments.util import ClassNotFound

#: In a Python file. Strings are matched too, so that a `#` inside one starts no comment.
PYTHON_COMMENT = re.compile(
    r'"""(?:\\.|[^\\])*?"""|\'\'\'(?:\\.|[^\\])*?\'\'\'|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'|(#[^\n]*)',
    re.DOTALL,
)
COMMENT_MARK = re.compile(
    r"^[ \t]*(?://[/!]?|#+[!:]?|/?\*+!?/?(?=\s|$))|\*/\s*$|^\{#-?|-?#\}$|^<!--|-->$", re.MULTILINE
)
CODE = re.compile(r"```.*?```|`[^`]*`", re.DOTALL)
#: Insertions of a message: `{rate}` in Python and Rust, `${rate}` in JavaScript and shell, `{{ rate }}` in Jinja.
INSERTED = re.compile(r"\$?\{+[^{}]*\}+")
RUST_TYPE = re.compile(r"^[ \t]*(?:pub(?:\([^)]*\))? )?(?:struct|enum|trait) (\w+)", re.MULTILINE)
#: Names that are not our own choice: HTML tags and attributes, built-in functions.
FOREIGN_NAMES = (Name.Tag, Name.Attribute, Name.Builtin, Name.Entity)
#: The names in these files are public keys, kernel interfaces or commands.
WITHOUT_NAMES = (".toml", ".sh", "", ".css")


@dataclass(frozen=True)
class Piece:
    """A stretch of text of one kind: `prose`, `comment`, `message`, `name` or `type`; `last` is its last line."""

    kind: str
    line: int
    text: str
    last: int


def pieces(file: Path, text: str) -> Iterator[Piece]:
    """All pieces of a file. Code that is quoted in prose and comments is replaced by one word."""
    found = {".md": _markdown, ".py": _python}.get(file.suffix)
    for piece in found(text) if found else _lexed(file, text):
        if piece.kind in ("name", "type"):
            yield piece
        else:
            marked = COMMENT_MARK.sub("", piece.text) if piece.kind == "comment" else piece.text
            plain = CODE.sub(lambda code: "`code`" + "\n" * code[0].count("\n"), marked)
            yield replace(piece, text=INSERTED.sub("{}", plain))


def _markdown(text: str) -> Iterator[Piece]:
    """Paragraphs, headings, list items and cells of tables; no code blocks and no HTML."""
    for token in _markdown_parser().parse(text):
        if token.type == "inline" and token.map is not None:
            written = "".join(_shown(child) for child in token.children or ())
            yield Piece("prose", token.map[0] + 1, written, token.map[1])


@cache
def _markdown_parser() -> MarkdownIt:
    return MarkdownIt("commonmark").enable("table")


def _shown(child: Token) -> str:
    if child.type == "code_inline":
        return f"`{child.content}`"
    return "\n" if child.type.endswith("break") else child.content


def _python(text: str) -> Iterator[Piece]:
    """Docstrings, comments, strings with spaces (others are keys), and names where they are defined."""
    seen: set[ast.AST] = set()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            seen.add(node.value)
            yield Piece("comment", node.lineno, node.value.value, node.end_lineno or node.lineno)
        elif isinstance(node, ast.JoinedStr):
            seen.update(node.values)
            values = (str(part.value) if isinstance(part, ast.Constant) else "{}" for part in node.values)
            yield from _message(node.lineno, "".join(values), node.end_lineno or node.lineno)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and node not in seen:
            yield from _message(node.lineno, node.value, node.end_lineno or node.lineno)
        elif isinstance(node, ast.ClassDef):
            yield Piece("type", node.lineno, node.name, node.lineno)
        name = _defined(node)
        if name is not None:
            line: int = node.lineno  # type: ignore[attr-defined]  # every node that defines a name has one
            yield Piece("name", line, name, line)
    comments = ((text.count("\n", 0, at.start()) + 1, at[1]) for at in PYTHON_COMMENT.finditer(text) if at[1])
    yield from _joined(comments)


def _defined(node: ast.AST) -> str | None:
    """The name that a node defines."""
    match node:
        case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
            return name
        case ast.arg(arg=name) | ast.Name(id=name, ctx=ast.Store()) | ast.Attribute(attr=name, ctx=ast.Store()):
            return name
        case ast.alias(asname=name) | ast.ExceptHandler(name=name) | ast.MatchAs(name=name):
            return name
    return None


def _lexed(file: Path, text: str) -> Iterator[Piece]:
    """The pieces of a file in any other language that Pygments reads."""
    try:
        lexer = get_lexer_for_filename(file.name, text, stripnl=False, ensurenl=False)
    except ClassNotFound:
        return
    if file.suffix == ".rs":
        for found in RUST_TYPE.finditer(text):
            line = text.count("\n", 0, found.start(1)) + 1
            yield Piece("type", line, found[1], line)
    comments: list[tuple[int, str]] = []
    message: list[str] = []
    line = start = 1
    for kind, value in lexer.get_tokens(text):
        is_message = (kind in String and kind not in String.Doc) or (file.suffix == ".j2" and kind is Text)
        if message and not is_message:
            yield from _message(start, "".join(message), line)
            message.clear()
        if is_message:
            start = start if message else line
            message.append(" \n" if value == "\\\n" else value)
        elif kind in String.Doc or (kind in Comment and kind not in Comment.Preproc):
            comments.append((line, value.rstrip("\n")))
        elif (
            kind in Name and not any(kind in foreign for foreign in FOREIGN_NAMES) and file.suffix not in WITHOUT_NAMES
        ):
            yield Piece("name", line, value, line)
        line += value.count("\n")
    yield from _joined(comments)


def _message(line: int, text: str, last: int) -> Iterator[Piece]:
    if " " in text.strip():
        yield Piece("message", line, text, last)


def _joined(comments: Iterable[tuple[int, str]]) -> Iterator[Piece]:
    """Comments on consecutive lines as one piece each."""
    whole: Piece | None = None
    for line, text in comments:
        last = line + text.count("\n")
        if whole is not None and line == whole.last + 1:
            whole = replace(whole, text=f"{whole.text}\n{text}", last=last)
            continue
        if whole is not None:
            yield whole
        whole = Piece("comment", line, text, last)
    if whole is not None:
        yield whole
