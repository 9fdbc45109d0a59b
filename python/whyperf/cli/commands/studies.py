"""`whyperf studies`: what five published studies show, and whether it holds today."""

from pathlib import Path
from typing import Annotated

import typer

from whyperf.cli.commands import completion

NAME = "studies"
EXAMPLE = (
    "Examples: whyperf studies · whyperf studies gigabit · whyperf studies atm-peaks · "
    "whyperf studies --run atm --dry-run · whyperf studies --run --out results/studies"
)
DEFAULT_FOLDER = Path("results/studies")


def command(
    names: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="STUDY|ENTRY…",
            help="Only these studies (atm, gigabit, transmit, long-paths, adapters) or entries. Default: all.",
            autocompletion=completion.studies,
        ),
    ] = None,
    *,
    run: Annotated[
        bool, typer.Option("--run", help="Run the commands, each once, and compute the verdicts. Resumes.")
    ] = False,
    out: Annotated[
        Path, typer.Option(metavar="FOLDER", help="Folder of the runs, to write with --run and to read without.")
    ] = DEFAULT_FOLDER,
    page: Annotated[
        Path | None, typer.Option("--page", metavar="FILE", help="Write all entries into this Markdown file.")
    ] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Print the commands with their expected duration and run nothing.")
    ] = False,
    json: Annotated[bool, typer.Option("--json", help="Print as JSON.")] = False,
) -> int:
    """Lists the tables, figures and claims of five studies, with a command and a verdict for each.

    Verdicts are computed from the folder of runs: same shape, different shape and why, or cannot be measured here.
    One entry is shown in full, its figures next to those of the study.
    """
    from whyperf.cli.workflows.studies import StudiesRequest, find_studies  # noqa: PLC0415 - keeps help and completion quick

    return find_studies(
        StudiesRequest(
            names=tuple(names or ()),
            run=run,
            out=out,
            is_default_folder=out == DEFAULT_FOLDER,
            page=page,
            dry_run=dry_run,
            as_json=json,
        )
    )
