"""The meaning of a command's arguments: profiles, hosts, experiments, overridden factors."""

from pathlib import Path

from whyperf.cli.exits import say


def say_what_is_taken(name: str, meaning: str) -> None:
    """Where a file or folder in the working directory has a bare name, too: what the name means, and how to name it."""
    if Path(name).exists():
        kind = "folder" if Path(name).is_dir() else "file"
        say(f"{name} means {meaning}; for the {kind} of that name give ./{name}")
