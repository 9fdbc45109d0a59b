"""`whyperf flow`: the segment flow of a trial, in the terminal and as a page."""

from enum import StrEnum
from typing import Annotated

import typer

from whyperf.cli.commands.arguments import ExperimentArgument

NAME = "flow"
EXAMPLE = "Examples: whyperf flow · whyperf flow results/window-sweep-4f69ee log01-c0003 --host near"


class Host(StrEnum):
    """An end, by where it is."""

    NEAR = "near"
    FAR = "far"


def command(
    experiment: ExperimentArgument = None,
    trial: Annotated[str | None, typer.Argument(help="A trial; the first with a log without.")] = None,
    connection: Annotated[int | None, typer.Option(min=0, help="One connection, by its number.")] = None,
    host: Annotated[Host | None, typer.Option(help="What this end saw only.")] = None,
    *,
    json: Annotated[bool, typer.Option("--json", help="The same as JSON.")] = False,
    page: Annotated[bool, typer.Option("--page/--no-page", help="Write the page with the figures.")] = True,
) -> int:
    """Shows what went over the wire, segment by segment, and why acknowledgments left.

    Prints what each host saw, and writes a page with figures that go down to single segments.
    """
    from whyperf.cli.inputs.experiments import find_experiment  # noqa: PLC0415 - keeps help and completion quick
    from whyperf.cli.output.flow import print_flow  # noqa: PLC0415

    found = find_experiment(experiment)
    return print_flow(found, trial, connection, None if host is None else host.value, as_json=json, page=page)
