"""`whyperf show --view cost`: where the cycles per KByte went, by class and by function."""

from pathlib import Path
from typing import Annotated

import typer

from whyperf.cli.commands.arguments import ExperimentArgument

NAME = "cost"
EXAMPLE = (
    "Examples: whyperf run -t 10 --evidence profile · whyperf show --view cost · "
    "whyperf show --view cost results/quick c0003 --functions 10"
)


def command(
    experiment: ExperimentArgument = None,
    cell: Annotated[str | None, typer.Argument(help="One cell, such as c0003. Default: all.")] = None,
    functions: Annotated[
        int, typer.Option("--functions", min=0, help="Functions printed of each class, the costliest first.")
    ] = 3,
    folded: Annotated[
        Path | None,
        typer.Option(
            "--folded", metavar="FILE", help="Write the stacks as folded lines, for programs of flame graphs."
        ),
    ] = None,
    pprof: Annotated[
        Path | None,
        typer.Option("--pprof", metavar="FILE", help="Write the stacks as a profile for pprof, such as cost.pb.gz."),
    ] = None,
    *,
    json: Annotated[bool, typer.Option("--json", help="Print as JSON, with all functions.")] = False,
) -> int:
    """Shows which functions the cycles per KByte go to.

    Needs stack samples: `whyperf run … --evidence profile`.
    """
    from whyperf.cli.inputs.experiments import find_experiment, note_origin  # noqa: PLC0415 - keeps help and completion quick
    from whyperf.cli.output.cost import print_cost, write_folded, write_pprof  # noqa: PLC0415

    found = find_experiment(experiment)
    note_origin(found.folder, is_made_here=found.is_made_here)
    if folded is not None:
        return write_folded(found, cell, folded)
    if pprof is not None:
        return write_pprof(found, cell, pprof)
    return print_cost(found, cell, functions, as_json=json)
