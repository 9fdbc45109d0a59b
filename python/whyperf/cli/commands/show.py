"""`whyperf show`: the result of an experiment, finished or not."""

from dataclasses import replace
from typing import Annotated

import typer

from whyperf.cli.commands.arguments import ExperimentArgument
from whyperf.cli.output.formats import Format, output_format

NAME = "show"
EXAMPLE = "Examples: whyperf show · whyperf show results/window-sweep-4f69ee --json"


def command(  # noqa: PLR0917 - typer fills them by name
    experiment: ExperimentArgument = None,
    json: Annotated[bool, typer.Option("--json", help="Print the result as JSON.")] = False,
    csv: Annotated[
        bool, typer.Option("--csv", help="Print a row for each cell as CSV: factors and figures, with units.")
    ] = False,
    format_: Annotated[
        Format | None,
        typer.Option("--format", help="Output format; uperf prints the lines of uperf, for programs that parse them."),
    ] = None,
    interval: Annotated[
        str | None, typer.Option("-i", "--interval", metavar="S", help="Seconds between lines of --format uperf.")
    ] = None,
    per_stream: Annotated[
        bool,
        typer.Option(
            "--per-stream", help="Print a line for each connection, up to 16: goodput, retransmissions and RTT."
        ),
    ] = False,
    all_warnings: Annotated[
        bool, typer.Option("--warnings", help="Print all warnings, not only the first two.")
    ] = False,
) -> int:
    """Prints a result, finished or still running."""
    from whyperf.cli.inputs.experiments import find_folder  # noqa: PLC0415 - keeps help and completion quick
    from whyperf.cli.output.result import print_result, print_stored  # noqa: PLC0415

    output = replace(
        output_format(json=json, format_=format_, interval=interval, csv=csv),
        all_warnings=all_warnings,
        per_stream=per_stream,
    )
    # For programs, `whyperf explain --json` has it.
    folder, explain = find_folder(experiment), not output.is_for_programs
    code = print_stored(folder, output, explain=explain)
    if code is not None:
        return code
    from whyperf.record import Experiment  # noqa: PLC0415 - as above

    return print_result(Experiment.open(folder), output, report=False, explain=explain)
