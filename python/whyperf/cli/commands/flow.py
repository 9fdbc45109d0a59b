"""`whyperf show --view flow`: the segment flow of a trial, in the terminal and as a page."""

from enum import StrEnum
from typing import Annotated

import typer

from whyperf.cli.commands.arguments import ExperimentArgument

NAME = "flow"
EXAMPLE = (
    "Examples: whyperf show --view flow · whyperf show --view flow results/window-sweep-4f69ee log01-c0003 --host near"
)


class Host(StrEnum):
    """A host, by its side."""

    NEAR = "near"
    FAR = "far"


def command(
    experiment: ExperimentArgument = None,
    trial: Annotated[
        str | None, typer.Argument(help="A trial, such as log01-c0001. Default: the first with a log.")
    ] = None,
    connection: Annotated[int | None, typer.Option(min=0, help="Number of one connection.")] = None,
    host: Annotated[Host | None, typer.Option(help="Only the log of this host.")] = None,
    *,
    json: Annotated[bool, typer.Option("--json", help="Print as JSON.")] = False,
    page: Annotated[bool, typer.Option("--page/--no-page", help="Write the HTML page.")] = True,
) -> int:
    """Shows the segment flow: what was sent and acknowledged, when, and why.

    Prints what each host saw, and writes a page with figures that go down to single segments.
    """
    from whyperf.cli.inputs.experiments import find_experiment, note_origin  # noqa: PLC0415 - keeps help and completion quick
    from whyperf.cli.output.flow import print_flow  # noqa: PLC0415

    found = find_experiment(experiment)
    note_origin(found.folder, is_made_here=found.is_made_here)
    return print_flow(found, trial, connection, None if host is None else host.value, as_json=json, page=page)
