"""Finds a profile: a shipped name or a path."""

import sys
from pathlib import Path

from whyperf.profile.errors import ProfileError, suggestion
from whyperf.profile.load import load
from whyperf.profile.profile_document import Profile


def shipped_folder() -> Path:
    """The folder of the shipped profiles: next to `python/` in a source tree, else where the wheel put them."""
    in_tree = Path(__file__).resolve().parents[3] / "profiles"
    if in_tree.is_dir() and Path(__file__).resolve().parents[2].name == "python":
        return in_tree
    return Path(sys.prefix) / "share" / "whyperf" / "profiles"


def shipped_names() -> list[str]:
    """The names of the shipped profiles."""
    return sorted(path.stem for path in shipped_folder().glob("*.toml"))


def looks_like_path(argument: str) -> bool:
    """True where an argument can only mean a file."""
    return "/" in argument or argument.endswith((".toml", ".xml"))


def find(argument: str) -> Profile:
    """The profile an argument names: a path where it looks like one, else a shipped profile.

    Raises:
        ProfileError: when there is none, or it cannot be used.
    """
    if looks_like_path(argument):
        if Path(argument).is_dir():
            raise ProfileError(argument, "", "this is a folder; a profile is a TOML file: name one in it")
        if not Path(argument).is_file():
            raise ProfileError(argument, "", "there is no such file; `whyperf list` names the shipped profiles")
        return load(Path(argument))
    if argument not in shipped_names():
        raise ProfileError(
            argument, "", f"there is no shipped profile of this name{suggestion(argument, shipped_names())}"
        )
    return load(shipped_folder() / f"{argument}.toml")
