"""`whyperf compare`: what changed between results, and in which part of the cost."""

from pathlib import Path
from typing import Annotated

import typer

from whyperf.cli.commands import completion

NAME = "compare"
EXAMPLE = (
    "Examples: whyperf compare results/before results/after · whyperf compare demo:c0001 demo:c0004 · whyperf compare "
    "before after --fail-if 'goodput<0.97' · whyperf compare --run quick --set mtu_bytes=1500 --against mtu_bytes=9000"
)
RUN = "Measure and compare"


def command(
    results: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="RESULT[:CELL]…",
            help="Results to compare with the first, or cells of them, such as results/sweep:c0003.",
            autocompletion=completion.experiments,
        ),
    ] = None,
    functions: Annotated[
        int, typer.Option("--functions", min=0, help="Functions printed of each class, the largest change first.")
    ] = 2,
    fail_if: Annotated[
        list[str] | None,
        typer.Option(
            "--fail-if",
            metavar="CONDITION",
            help="Exit with 3 if the ratio B/A is beyond a limit, such as 'goodput<0.97' or 'copy.sender>1.1', and the "
            "difference is significant. Repeatable.",
        ),
    ] = None,
    report: Annotated[
        Path | None,
        typer.Option("--report", metavar="FILE", help="Write the comparison as an HTML page, such as compare.html."),
    ] = None,
    *,
    json: Annotated[bool, typer.Option("--json", help="Print as JSON, with all functions.")] = False,
    run: Annotated[
        str | None,
        typer.Option(
            "--run",
            metavar="PROFILE|WORKLOAD|HOST",
            help="Measure this under two conditions in turn, then compare them. Without a name: profile quick.",
            autocompletion=completion.profiles,
            rich_help_panel=RUN,
        ),
    ] = None,
    before: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="FACTOR=LEVEL",
            help="A factor of the first condition, A. Repeatable.",
            autocompletion=completion.assignments,
            rich_help_panel=RUN,
        ),
    ] = None,
    after: Annotated[
        list[str] | None,
        typer.Option(
            "--against",
            metavar="FACTOR=LEVEL",
            help="A factor of the second condition, B. Repeatable.",
            autocompletion=completion.assignments,
            rich_help_panel=RUN,
        ),
    ] = None,
    both: Annotated[
        list[str] | None,
        typer.Option(
            "--both",
            metavar="FACTOR=LEVEL,…",
            help="A factor of both conditions. Repeatable.",
            autocompletion=completion.assignments,
            rich_help_panel=RUN,
        ),
    ] = None,
    host: Annotated[
        str | None,
        typer.Option("-H", "--host", metavar="HOST", help="The far host, as for ssh.", rich_help_panel=RUN),
    ] = None,
    time: Annotated[
        str | None,
        typer.Option("-t", "--time", metavar="S", help="Duration of a trial in seconds.", rich_help_panel=RUN),
    ] = None,
    trials: Annotated[
        int | None,
        typer.Option(
            min=1, help="Trials of each condition, in turn. Default: 6, or those of the profile.", rich_help_panel=RUN
        ),
    ] = None,
    only: Annotated[
        list[str] | None,
        typer.Option(
            "--only",
            metavar="FACTOR=LEVEL,…",
            help="Measure only cells with these levels. Repeatable.",
            autocompletion=completion.assignments,
            rich_help_panel=RUN,
        ),
    ] = None,
    files_below: Annotated[
        list[Path] | None,
        typer.Option(
            "--files-below", metavar="FOLDER", help="As of whyperf run: files that may be sent.", rich_help_panel=RUN
        ),
    ] = None,
    evidence: Annotated[
        str | None,
        typer.Option(
            metavar="LEVEL,…",
            help="Evidence, as of whyperf run. Default: counters,profile.",
            autocompletion=completion.evidence,
            rich_help_panel=RUN,
        ),
    ] = None,
    seed: Annotated[int | None, typer.Option(help="Seed of the random order.", rich_help_panel=RUN)] = None,
    out: Annotated[Path | None, typer.Option(help="Folder for the result.", rich_help_panel=RUN)] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Print the plan and measure nothing.", rich_help_panel=RUN)
    ] = False,
) -> int:
    """Compares results: what differs, by how much, whether it is significant, and which functions it costs.

    A is the first result, B the other one; ratios are B/A.
    --run measures both conditions in turn; the same command resumes.
    """
    from whyperf.cli.inputs.compared import CompareRequest, compared  # noqa: PLC0415 - keeps help and completion quick

    return compared(
        CompareRequest(
            results=tuple(results or ()),
            limits=tuple(fail_if or ()),
            functions=functions,
            page=report,
            as_json=json,
            run=run,
            before=tuple(before or ()),
            after=tuple(after or ()),
            both=tuple(both or ()),
            host=host,
            time=time,
            trials=trials,
            only=tuple(only or ()),
            files_below=tuple(files_below or ()),
            evidence=evidence,
            seed=seed,
            out=out,
            dry_run=dry_run,
        )
    )
