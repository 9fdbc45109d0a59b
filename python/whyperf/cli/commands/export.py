"""`whyperf export`: the figures of a result as CSV, JSON or Parquet, or a copy of it for sharing."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from whyperf.cli.commands.arguments import ExperimentArgument
from whyperf.cli.exits import DONE

if TYPE_CHECKING:
    from whyperf.record import Experiment

NAME = "export"
EXAMPLE = (
    "Examples: whyperf export --csv > figures.csv · whyperf export results/window-sweep-4f69ee --anonymize --out "
    "for-the-bug-report"
)


def command(
    experiment: ExperimentArgument = None,
    *,
    csv: Annotated[bool, typer.Option("--csv", help="A row for each cell as CSV, as show --csv prints.")] = False,
    json: Annotated[bool, typer.Option("--json", help="The result as JSON, as show --json prints.")] = False,
    parquet: Annotated[bool, typer.Option("--parquet", help="The rows of --csv as a Parquet file.")] = False,
    anonymize: Annotated[
        bool,
        typer.Option(
            "--anonymize",
            help="A copy of the whole result without names of hosts, users, devices and paths, and without addresses.",
        ),
    ] = False,
    out: Annotated[
        Path | None,
        typer.Option(
            help="File, or folder of the copy. Default: standard output, NAME.parquet, or results/anonymized-NAME."
        ),
    ] = None,
) -> int:
    """Writes the figures of a result as CSV, JSON or Parquet, or a copy for sharing.

    The copy has the same figures. The same name has the same pseudonym everywhere.
    """
    from whyperf.cli.exits import UsageError  # noqa: PLC0415 - keeps help and completion quick
    from whyperf.cli.inputs.experiments import find_experiment, note_origin  # noqa: PLC0415

    options = {"--csv": csv, "--json": json, "--parquet": parquet, "--anonymize": anonymize}
    asked = [option for option, is_asked in options.items() if is_asked]
    if len(asked) != 1:
        given = f"{' and '.join(asked)} are {len(asked)} exports" if asked else "what to export is not given"
        raise UsageError(f"{given}; give one of {', '.join(options)}")
    found = find_experiment(experiment)
    note_origin(found.folder, is_made_here=found.is_made_here)
    if anonymize:
        return _anonymized(found, out)
    return _figures(found, asked[0], out)


def _figures(found: "Experiment", option: str, out: Path | None) -> int:
    """Writes the figures into a file, or prints them."""
    from whyperf.cli.output.cells_csv import parquet_bytes, print_csv  # noqa: PLC0415 - as above
    from whyperf.cli.output.result import summary_of  # noqa: PLC0415
    from whyperf.cli.streams import json_text  # noqa: PLC0415
    from whyperf.record import RecordError  # noqa: PLC0415
    from whyperf.record.durable import write_file  # noqa: PLC0415
    from whyperf.record.errors import refuse_exchangeable  # noqa: PLC0415

    summary = summary_of(found)
    path = Path(f"{found.name}.parquet") if out is None and option == "--parquet" else out
    if path is None:
        if option == "--csv":
            print_csv(summary)
        else:
            typer.echo(json_text(summary.model_dump(mode="json"), indent=1))
        return DONE
    try:
        if option == "--parquet" and out is None:
            # Nobody named this file: what others put in its place is neither followed nor kept.
            refuse_exchangeable(path.parent)
            write_file(path, parquet_bytes(summary), in_result=True)
        elif option == "--parquet":
            path.write_bytes(parquet_bytes(summary))
        else:
            with path.open("w", encoding="utf-8") as stream:
                if option == "--csv":
                    print_csv(summary, stream)
                else:
                    stream.write(f"{summary.model_dump_json(indent=1)}\n")
    except OSError as error:
        raise RecordError(f"cannot write {path}: {error.strerror or error}; give another file with --out") from None
    typer.echo(f"Wrote {path}.")
    return DONE


def _anonymized(found: "Experiment", out: Path | None) -> int:
    """Writes the copy for sharing."""
    from whyperf.record.export import export_anonymized  # noqa: PLC0415 - keeps help and completion quick
    from whyperf.record.naming import RESULTS  # noqa: PLC0415

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
