"""`whyperf list`: the shipped profiles, the workloads, the schedules, the factors, and the hosts of the model."""

from typing import Annotated

import typer

from whyperf.cli.exits import DONE
from whyperf.cli.streams import print_json

NAME = "list"
EXAMPLE = (
    "Examples: whyperf list · whyperf list --all · whyperf list --workloads · "
    "whyperf list --schedules · whyperf list --hosts"
)


def command(  # noqa: PLR0917 - typer fills them by name
    all_: Annotated[
        bool, typer.Option("--all", help="List all profiles, with those of the studies, and all workloads.")
    ] = False,
    factors: Annotated[bool, typer.Option("--factors", help="List the factors: what a profile can set.")] = False,
    workloads: Annotated[
        bool, typer.Option("--workloads", help="List the workloads: what an application does.")
    ] = False,
    schedules: Annotated[
        bool, typer.Option("--schedules", help="List the schedules: when flows start and stop.")
    ] = False,
    hosts: Annotated[
        bool, typer.Option("--hosts", help="List the hosts of the model: what --hosts of simulate and truth can name.")
    ] = False,
    json: Annotated[bool, typer.Option("--json", help="Print as JSON.")] = False,
) -> int:
    """Lists the profiles and workloads that most people run; with an option, all of a kind.

    --json lists all profiles.
    """
    from whyperf.cli.output.lists import List, print_common, print_lists, rows_of  # noqa: PLC0415 - keeps help and completion quick

    wanted = {List.FACTORS: factors, List.WORKLOADS: workloads, List.SCHEDULES: schedules, List.HOSTS: hosts}
    kind = next((kind for kind, is_wanted in wanted.items() if is_wanted), List.PROFILES)
    if json:
        print_json(rows_of(kind))
    elif kind is List.PROFILES and all_:
        print_lists(List.PROFILES, List.WORKLOADS)
    elif kind is List.PROFILES:
        print_common()
    else:
        print_lists(kind)
    return DONE
