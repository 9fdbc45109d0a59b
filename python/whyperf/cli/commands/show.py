"""`whyperf show`: the result of an experiment, finished or not."""

from dataclasses import replace
from typing import Annotated

import typer

from whyperf.cli.commands import completion
from whyperf.cli.commands.arguments import ExperimentArgument, WindowForOption
from whyperf.cli.exits import UsageError
from whyperf.cli.groups import VIEW, VIEWS
from whyperf.cli.output.formats import Format, output_format, window_rate

NAME = "show"
EXAMPLE = (
    "Examples: whyperf show · whyperf show results/window-sweep-4f69ee --json · "
    "whyperf show results/window-sweep-4f69ee --view flow"
)


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
    all_notes: Annotated[
        bool, typer.Option("--notes", "--warnings", help="Print all warnings and notes, not only the first of each.")
    ] = False,
    window_for: WindowForOption = None,
    view: Annotated[
        str | None,
        typer.Option(
            VIEW,
            metavar="VIEW",
            autocompletion=completion.views,
            help="Show a part of the result: flow (segments), stages (processing times) or cost (functions). Each has "
            "options of its own: whyperf show --view flow --help.",
        ),
    ] = None,
) -> int:
    """Prints a result, finished or still running; with --view its segments, processing times or functions."""
    if view is not None:
        # Those that exist were called already (`groups.alone`).
        raise UsageError(f"there is no view {view}; --view takes {', '.join(VIEWS)}")
    from whyperf.cli.inputs.experiments import find_folder, note_origin  # noqa: PLC0415 - keeps help and completion quick
    from whyperf.cli.output.result import print_result, print_stored  # noqa: PLC0415

    output = replace(
        output_format(json=json, format_=format_, interval=interval, csv=csv),
        all_notes=all_notes,
        window_for_bps=window_rate(window_for),
        per_stream=per_stream,
    )
    # For programs, `whyperf explain --json` has it.
    folder, explain = find_folder(experiment), not output.is_for_programs
    code = print_stored(folder, output, explain=explain)
    if code is not None:
        return code
    from whyperf.record import Experiment  # noqa: PLC0415 - as above

    found = Experiment.open(folder)
    note_origin(folder, is_made_here=found.is_made_here)
    return print_result(found, output, report=False, explain=explain)
