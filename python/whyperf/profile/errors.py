"""Mistakes that a profile can have, in one sentence."""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from difflib import get_close_matches
from typing import TypeVar

from whyperf.foreign import visible

T = TypeVar("T")

#: Names that have the wrong one as a part.
MAX_SUGGESTED = 3


class ProfileError(Exception):
    """A profile, or an option that changes one, cannot be used.

    The text is one sentence: where (a file and a key, or an option), what is wrong, the remedy.
    """

    def __init__(self, where: str, key: str, problem: str) -> None:
        """Joins the parts; `where` or `key` may be empty."""
        self.where = where
        self.key = key
        self.problem = problem
        super().__init__(visible(": ".join(part for part in (where, key, problem) if part)))

    def at(self, where: str, key: str = "") -> "ProfileError":
        """The same problem found at a place known only further out."""
        joined = ".".join(part for part in (key, self.key) if part)
        return ProfileError(where or self.where, joined, self.problem)


class JoinedProfileError(ProfileError):
    """Several mistakes of one profile; the text has a line for each."""

    def __init__(self, errors: Sequence[ProfileError]) -> None:
        """`errors` are at least two."""
        self.errors = tuple(errors)
        super().__init__(errors[0].where, errors[0].key, errors[0].problem)
        self.args = ("\n".join(map(str, errors)),)

    def at(self, where: str, key: str = "") -> "JoinedProfileError":
        """The same mistakes found at a place known only further out."""
        return JoinedProfileError([error.at(where, key) for error in self.errors])


def joined(errors: Sequence[ProfileError]) -> ProfileError:
    """One error for all of them."""
    return errors[0] if len(errors) == 1 else JoinedProfileError(errors)


def gathered(parts: Iterable[Callable[[], T]]) -> list[T]:
    """Collects what all `parts` return.

    Raises:
        ProfileError: with the mistakes of all parts.
    """
    found: list[T] = []
    wrong: list[ProfileError] = []
    for part in parts:
        try:
            found.append(part())
        except ProfileError as error:
            wrong.append(error)
    if wrong:
        raise joined([each for error in wrong for each in getattr(error, "errors", (error,))])
    return found


def repeated(names: Iterable[str]) -> str | None:
    """The first name that is there more than once; a file of somebody else may have any number of them."""
    return next((name for name, number in Counter(names).items() if number > 1), None)


def near_names(word: str, known: Iterable[str]) -> list[str]:
    """The known names that a word may mean: those that it is a part of, or the one of similar letters."""
    names = sorted(known)
    # A part of a name is nearer than a name of similar letters.
    near = [name for name in names if len(word) > 1 and name.startswith(word)]
    near += sorted((name for name in names if len(word) > 2 and f"_{word}_" in f"{name}_"), key=len)
    near = near[:MAX_SUGGESTED] or [name for name in names if word.startswith(f"{name}_")]
    return near or get_close_matches(word, names, n=1)


def suggestion(word: str, known: Iterable[str], *, listed_by: str = "") -> str:
    """`; did you mean X?` when a known word is near, else the known words, or the command that lists them."""
    names = sorted(known)
    near = near_names(word, names)
    if near:
        *others, last = near
        return f"; did you mean {', '.join(others)}{' or ' if others else ''}{last}?"
    if listed_by:
        return f"; `{listed_by}` lists what there is"
    return f"; known: {', '.join(names)}" if names else ""
