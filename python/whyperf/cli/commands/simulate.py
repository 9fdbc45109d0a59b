"""`whyperf simulate`: the same experiment on the model of two end systems."""

from pathlib import Path
from typing import Annotated

import typer

from whyperf.cli.commands import completion
from whyperf.cli.inputs.overrides import overrides
from whyperf.cli.output.formats import output_format

NAME = "simulate"
EXAMPLE = (
    "Examples: whyperf simulate window-sweep --hosts sparc2+sba-100@2.2.6 --only sweep=throughput --trials 3 · "
    "whyperf simulate rr --hosts sparc10+sba-100@2.2.6,sparc2+sba-100@2.2.6 · whyperf simulate first-study"
)


def command(  # noqa: PLR0917 - typer fills them by name
    question: Annotated[
        str,
        typer.Argument(
            metavar="PROFILE|WORKLOAD",
            help="A shipped profile or workload (see whyperf list), or a TOML file.",
            autocompletion=completion.profiles,
        ),
    ],
    hosts: Annotated[
        str | None,
        typer.Option(
            metavar="HOST[,HOST]",
            help="Hosts of the model: MACHINE+ADAPTER@DRIVER or the path of a TOML file; one for both hosts, or the "
            "writer's and the reader's.",
        ),
    ] = None,
    link: Annotated[
        str | None, typer.Option(help="Link between them, such as ethernet-1G; what their adapters are made for.")
    ] = None,
    assignments: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="FACTOR=LEVEL",
            help="Sets any factor (whyperf list --factors); repeatable.",
            autocompletion=completion.assignments,
        ),
    ] = None,
    only: Annotated[
        list[str] | None,
        typer.Option("--only", metavar="FACTOR=LEVEL,…", help="Only cells with these levels, or sweep=NAME."),
    ] = None,
    trials: Annotated[int | None, typer.Option(help="Trials of every cell.")] = None,
    log: Annotated[
        bool, typer.Option("--log", help="Log every segment in a trial of its own of each cell, for whyperf flow.")
    ] = False,
    seed: Annotated[int | None, typer.Option(help="Seed of the order, of timers' phases and of deviations.")] = None,
    change: Annotated[
        str | None,
        typer.Option(
            "--what-if",
            metavar="CHANGE,…",
            help="What a change would bring on a calibrated host (whyperf calibrate), such as window=256k,offload=off.",
        ),
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Print the plan, do nothing.")] = False,
    out: Annotated[Path | None, typer.Option(help="Folder of the results.")] = None,
    json: Annotated[bool, typer.Option("--json", help="The result as JSON on standard output.")] = False,
) -> int:
    """Simulates and reports; started again after an interruption, it resumes."""
    if change is not None:
        from whyperf.cli.workflows.what_if import what_if  # noqa: PLC0415 - as below

        levels = overrides({}, assignments or ())
        return what_if(question, hosts, change, only=only or (), overrides=levels, as_json=json)
    # Imported here, so that help and completion stay quick.
    from whyperf.cli.workflows.simulate import Order, simulate  # noqa: PLC0415

    return simulate(
        Order(
            question=question,
            overrides=overrides({"hosts": hosts, "link": link}, assignments or ()),
            only=tuple(only or ()),
            trials=trials,
            wants_log=log,
            seed=seed,
            dry_run=dry_run,
            out=out,
            output=output_format(json=json, format_=None, interval_s=None),
        )
    )
