"""`whyperf-lab keep`: keeps what was seen of a judged set, to fit weights on after its record is gone."""

import re
from pathlib import Path
from typing import Annotated

import typer

from whyperf.cli.exits import DONE, UsageError, say

NAME = "keep"
EXAMPLE = "Examples: whyperf-lab keep results/situations-4711 --name 4711 · whyperf-lab fit"


def command(
    source: Annotated[Path, typer.Argument(metavar="FOLDER", help="A result of situations or truth --watch.")],
    name: Annotated[str | None, typer.Option(help="Name of the set; that of FOLDER if none is given.")] = None,
) -> None:
    """Keep what the limits see of a judged set in lab/sets, where fit and the tests read it."""
    from lab.situations.evidence import JUDGED, SETS, SUFFIX, WATCHED, keep  # noqa: PLC0415 - polars loads for long

    if not any((source / each).is_file() for each in (JUDGED, WATCHED)):
        raise UsageError(
            f"{source} has no {JUDGED}; name a result of whyperf-lab situations, or of whyperf-lab truth --watch"
        )
    name = source.resolve().name if name is None else name
    if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9_-]*", name):
        raise UsageError(f"--name {name}: take letters, digits, hyphens and underscores, such as 4711")
    file = SETS / f"{name}{SUFFIX}"
    SETS.mkdir(exist_ok=True)
    is_new = not file.exists()
    count = keep(source, file)
    size = f"{file.stat().st_size / 1000:.0f} kB"
    say(f"{'Wrote' if is_new else 'Replaced'} {file}: {count} trials and levels, {size}. Now run make accuracy")
    raise typer.Exit(DONE)
