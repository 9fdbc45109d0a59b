"""`whyperf export`: a copy of a result for sharing."""

from pathlib import Path
from typing import Annotated

import typer

from whyperf.cli.commands.arguments import ExperimentArgument
from whyperf.cli.exits import DONE

NAME = "export"
EXAMPLE = "Example: whyperf export results/window-sweep-4f69ee --anonymize --out for-the-bug-report"


def command(
    experiment: ExperimentArgument = None,
    *,
    anonymize: Annotated[
        bool,
        typer.Option("--anonymize", help="Replace the names of hosts, users, devices and paths, and all addresses."),
    ] = False,
    out: Annotated[Path | None, typer.Option(help="New folder for the copy. Default: results/anonymized-NAME.")] = None,
) -> int:
    """Writes a copy of a result for sharing, without what identifies hosts and people.

    The copy has the same figures. The same name has the same pseudonym everywhere.
    """
    from whyperf.cli.exits import UsageError  # noqa: PLC0415 - keeps help and completion quick
    from whyperf.cli.inputs.experiments import find_experiment  # noqa: PLC0415
    from whyperf.record.export import export_anonymized  # noqa: PLC0415
    from whyperf.record.naming import RESULTS  # noqa: PLC0415

    if not anonymize:
        raise UsageError("export writes anonymized copies only; add --anonymize, or copy the folder with `cp -r`")
    found = find_experiment(experiment)
    done = export_anonymized(found, RESULTS / f"anonymized-{found.plan.id[:6]}" if out is None else out)
    replaced = ", ".join(f"{number:,} {_noun(kind, number)}" for kind, number in done.replaced.items())
    typer.echo(f"Wrote {done.folder}. Replaced: {replaced or 'nothing'}.")
    if done.left_out:
        typer.echo(f"Left out: {', '.join(done.left_out)}.")
    typer.echo(
        "Not changed: figures, times, kernel version, CPU model, drivers, settings, and the names of workloads, sweeps "
        "and groups. Check those before you share the copy."
    )
    return DONE


def _noun(kind: str, number: int) -> str:
    if number == 1:
        return kind
    return kind + ("es" if kind.endswith("s") else "s")
