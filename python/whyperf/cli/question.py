"""What the argument of `whyperf run` means: a profile or a host."""

import re
from difflib import get_close_matches
from pathlib import Path

from whyperf.cli.exits import UsageError
from whyperf.profile import Profile, find, looks_like_path, shipped_names

QUICK = "quick"
#: What ssh takes as a destination, and nothing it could take for an option.
HOST = re.compile(r"[A-Za-z0-9_\[:][A-Za-z0-9_.:@%\[\]-]*")


def understand(argument: str | None, host: str | None) -> tuple[Profile, str | None]:
    """The profile to run and the far host, None for the embedded testbed.

    A path or a shipped name is a profile; anything else is a host to measure with the profile
    `quick`, unless it looks like a misspelled profile.

    Raises:
        UsageError: neither, or an ambiguous word.
        ProfileError: a profile that cannot be used.
    """
    if host is not None and not HOST.fullmatch(host):
        raise UsageError(f'"{host}" cannot be a host; give a name or an address as for ssh')
    if argument is None:
        return find(QUICK), host
    if Path(argument).is_dir() and (Path(argument) / "plan.json").exists():
        raise UsageError(
            f"{argument} holds results; `whyperf show {argument}` shows them, and the command that made them resumes"
        )
    if looks_like_path(argument) or argument in shipped_names():
        return find(argument), host
    if host is not None:
        return find(argument), host
    near = get_close_matches(argument.lower(), shipped_names(), n=1, cutoff=0.75)
    if near:
        raise UsageError(
            f'there is no profile "{argument}"; did you mean {near[0]}? (a host of that name: --host {argument})'
        )
    if not HOST.fullmatch(argument):
        raise UsageError(f'"{argument}" is neither a profile nor a host; `whyperf list` names the profiles')
    return find(QUICK), argument
