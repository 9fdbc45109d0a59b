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
    from whyperf.cli.output.verdict import verdict  # noqa: PLC0415
    from whyperf.explain.stored_result import StoredResult, read_result, write_result  # noqa: PLC0415
    from whyperf.record.kept import fingerprint_of  # noqa: PLC0415
    from whyperf.report import write  # noqa: PLC0415

    found = find_experiment(experiment)
    fingerprint = fingerprint_of(found.folder)
    stored = read_result(found.folder, fingerprint)
    summary = summarize(found) if stored is None else stored.summary
    if stored is None:
        write_result(found.folder, StoredResult(summary, None), fingerprint)
    path = str(write(found, summary, fingerprint))
    typer.echo(json_format.dumps({"experiment": found.name, "report": path}) if json else path)
    return verdict(summary)
