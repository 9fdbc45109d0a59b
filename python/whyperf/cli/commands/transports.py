"""`whyperf transports`: the congestion controls and transports of a host."""

from typing import Annotated

import typer
from rich import box
from rich.console import Console
from rich.table import Table

from whyperf.cli.exits import DONE
from whyperf.cli.streams import print_json

NAME = "transports"
EXAMPLE = "Examples: whyperf transports · whyperf transports host7 · whyperf transports --json"

_KINDS = {
    "congestion_control": "Congestion control",
    "quic_congestion_control": "Of QUIC's own",
    "transport": "Transport",
}


def command(
    host: Annotated[str | None, typer.Argument(help="A host as for ssh. Default: this host.")] = None,
    json: Annotated[bool, typer.Option("--json", help="Print as JSON.")] = False,
) -> int:
    """Lists the congestion controls and transports of a host, their source and state."""
    from whyperf import run as running  # noqa: PLC0415 - keeps help and completion quick

    offers = running.list_offers(host)
    if json:
        print_json(offers)
        return DONE
    console = Console(highlight=False, markup=False)
    for kind, heading in _KINDS.items():
        table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
        for name in (heading, "Known as", "Source", "State", "Why"):
            table.add_column(name)
        for offer in offers:
            if offer["kind"] == kind:
                source = offer["source"].replace("_", " ")
                table.add_row(offer["name"], offer["registered_as"], source, offer["state"], offer["reason"])
        console.print(table)
    return DONE
