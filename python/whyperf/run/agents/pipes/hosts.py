"""Names of hosts: which ones a pipe's command may get."""

from whyperf.hosts import is_usable_host
from whyperf.run.errors import Fault, RunError

SHOWN_LENGTH = 40


def refuse_unusable_host(host: str) -> None:
    """Refuses what a pipe's command, or a command of its configuration, could take for anything but a host.

    Names come from command lines and from the plan.json of results that somebody else may have made.

    Raises:
        RunError: it is no name of a host.
    """
    if not is_usable_host(host):
        shown = host if len(host) <= SHOWN_LENGTH else f"{host[:SHOWN_LENGTH]}…"
        raise RunError(f'"{shown}" cannot be a host; give a name or an address as for ssh', Fault.USAGE)
