"""What a profile can have wrong, in one sentence."""

from collections.abc import Iterable, Sequence
from difflib import get_close_matches


class ProfileError(Exception):
    """A profile, or an option that changes one, cannot be used.

    The text is one sentence: where (a file and a key, or an option), what is wrong, the remedy.
    """

    def __init__(self, where: str, key: str, problem: str) -> None:
        """Joins the parts; `where` or `key` may be empty."""
        self.where = where
        self.key = key
        self.problem = problem
        super().__init__(": ".join(part for part in (where, key, problem) if part))

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


def suggestion(word: str, known: Iterable[str], *, listed_by: str = "") -> str:
    """`; did you mean X?` when a known word is near, else the known words, or the command that lists them."""
    names = sorted(known)
    near = [known_word for known_word in names if len(word) > 1 and known_word.startswith(word)]
    near = near[:1] or get_close_matches(word, names, n=1)
    if near:
        return f"; did you mean {near[0]}?"
    if listed_by:
        return f"; `{listed_by}` lists what there is"
    return f"; known: {', '.join(names)}" if names else ""
