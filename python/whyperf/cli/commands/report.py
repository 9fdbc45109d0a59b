"""`whyperf report`: write an experiment's report anew."""

from pathlib import Path
from typing import Annotated

import typer

from whyperf.cli.commands.arguments import ExperimentArgument
from whyperf.cli.exits import DONE, say

NAME = "report"
EXAMPLE = "Examples: whyperf report results/window-sweep-4f69ee · whyperf report --model calibrated.toml"


def command(
    experiment: ExperimentArgument = None,
    model: Annotated[
        Path | None,
        typer.Option(
            help="A calibrated host (whyperf model calibrate), whose processing times are drawn next to those measured."
        ),
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Print the path of the report as JSON.")] = False,
) -> int:
    """Writes the report again (one HTML page without external files) and prints its path."""
    import json as json_format  # noqa: PLC0415

    from whyperf.analyze import summarize  # noqa: PLC0415 - keeps help and completion quick
    from whyperf.cli.inputs.experiments import find_experiment, note_origin  # noqa: PLC0415
    from whyperf.cli.output.verdict import verdict  # noqa: PLC0415
    from whyperf.explain.store import StoredResult, read_result, write_result  # noqa: PLC0415
    from whyperf.record.kept import fingerprint_of  # noqa: PLC0415
    from whyperf.report import write  # noqa: PLC0415

    found = find_experiment(experiment)
    note_origin(found.folder, is_made_here=found.is_made_here)
    fingerprint = fingerprint_of(found.folder)
    stored = read_result(found.folder, fingerprint)
    summary = summarize(found) if stored is None else stored.summary
    if stored is None:
        write_result(found.folder, StoredResult(summary, None, found.is_made_here), fingerprint)
    host = None
    if model is not None:
        from whyperf.calibrate import read_host  # noqa: PLC0415

        host = read_host(model)
    path = str(write(found, summary, fingerprint, host))
    typer.echo(json_format.dumps({"experiment": found.name, "report": path}) if json else path)
    if (code := verdict(summary)) != DONE:
        say("Some trial has no result, so the exit code is not 0; `whyperf show` names it")
    return code
