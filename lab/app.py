"""The command line of the laboratory: the same way of answering as that of whyperf, with commands that judge it."""

import sys
from collections.abc import Sequence
from functools import cache
from typing import Any

import typer

from lab.situations import command as situations
from lab.situations import fit_command as fit
from lab.situations import keep_command as keep
from lab.situations import reports
from lab.tools import command as tools
from lab.truth import command as truth
from whyperf.cli.app import answered, refusal
from whyperf.cli.command_classes import QuickCommand, QuickGroup

NAME = "whyperf-lab"
app = typer.Typer(
    name=NAME,
    cls=QuickGroup,
    add_completion=False,
    help="Judges whyperf: counts how often its diagnosis is correct, and runs other tools next to it.",
    epilog="Example: whyperf-lab truth --short",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
VERBS = {verb.NAME: verb for verb in (situations, reports, keep, fit, truth, tools)}
for name, verb in VERBS.items():
    app.command(name=name, cls=QuickCommand, epilog=verb.EXAMPLE)(verb.command)


@app.callback()
def _options() -> None:
    """With it, typer asks for the name of a command even where there is only one."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the command line; returns the exit code, as `whyperf` does."""
    return answered(NAME, list(sys.argv[1:] if arguments is None else arguments), _run, _usage)


@cache
def _command() -> Any:
    return typer.main.get_command(app)


def _run(given: list[str]) -> Any:
    return _command()(args=given or ["--help"], prog_name=NAME, standalone_mode=False)


def _usage(error: Exception, given: Sequence[str]) -> str:
    message = refusal(error).partition(". Did you mean")[0]
    path = f"{NAME} {given[0]}" if given and given[0] in VERBS else NAME
    return f"{message[:1].lower()}{message[1:]}; see `{path} --help`"
