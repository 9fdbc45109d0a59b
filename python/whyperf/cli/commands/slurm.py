"""`whyperf site slurm script`: a job that measures between its nodes."""

from enum import StrEnum
from typing import Annotated

import typer

from whyperf.cli.command_classes import BEHIND
from whyperf.cli.exits import DONE

NAME = "slurm"
EXAMPLE = (
    "Examples: whyperf site slurm script --from 'node[1-15]' --to node16 -- bulk --pattern fan-in > job.sh · "
    "whyperf site slurm script --clients 15 --servers 1 --minutes 20 -- -t 30 --trials 5"
)


class What(StrEnum):
    """The choice of what is printed."""

    SCRIPT = "script"


def command(  # noqa: PLR0917 - typer fills them by name
    context: typer.Context,
    what: Annotated[What, typer.Argument(metavar="script", help="Print the job script.")],  # noqa: ARG001 - one choice
    from_nodes: Annotated[
        str | None,
        typer.Option("--from", metavar="SET", help="Client nodes, such as node[1-15]. Default: Slurm chooses."),
    ] = None,
    to_nodes: Annotated[
        str | None, typer.Option("--to", metavar="SET", help="Server nodes, such as node16. Default: Slurm chooses.")
    ] = None,
    clients: Annotated[
        int | None, typer.Option("--clients", min=1, metavar="N", help="Number of client nodes, without --from (1).")
    ] = None,
    servers: Annotated[
        int | None, typer.Option("--servers", min=1, metavar="N", help="Number of server nodes, without --to (1).")
    ] = None,
    minutes: Annotated[
        int, typer.Option("--minutes", min=2, metavar="N", help="Time limit of the job; it is stopped a minute before.")
    ] = 30,
    partition: Annotated[str | None, typer.Option("--partition", metavar="NAME", help="Partition of the job.")] = None,
    account: Annotated[str | None, typer.Option("--account", metavar="NAME", help="Account of the job.")] = None,
    sbatch: Annotated[
        list[str] | None,
        typer.Option("--sbatch", metavar="OPTION", help="A further option of sbatch, such as --qos=long. Repeatable."),
    ] = None,
) -> int:
    """Prints a job script for sbatch that measures between the nodes of the job; options of run are behind --."""
    from whyperf.cli.inputs.sites import job_of  # noqa: PLC0415 - keeps help and completion quick
    from whyperf.sites.slurm import script  # noqa: PLC0415

    job = job_of(
        from_nodes=from_nodes,
        to_nodes=to_nodes,
        clients=clients,
        servers=servers,
        minutes=minutes,
        partition=partition,
        account=account,
        directives=sbatch or (),
        run=context.meta.get(BEHIND) or (),
    )
    typer.echo(script(job), nl=False)
    return DONE
