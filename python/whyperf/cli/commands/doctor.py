"""`whyperf doctor`: what a host allows, and what killed runs left."""

import json as json_format
from typing import Annotated, Any

import typer

from whyperf.cli.exits import DONE
from whyperf.cli.streams import print_json

NAME = "doctor"
EXAMPLE = "Examples: whyperf doctor · whyperf doctor host7 · whyperf doctor --clean · whyperf doctor --grant"

USUAL_PAIRS = 15


def command(  # noqa: PLR0917 - typer fills them by name
    host: Annotated[str | None, typer.Argument(help="A host as for ssh. Default: this host.")] = None,
    clean: Annotated[bool, typer.Option("--clean", help="Remove what killed runs left on this host.")] = False,
    probe_cost: Annotated[
        bool,
        typer.Option(
            "--probe-cost",
            help="Measure the tracing overhead of each evidence level on this host, in interleaved pairs.",
        ),
    ] = False,
    pairs: Annotated[int | None, typer.Option(min=1, max=333, help=f"Pairs of --probe-cost ({USUAL_PAIRS}).")] = None,
    grant: Annotated[
        bool,
        typer.Option("--grant", help="Print the commands that allow each evidence level without root; run none."),
    ] = False,
    json: Annotated[bool, typer.Option("--json", help="Print as JSON.")] = False,
) -> int:
    """Checks what a host provides and allows, and says what whyperf cannot do without it."""
    from whyperf import run as running  # noqa: PLC0415 - keeps help and completion quick
    from whyperf.cli.exits import UsageError  # noqa: PLC0415

    if clean:
        if host is not None:
            raise UsageError(f"--clean is for this host alone; run it on {host}")
        _print_cleaned(running.clean(), as_json=json)
        return DONE
    if probe_cost:
        from whyperf.cli.workflows import tracing_overhead as measuring  # noqa: PLC0415

        if host is not None:
            raise UsageError(f"--probe-cost is for this host alone; run it on {host}")
        return measuring.command(USUAL_PAIRS if pairs is None else pairs, as_json=json)
    if pairs is not None:
        raise UsageError("--pairs is for --probe-cost alone; name that too")
    facts = running.describe_host(host, with_hooks=True)
    if grant:
        from dataclasses import asdict  # noqa: PLC0415

        from whyperf.cli.output.grants import print_grants  # noqa: PLC0415
        from whyperf.run.grants import grants  # noqa: PLC0415

        found = grants(facts)
        print_json(asdict(found)) if json else print_grants(found)
        return DONE
    if json:
        print_json({name: fact for name, fact in facts.items() if name != "reply"})
    else:
        from whyperf.cli.output.host import print_facts  # noqa: PLC0415

        print_facts(facts)
    return DONE


def _print_cleaned(cleaned: Any, *, as_json: bool) -> None:
    if as_json or not isinstance(cleaned, list):
        print_json(cleaned)
        return
    for line in cleaned or ["nothing was left"]:
        typer.echo(line if isinstance(line, str) else json_format.dumps(line, ensure_ascii=False))
