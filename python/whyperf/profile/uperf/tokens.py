"""The words of a uperf profile, by uperf's own rules: it looks like XML and is none.

uperf 1.0.8, src/parse.c, cuts a file into words at blanks, knows elements and attributes by how a
word begins, and makes everything lower-case. Profiles rely on what follows from that.
"""

import re
from bisect import bisect_right
from dataclasses import dataclass

from whyperf.profile.errors import ProfileError

#: uperf's buffer for a word holds 1024 bytes with the closing NUL.
LONGEST_WORD = 1023

SEPARATORS = "".join(map(chr, range(1, 33)))
#: A word ends at a blank, or behind the first part in quotes.
WORD = re.compile(r'([^\x00-\x20"]*)(?:"([^"]*)("?))?')
#: Only ASCII changes its case, as tolower(3) does in the C locale.
LOWER_CASE = {upper: upper + 32 for upper in range(ord("A"), ord("Z") + 1)}


@dataclass(frozen=True)
class Token:
    """A word, lower-cased, and the line on which it begins, from 1."""

    text: str
    line: int
    #: It ends with a part in quotes, which may be empty.
    is_quoted: bool = False


def in_one_line(text: str) -> str:
    """A text for a message: what cannot be printed, such as a line's end in a variable, as a blank."""
    return "".join(character if character.isprintable() else " " for character in text)


def looks_like_uperf(text: str) -> bool:
    """True where a profile is uperf's: its first character is `<`, with which no TOML begins."""
    return text.lstrip(SEPARATORS + "\ufeff").startswith("<")


def tokenize(text: str, where: str) -> tuple[list[Token], list[str]]:
    """The words of a profile, and what should be known of them.

    Raises:
        ProfileError: naming `where` and the line: a word that is too long, a quote without end.
    """
    if "\0" in text:
        raise ProfileError(where, f"line {text.count(chr(10), 0, text.index(chr(0))) + 1}", _NUL)
    newlines = [position for position, character in enumerate(text) if character == "\n"]
    tokens: list[Token] = []
    notes: list[str] = []
    at = 1 if text.startswith("\ufeff") else 0
    while (at := _past(text, at)) < len(text):
        line = bisect_right(newlines, at - 1) + 1
        end = past_comment(text, at)
        if end is None:
            notes.append(f"{where}: line {line}: the comment never ends, so nothing after it is read, as in uperf.")
            break
        if end == at:
            token, end = _word(text, at, line, where)
            tokens.append(token)
        at = end
    return _merged(tokens), notes


_NUL = "there is a NUL byte, where uperf stops reading; remove it"


def _past(text: str, at: int) -> int:
    """The next position that is no separator."""
    while at < len(text) and text[at] in SEPARATORS:
        at += 1
    return at


def past_comment(text: str, at: int) -> int | None:
    """Where a comment or a `<?…?>` that begins here ends; here if there is none, None if it has no end."""
    for opening, close in (("<!--", "-->"), ("<?", "?>")):
        if text.startswith(opening, at):
            # The closing mark may share characters with the opening one: `<!-->` is a comment.
            found = text.find(close, at + len(opening) - len(close) + 1)
            return None if found < 0 else found + len(close)
    return at


def _word(text: str, at: int, line: int, where: str) -> tuple[Token, int]:
    found = WORD.match(text, at)
    assert found is not None
    bare, quoted, closing = found.groups()
    if quoted is not None and not closing:
        raise ProfileError(where, f"line {line}", 'the quote that opens here is never closed; add a "')
    word = (bare + (quoted or "")).translate(LOWER_CASE).replace("\n", " ").replace("\r", " ")
    if len(word.encode(errors="surrogatepass")) > LONGEST_WORD:
        shown = in_one_line(word[:20])
        problem = f"a word has over {LONGEST_WORD} characters, as {shown}…; is a quote missing before it?"
        raise ProfileError(where, f"line {line}", problem)
    return Token(word, line, quoted is not None), found.end()


def _merged(tokens: list[Token]) -> list[Token]:
    """The words without a lone `>`; with what blanks around `=` or after `<` took apart put together again."""
    merged: list[Token] = []
    for token in tokens:
        if token.text == ">" and not token.is_quoted:
            continue
        before = merged[-1] if merged else None
        if before is not None and _belong_together(before, token):
            merged[-1] = Token(before.text + token.text, before.line, token.is_quoted)
        else:
            merged.append(token)
    return merged


def _belong_together(before: Token, token: Token) -> bool:
    if before.is_quoted:
        return False
    is_value = token.text.startswith("=") and "=" not in before.text
    return is_value or before.text.endswith("=") or before.text in {"<", "</"}
