"""`whyperf watch`: explain the connections of programs that run."""

from pathlib import Path
from typing import Annotated

import typer

from whyperf.cli.command_classes import BEHIND
from whyperf.cli.commands import completion
from whyperf.cli.commands.arguments import BUDGET_S

NAME = "watch"
EXAMPLE = (
    "Examples: whyperf watch · whyperf watch :5432 · whyperf watch --program nginx --time 30 · whyperf watch 10.0.0.7 "
    "· whyperf watch host7 :443 · whyperf watch :5201 --far host7 · whyperf watch -- curl -O http://host7/file · "
    "whyperf watch --repeat -- iperf3 -c host7 -t 1 · whyperf watch :80 --metrics 9100"
)
WHICH = "Which connections"
SHOWN = "Output"


def command(  # noqa: PLR0917 - typer fills them by name
    context: typer.Context,
    arguments: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[HOST] [:PORT|PID|ADDRESS[:PORT]]",
            help="Which connections, and before it the host on which to watch, as for ssh. A number is a process; a "
            "port has a colon. Default: the busiest connections of this host.",
        ),
    ] = None,
    processes: Annotated[
        list[int] | None,
        typer.Option(
            "-p",
            "--pid",
            metavar="PID",
            min=1,
            max=1 << 22,
            help="Connections of this process: the same as a number as the argument.",
            rich_help_panel=WHICH,
        ),
    ] = None,
    programs: Annotated[
        list[str] | None,
        typer.Option(
            "--program",
            metavar="NAME",
            help="Connections of this program, such as nginx.",
            autocompletion=completion.programs,
            rich_help_panel=WHICH,
        ),
    ] = None,
    cgroups: Annotated[
        list[str] | None,
        typer.Option(
            "--cgroup",
            metavar="PATH",
            help="Connections of this control group (version 2), such as /system.slice/nginx.service.",
            rich_help_panel=WHICH,
        ),
    ] = None,
    netns: Annotated[
        str | None,
        typer.Option(
            "--netns",
            metavar="NAME|PID",
            help="Watch in this network namespace (ip netns list), or in that of a process, such as one of a "
            "container; a command behind -- runs there, too. It needs privilege.",
            rich_help_panel=WHICH,
        ),
    ] = None,
    most: Annotated[
        int,
        typer.Option(
            "--max-connections",
            metavar="N",
            min=1,
            max=1000,
            help="Connections that are watched one by one, the busiest first; others are counted.",
            rich_help_panel=WHICH,
        ),
    ] = 16,
    host: Annotated[
        str | None,
        typer.Option("-H", "--host", metavar="HOST", help="The host on which to watch: the same as the argument HOST."),
    ] = None,
    far: Annotated[
        str | None,
        typer.Option("--far", metavar="HOST", help="Watch the other side of the same connections, too, over ssh."),
    ] = None,
    time: Annotated[
        str | None,
        typer.Option("-t", "--time", metavar="S", help="Duration in seconds. Default: until Ctrl-C."),
    ] = None,
    evidence: Annotated[
        str | None,
        typer.Option(
            metavar="LEVEL,…",
            help="Evidence: user (sock_diag), counters (BPF), or segments (also logs every segment); and profile, also "
            "with one of these. Default: counters where the host allows them, otherwise user.",
            autocompletion=completion.evidence,
        ),
    ] = None,
    profile_hz: Annotated[
        int | None,
        typer.Option(
            "--profile-hz",
            metavar="HZ",
            help="Stack samples of each CPU in a second, for --evidence profile. Default: 997.",
        ),
    ] = None,
    repeat: Annotated[
        bool,
        typer.Option(
            "--repeat",
            help="Run the command behind -- again in changed environments, to prove what limits it. It must do no harm "
            "when it runs again, with no input.",
        ),
    ] = False,
    budget: Annotated[
        float | None,
        typer.Option(min=2, max=3600, metavar="S", help=f"Seconds for --repeat, at most. Default: {BUDGET_S:g}."),
    ] = None,
    interval: Annotated[
        str,
        typer.Option(
            "-i", "--interval", metavar="S", help="Seconds between lines of a connection.", rich_help_panel=SHOWN
        ),
    ] = "1",
    json: Annotated[
        bool,
        typer.Option(
            "-J", "--json", help="Print a JSON object for each connection and interval.", rich_help_panel=SHOWN
        ),
    ] = False,
    plain: Annotated[
        bool,
        typer.Option(
            "--plain", help="Print lines in a terminal, too, instead of the live view.", rich_help_panel=SHOWN
        ),
    ] = False,
    metrics: Annotated[
        str | None,
        typer.Option(
            metavar="[ADDRESS:]PORT",
            help="Serve OpenMetrics on ADDRESS:PORT, at the path /metrics; on 127.0.0.1 without an address.",
            rich_help_panel=SHOWN,
        ),
    ] = None,
    out: Annotated[Path | None, typer.Option(help="Folder for the result.", rich_help_panel=SHOWN)] = None,
    report: Annotated[
        bool,
        typer.Option(
            "--report/--no-report",
            help="Write the HTML report. `whyperf report` writes it later.",
            rich_help_panel=SHOWN,
        ),
    ] = True,
) -> int:
    """Explains the connections of running programs, with no load of its own.

    With -- COMMAND, it runs the command, explains its connections on standard error, and ends with its exit code. With
    --repeat it runs it again and again, each time with one thing changed, and says what raised its rate.
    Ctrl-C ends a watch and keeps what there is.
    """
    # Imported here, so that help and completion stay quick.
    from whyperf.cli.exits import UsageError  # noqa: PLC0415
    from whyperf.cli.inputs.evidence import asked_evidence  # noqa: PLC0415
    from whyperf.cli.inputs.watched import metrics_address, namespace, seconds, watched  # noqa: PLC0415
    from whyperf.cli.workflows.watch import WatchQuery, watch  # noqa: PLC0415

    wrapped: tuple[str, ...] | None = context.meta[BEHIND]
    if wrapped == ():
        raise UsageError("there is no command behind --; `whyperf watch -- curl -O http://host7/file` is an example")
    if wrapped is not None and json:
        raise UsageError("--json prints on standard output, which is that of the command behind --; drop --json")
    if repeat and wrapped is None:
        raise UsageError("--repeat runs a command again; write it behind --, as in `whyperf watch --repeat -- COMMAND`")
    if budget is not None and not repeat:
        raise UsageError("--budget is for the runs of --repeat; add --repeat, or drop it")
    found = watched(
        arguments or (),
        host=host,
        processes=processes or (),
        programs=programs or (),
        cgroups=cgroups or (),
        command=wrapped or (),
    )
    asked = asked_evidence(evidence, profile_hz)
    if asked.stages is not None:
        raise UsageError(
            "whyperf watch cannot time stages: their hooks recognize segments by the port of a trial; use whyperf run "
            "--evidence stages"
        )
    return watch(
        WatchQuery(
            watched=found,
            namespace=None if netns is None else namespace(netns, is_here=found.host is None),
            far=far,
            evidence=asked,
            interval_s=seconds("--interval", interval, 0.1, 3600),
            duration_s=None if time is None else seconds("--time", time, 0.1, 31_536_000),
            connections_most=most,
            command=wrapped or (),
            as_json=json,
            as_lines=plain,
            metrics=None if metrics is None else metrics_address(metrics),
            out=out,
            report=report,
            budget_s=(budget or BUDGET_S) if repeat else None,
        )
    )
