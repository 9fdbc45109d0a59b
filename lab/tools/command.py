"""`whyperf-lab tools`: other tools next to the own load."""

from pathlib import Path
from typing import Annotated

import typer

from whyperf.cli.commands import completion

NAME = "tools"
EXAMPLE = (
    "Examples: whyperf-lab tools iperf3,nuttcp · whyperf-lab tools iperf3,nuttcp stream --verify · "
    "whyperf-lab tools netperf rr --out rr · whyperf-lab tools rr"
)


def command(
    tools: Annotated[
        str,
        typer.Argument(
            metavar="TOOL,…|FOLDER",
            help="Tools to run next to the own load: iperf3, netperf, nuttcp, uperf; or the folder of a comparison.",
        ),
    ],
    profile: Annotated[
        str | None, typer.Argument(metavar="PROFILE", help="stream, rr, udp or a profile. Default: stream.")
    ] = None,
    *,
    both: Annotated[
        list[str] | None,
        typer.Option(
            "--both",
            metavar="FACTOR=LEVEL",
            help="A factor of all tools. Repeatable.",
            autocompletion=completion.assignments,
        ),
    ] = None,
    time: Annotated[str | None, typer.Option("-t", "--time", metavar="S", help="Duration of a run in seconds.")] = None,
    trials: Annotated[int | None, typer.Option(min=1, help="Blocks: runs of each tool. Default: 5.")] = None,
    seed: Annotated[int | None, typer.Option(help="Seed of the random order.")] = None,
    verify: Annotated[
        bool,
        typer.Option(
            "--verify",
            help="Test the reasons: run the own load with each tool's call sizes, way of waiting and warm-up, too.",
        ),
    ] = False,
    out: Annotated[Path | None, typer.Option(help="Folder for the result.")] = None,
    report: Annotated[
        Path | None,
        typer.Option("--report", metavar="FILE", help="Write the comparison as an HTML page, such as tools.html."),
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Print the commands and measure nothing.")] = False,
    json: Annotated[bool, typer.Option("--json", help="Print as JSON.")] = False,
) -> int:
    """Runs other tools and whyperf's own load in turn, and says why their figures differ."""
    # Imported here, so that help and completion stay quick.
    from lab.tools.workflow import DOCUMENT, ToolsRequest, compare_tools, show_tools  # noqa: PLC0415
    from whyperf.cli.exits import UsageError  # noqa: PLC0415
    from whyperf.cli.inputs.overrides import overrides  # noqa: PLC0415

    if (Path(tools) / DOCUMENT).is_file():
        asked = {"PROFILE": profile, "--both": both, "--time": time, "--trials": trials, "--seed": seed, "--out": out}
        given = [name for name, value in {**asked, "--verify": verify, "--dry-run": dry_run}.items() if value]
        if given:
            raise UsageError(f"{given[0]} is for a measurement, and {tools} is a comparison of tools")
        return show_tools(Path(tools), report, as_json=json)
    return compare_tools(
        ToolsRequest(
            tools=tuple(name.strip() for name in tools.split(",")),
            profile=profile,
            overrides=overrides({"duration_s": time}, both or ()),
            pairs=trials,
            seed=seed,
            verify=verify,
            out=out,
            page=report,
            dry_run=dry_run,
            as_json=json,
        )
    )
