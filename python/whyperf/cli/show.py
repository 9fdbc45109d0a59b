"""`whyperf show`: the result of an experiment, finished or not."""

from typing import Annotated

import typer

from whyperf.cli import completion

NAME = "show"
EXAMPLE = "Examples: whyperf show · whyperf show results/window-sweep-4f69ee --json"


def command(
    experiment: Annotated[
        str | None,
        typer.Argument(
            help="Its folder, or its name in results/; the latest without.", autocompletion=completion.experiments
        ),
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="The result as JSON.")] = False,
) -> int:
    """Shows what was measured, also while it is being measured."""
    from whyperf.cli.experiments import find_experiment  # noqa: PLC0415 - keeps help and completion quick
    from whyperf.cli.result import tell  # noqa: PLC0415

    return tell(find_experiment(experiment), as_json=json, report=False)
