"""`whyperf report`: write an experiment's report anew."""

from typing import Annotated

import typer

from whyperf.cli.commands.arguments import ExperimentArgument

NAME = "report"
EXAMPLE = "Example: whyperf report results/window-sweep-4f69ee"


def command(
    experiment: ExperimentArgument = None,
    json: Annotated[bool, typer.Option("--json", help="Print the path of the report as JSON.")] = False,
) -> int:
    """Writes the report again (one HTML page without external files) and prints its path."""
    import json as json_format  # noqa: PLC0415

    from whyperf.analyze import summarize  # noqa: PLC0415 - keeps help and completion quick
    from whyperf.cli.inputs.experiments import find_experiment  # noqa: PLC0415
    from whyperf.cli.output.result import verdict  # noqa: PLC0415
    from whyperf.report import write  # noqa: PLC0415

    found = find_experiment(experiment)
    summary = summarize(found)
    path = str(write(found, summary))
    typer.echo(json_format.dumps({"experiment": found.name, "report": path}) if json else path)
    return verdict(summary)
