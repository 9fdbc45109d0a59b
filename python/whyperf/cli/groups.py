"""The words before a command: ten that stand alone, views of a result, and groups of what few need.

The words of earlier versions stand alone, too: `whyperf flow` is `whyperf show --view flow`, and `whyperf simulate` is
`whyperf model simulate`.
"""

from collections.abc import Mapping, Sequence

FIRST = ("run", "why", "watch", "show", "explain", "compare", "report", "export", "list", "doctor")
"""The commands that a reader sees first."""
SHOW = "show"
VIEW = "--view"
VIEWS: Mapping[str, str] = {"flow": "flow", "stages": "flow", "cost": "cost"}
"""The commands that show a part of a result, with arguments and options of their own, by the names of their views."""
GROUPS: Mapping[str, tuple[str, ...]] = {
    "model": ("simulate", "calibrate", "overhead"),
    "site": ("transports", "k8s", "slurm"),
}
"""Commands behind a word."""
ABOUT: Mapping[str, str] = {
    "model": "Simulates hosts, fits the model to this host, and computes the overhead of a link.",
    "site": "Lists what a host can send with, and prints what starts agents on a cluster.",
}
"""The purpose of each word."""


def word_of(command: str) -> str:
    """The command as documents write it."""
    group = next((group for group, members in GROUPS.items() if command in members), None)
    if group is not None:
        return f"{group} {command}"
    return f"{SHOW} {VIEW} {command}" if command in VIEWS.values() else command


def alone(given: Sequence[str]) -> tuple[list[str], str]:
    """A command line that begins with the command itself, and the word that stood before it.

    A view that there is none of is left to `show`, which says so.
    """
    line = list(given)
    if len(line) == 1 and line[0] in GROUPS:
        return [*line, "--help"], ""
    if len(line) > 1 and line[1] in GROUPS.get(line[0], ()):
        return line[1:], line[0]
    if line[:1] != [SHOW]:
        return line, ""
    at = next((at for at, word in enumerate(line) if word == VIEW or word.startswith(f"{VIEW}=")), None)
    if at is None:
        return line, ""
    joined, _, value = line[at].partition("=")
    name = value if joined != line[at] else next(iter(line[at + 1 : at + 2]), "")
    if name not in VIEWS:
        return line, ""
    rest = line[at + (1 if joined != line[at] else 2) :]
    return [VIEWS[name], *line[1:at], *rest], f"{SHOW} {VIEW}"
