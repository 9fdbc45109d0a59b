"""`whyperf site transports`: the congestion controls and transports of a host."""

from typing import Annotated

import typer

from whyperf.cli.exits import DONE
from whyperf.cli.streams import print_json

NAME = "transports"
EXAMPLE = "Examples: whyperf site transports · whyperf site transports host7 · whyperf site transports --json"


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
    from whyperf.cli.output.host import print_offers  # noqa: PLC0415

    print_offers(offers)
    return DONE
