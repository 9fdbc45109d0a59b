"""`whyperf-lab truth`: how often the explanation is right."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from whyperf.cli.commands.arguments import WithoutKeysOption

NAME = "truth"
EXAMPLE = (
    "Examples: whyperf-lab truth --short · whyperf-lab truth --only receive_buffer --only slow-reader · "
    "whyperf-lab truth --out truth --json · whyperf-lab truth --page docs/laboratory/accuracy.md · "
    "whyperf-lab truth --hosts linux-6.18+veth --cluster local · "
    "whyperf-lab truth --catalog field --half tuning --out field · "
    "whyperf-lab truth --watch --only iperf3 --views both,sender"
)
WATCHING = "Programs of others"
MODELED = "On the model"


class CatalogName(StrEnum):
    """The catalogs of truth experiments."""

    CAUSES = "causes"
    FIELD = "field"
    FURTHER = "further"
    UNSEEN = "unseen"


class HalfName(StrEnum):
    """The halves of the field catalog, and of the unseen one."""

    TUNING = "tuning"
    HELD_OUT = "held_out"


def command(  # noqa: PLR0917 - the command line
    only: Annotated[
        list[str] | None,
        typer.Option("--only", metavar="CAUSE|NAME", help="Only experiments of this cause or name. Repeatable."),
    ] = None,
    catalog: Annotated[
        CatalogName,
        typer.Option(
            "--catalog",
            help="causes: single causes in doses, and pairs; field: what users meet; further: variants of that; "
            "unseen: situations written without knowledge of the rules.",
        ),
    ] = CatalogName.CAUSES,
    half: Annotated[
        HalfName | None,
        typer.Option("--half", help="Of field or unseen: the tuning half, or the held-out half, alone."),
    ] = None,
    short: Annotated[
        bool, typer.Option("--short", help="One level each of a few experiments: about a minute.")
    ] = False,
    trials: Annotated[int, typer.Option(min=1, max=100, help="Trials per cell that is compared.")] = 2,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the random order of trials.")] = 1,
    out: Annotated[Path | None, typer.Option(help="Folder for the result.")] = None,
    page: Annotated[
        Path | None, typer.Option("--page", metavar="FILE", help="Write the figures into this Markdown file.")
    ] = None,
    hosts: Annotated[
        str | None,
        typer.Option(
            metavar="HOST[,HOST]",
            help="Simulate the experiments on the model of these hosts, as whyperf model simulate names them.",
            rich_help_panel=MODELED,
        ),
    ] = None,
    cluster: Annotated[
        str,
        typer.Option(
            metavar="WHERE",
            help="With --hosts: Dask workers that share the work, as whyperf model simulate names them.",
            rich_help_panel=MODELED,
        ),
    ] = "none",
    cluster_without_keys: WithoutKeysOption = False,
    watch: Annotated[
        bool,
        typer.Option(
            "--watch",
            help="Inject causes around programs of others, such as iperf3 and nginx, and watch them in mid-life.",
            rich_help_panel=WATCHING,
        ),
    ] = False,
    views: Annotated[
        str | None,
        typer.Option(
            metavar="VIEW,…",
            help="With --watch: both (both sides), sender, receiver (one side), user (one side without privilege). "
            "Default: all.",
            rich_help_panel=WATCHING,
        ),
    ] = None,
    blocks: Annotated[
        int | None,
        typer.Option(
            min=1, max=100, help="With --watch: how often each run is made. Default: once.", rich_help_panel=WATCHING
        ),
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Print the plan and measure nothing.")] = False,
    json: Annotated[bool, typer.Option("--json", help="Print as JSON.")] = False,
) -> int:
    """Injects known bottlenecks and measures how often the diagnosis is correct."""
    # Imported here, so that help and completion stay quick.
    from whyperf.cli.exits import UsageError  # noqa: PLC0415
    from whyperf.cluster import choice_of  # noqa: PLC0415

    if hosts is None and cluster != "none":
        add = "drop it" if watch else "add --hosts, such as --hosts linux-6.18+veth, or drop it"
        raise UsageError(f"--cluster shares simulated experiments, and these are measured; {add}")
    if hosts is not None:
        if not hosts.strip():
            raise UsageError("--hosts names no host; name one, such as linux-6.18+veth, or leave it out to measure")
        if watch:
            raise UsageError("--watch watches real hosts, and --hosts simulates; drop one of them")
    if watch:
        from lab.truth.watched.workflow import SIGHTS, WantedWatch, find_watched_truth  # noqa: PLC0415

        if half is not None or short or catalog is not CatalogName.CAUSES:
            raise UsageError("--catalog, --half and --short are of loads of our own; drop them, or --watch")
        return find_watched_truth(
            WantedWatch(
                only=tuple(only or ()),
                views=SIGHTS if views is None else tuple(views.split(",")),
                blocks=blocks or 1,
                seed=seed,
                out=out,
                page=page,
                dry_run=dry_run,
                as_json=json,
            )
        )
    if views is not None or blocks is not None:
        raise UsageError("--views and --blocks are of programs of others; add --watch")
    from lab.truth.workflow.run import Wanted, find_truth  # noqa: PLC0415

    return find_truth(
        Wanted(
            only=tuple(only or ()),
            catalog=catalog.value,
            half=None if half is None else half.value,
            short=short,
            trials=trials,
            seed=seed,
            out=out,
            page=page,
            dry_run=dry_run,
            as_json=json,
            hosts=hosts or "",
            cluster=choice_of(cluster, without_keys=cluster_without_keys),
        )
    )
