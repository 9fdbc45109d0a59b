"""`whyperf explain`: where the time went, why, and what to change."""

from typing import Annotated

import typer

from whyperf.cli import completion

NAME = "explain"
EXAMPLE = (
    "Examples: whyperf explain · whyperf explain results/window-sweep-4f69ee --cell c0003 · whyperf explain --json"
)


def command(
    experiment: Annotated[
        str | None,
        typer.Argument(
            help="Its folder, or its name in results/; the latest without.", autocompletion=completion.experiments
        ),
    ] = None,
    trial: Annotated[
        str | None, typer.Argument(help="One trial, such as log01-c0001; of each cell the best without.")
    ] = None,
    cell: Annotated[str | None, typer.Option(help="One cell, such as c0003.")] = None,
    *,
    json: Annotated[bool, typer.Option("--json", help="The same as JSON, with budgets and all evidence.")] = False,
) -> int:
    """Says why the rate is what it is, on what evidence, and what to change.

    Of a sweep the cells are told in a line each; --cell tells one in full.
    """
    from whyperf.cli.experiments import find_experiment  # noqa: PLC0415 - keeps help and completion quick
    from whyperf.cli.explained import tell_explanation  # noqa: PLC0415

    return tell_explanation(find_experiment(experiment), trial, cell, as_json=json)
