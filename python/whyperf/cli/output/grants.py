"""Prints the commands of `whyperf doctor --grant`."""

from whyperf.cli.output.console import Console
from whyperf.run.grants import GROUP, INSTALLED, Grant, Grants

_STATES = {"allowed": "allowed", "missing": "not allowed", "impossible": "not possible here"}


def print_grants(grants: Grants) -> None:
    """The commands by level, to copy."""
    console = Console(highlight=False, markup=False, soft_wrap=False)
    console.print(
        f"Commands for an administrator of this host. whyperf does not run them. They let members of the group {GROUP} "
        "collect evidence without root."
    )
    for grant in grants.levels:
        console.print()
        console.print(f"Level {grant.level}: {_STATES[grant.state]}. {_sentence(grant)}")
        for command in grant.commands:
            # A command is copied whole, so it is never wrapped.
            console.print(f"  {command}", soft_wrap=True)
    if any(INSTALLED in command for grant in grants.levels for command in grant.commands):
        console.print()
        console.print("Then log in again, and let whyperf use that agent on this host:")
        console.print(f"  export WHYPERF_AGENT={INSTALLED}", soft_wrap=True)
    if grants.undo:
        console.print()
        console.print("To take it back:")
        for command in grants.undo:
            console.print(f"  {command}", soft_wrap=True)


def _sentence(grant: Grant) -> str:
    return f"{grant.reason[:1].upper()}{grant.reason[1:]}."
