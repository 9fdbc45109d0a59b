"""`whyperf model simulate`: the same experiment on the model of two end systems."""

from pathlib import Path
from typing import Annotated

import typer

from whyperf.cli.commands import completion
from whyperf.cli.commands.arguments import ClusterOption, WithoutKeysOption
from whyperf.cli.output.formats import output_format

NAME = "simulate"
EXAMPLE = (
    "Examples: whyperf model simulate window-sweep --hosts sparc2+sba-100@2.2.6 --only sweep=throughput --trials 3 · "
    "whyperf model simulate rr --hosts sparc10+sba-100@2.2.6,sparc2+sba-100@2.2.6 · whyperf model simulate first-study"
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
            help="Hosts of the model: MACHINE+ADAPTER@DRIVER (whyperf list --hosts) or a TOML file. One for both "
            "hosts, or first the sender, then the receiver.",
        ),
    ] = None,
    link: Annotated[
        str | None,
        typer.Option(help="Link between the hosts, such as ethernet-1G. Default: the link of their adapters."),
    ] = None,
    time: Annotated[
        str | None, typer.Option("-t", "--time", metavar="S", help="Duration in simulated seconds.")
    ] = None,
    assignments: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="FACTOR=LEVEL",
            help="Set any factor (whyperf list --factors). Repeatable.",
            autocompletion=completion.assignments,
        ),
    ] = None,
    only: Annotated[
        list[str] | None,
        typer.Option(
            "--only", metavar="FACTOR=LEVEL,…", help="Simulate only cells with these levels, or sweep=NAME. Repeatable."
        ),
    ] = None,
    trials: Annotated[int | None, typer.Option(help="Trials per cell.")] = None,
    log: Annotated[
        bool, typer.Option("--log", help="Log every segment, in one separate trial per cell, for --view flow.")
    ] = False,
    seed: Annotated[
        int | None, typer.Option(help="Seed of the order, of the phases of timers and of random deviations.")
    ] = None,
    change: Annotated[
        str | None,
        typer.Option(
            "--what-if",
            metavar="CHANGE,…",
            help="Predict the effect of a change on a calibrated host, such as window=256k,offload=off.",
        ),
    ] = None,
    cluster: ClusterOption = "none",
    cluster_without_keys: WithoutKeysOption = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Print the plan and simulate nothing.")] = False,
    out: Annotated[Path | None, typer.Option(help="Folder for the result.")] = None,
    json: Annotated[bool, typer.Option("--json", help="Print the result as JSON.")] = False,
) -> int:
    """Simulates an experiment on the model and reports. The same command resumes an interrupted run."""
    # Imported here, so that help and completion stay quick.
    from whyperf.cli.inputs.overrides import overrides  # noqa: PLC0415

    if change is not None:
        if cluster != "none":
            from whyperf.cli.exits import UsageError  # noqa: PLC0415 - as below

            raise UsageError("--what-if asks the model a few questions, and needs no --cluster; leave it out")
        from whyperf.cli.workflows.what_if import what_if  # noqa: PLC0415 - as below

        levels = overrides({"duration_s": time}, assignments or ())
        return what_if(question, hosts, change, only=only or (), overrides=levels, as_json=json)
    from whyperf.cli.workflows.simulate import Order, simulate  # noqa: PLC0415
    from whyperf.cluster import choice_of  # noqa: PLC0415

    return simulate(
        Order(
            question=question,
            overrides=overrides({"hosts": hosts, "link": link, "duration_s": time}, assignments or ()),
            only=tuple(only or ()),
            trials=trials,
            wants_log=log,
            seed=seed,
            dry_run=dry_run,
            out=out,
            output=output_format(json=json, format_=None, interval=None),
            cluster=choice_of(cluster, without_keys=cluster_without_keys),
        )
    )
