"""Names of hosts: which ones a pipe's command may get."""

import re

from whyperf.run.errors import Fault, RunError

HOST = re.compile(r"(?:[A-Za-z0-9_][A-Za-z0-9_.%+@-]*@)?[A-Za-z0-9_\[:][A-Za-z0-9_.:%\[\]-]*")
"""What ssh takes as a destination, and nothing that it could take for an option. Pods, containers and nodes fit in."""
MAX_HOST_LENGTH = 320
SHOWN_LENGTH = 40


def is_usable_host(host: str) -> bool:
    """Whether a pipe takes it as a destination, and can take it for nothing else."""
    return len(host) <= MAX_HOST_LENGTH and HOST.fullmatch(host) is not None


def refuse_unusable_host(host: str) -> None:
    """Refuses what a pipe's command, or a command of its configuration, could take for anything but a host.

    Names come from command lines and from the plan.json of results that somebody else may have made.

    Raises:
        RunError: it is no name of a host.
    """
    if not is_usable_host(host):
        shown = host if len(host) <= SHOWN_LENGTH else f"{host[:SHOWN_LENGTH]}…"
        raise RunError(f'"{shown}" cannot be a host; give a name or an address as for ssh', Fault.USAGE)
