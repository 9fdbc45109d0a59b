"""`whyperf run`: measure."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from whyperf.cli.commands import completion
from whyperf.cli.inputs.overrides import overrides
from whyperf.cli.output.formats import Format, output_format

NAME = "run"
EXAMPLE = (
    "Examples: whyperf run · whyperf run host7 -t 5 -P 4 · whyperf run rr --host host7 · whyperf run window-sweep "
    "--only window_bytes=4096,8192 --trials 3 · whyperf run my.toml --host host7 --set congestion_control=bbr"
)


class Testbed(StrEnum):
    """Where to measure when no host is named."""

    AUTO = "auto"
    VETH = "veth"
    LOOPBACK = "loopback"


class Evidence(StrEnum):
    """How closely the kernel is watched."""

    USER = "user"
    COUNTERS = "counters"
    SEGMENTS = "segments"


PART = "What to measure"
PLAN = "How often, and which part"


def command(  # noqa: PLR0917 - typer fills them by name
    question: Annotated[
        str | None,
        typer.Argument(
            metavar="PROFILE|WORKLOAD|HOST",
            help="A shipped profile or workload (see whyperf list), a TOML file, a profile of uperf (.xml), or a host "
            "as for ssh. Nothing: profile quick.",
            autocompletion=completion.profiles,
        ),
    ] = None,
    workload: Annotated[
        str | None,
        typer.Option(
            "--workload",
            metavar="NAME|FILE",
            help="What the application does: a shipped workload (whyperf list --workloads) or a TOML file.",
            autocompletion=completion.workloads,
            rich_help_panel=PART,
        ),
    ] = None,
    time: Annotated[
        str | None, typer.Option("-t", "--time", metavar="S", help="Seconds to measure.", rich_help_panel=PART)
    ] = None,
    size: Annotated[
        str | None,
        typer.Option("-n", "--bytes", metavar="N", help="Bytes a connection, instead of a time.", rich_help_panel=PART),
    ] = None,
    connections: Annotated[
        str | None, typer.Option("-P", "--connections", metavar="N", help="Connections.", rich_help_panel=PART)
    ] = None,
    window: Annotated[
        str | None,
        typer.Option("-w", "--window", metavar="N", help="Window in bytes, as 65536 or 64K.", rich_help_panel=PART),
    ] = None,
    write_size: Annotated[
        str | None, typer.Option("-l", "--write-size", metavar="N", help="Bytes a send call.", rich_help_panel=PART)
    ] = None,
    reverse: Annotated[bool, typer.Option("-R", "--reverse", help="The far host sends.", rich_help_panel=PART)] = False,
    congestion: Annotated[
        str | None,
        typer.Option("-C", "--congestion", metavar="NAME", help="Congestion control.", rich_help_panel=PART),
    ] = None,
    ipv6: Annotated[bool, typer.Option("-6", "--ipv6", help="IP version 6.", rich_help_panel=PART)] = False,
    no_delay: Annotated[bool, typer.Option("-N", "--no-delay", help="Nagle off.", rich_help_panel=PART)] = False,
    assignments: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="FACTOR=LEVEL",
            help="Sets any factor (whyperf list --factors); repeatable.",
            autocompletion=completion.assignments,
            rich_help_panel=PART,
        ),
    ] = None,
    only: Annotated[
        list[str] | None,
        typer.Option(
            "--only",
            metavar="FACTOR=LEVEL,…",
            help="Only cells with these levels, or sweep=NAME; repeatable.",
            autocompletion=completion.assignments,
            rich_help_panel=PLAN,
        ),
    ] = None,
    leave_out_missing: Annotated[
        bool,
        typer.Option(
            "--leave-out-missing",
            help="Leaves out congestion controls and transports that a host does not have, instead of refusing.",
            rich_help_panel=PLAN,
        ),
    ] = False,
    trials: Annotated[int | None, typer.Option(help="Trials of every cell.", rich_help_panel=PLAN)] = None,
    evidence: Annotated[
        Evidence | None,
        typer.Option(
            help="How closely the kernel is watched: user, counters, or segments, which logs every segment in trials "
            "of its own. As the profile says; counters where allowed.",
            rich_help_panel=PLAN,
        ),
    ] = None,
    seed: Annotated[int | None, typer.Option(help="Seed of the random order.", rich_help_panel=PLAN)] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Print the plan, do nothing.", rich_help_panel=PLAN)
    ] = False,
    retry_failed: Annotated[
        bool,
        typer.Option(
            "--retry-failed", help="Measure failed trials, and those without their log, again.", rich_help_panel=PLAN
        ),
    ] = False,
    host: Annotated[
        str | None, typer.Option(metavar="HOST", help="The far host, as for ssh, for a profile that is named.")
    ] = None,
    address: Annotated[str | None, typer.Option(help="Its numeric address for data, if not what ssh uses.")] = None,
    port: Annotated[int, typer.Option(min=0, max=65535, help="Its port for data; 0: any.")] = 0,
    near: Annotated[
        str | None,
        typer.Option(
            "--from",
            metavar="HOST,…",
            help="Hosts that load the far one together, each with all connections; local: this one.",
        ),
    ] = None,
    testbed: Annotated[Testbed, typer.Option(help="Where to measure without a host.")] = Testbed.AUTO,
    out: Annotated[Path | None, typer.Option(help="Folder of the results.")] = None,
    report: Annotated[
        bool,
        typer.Option("--report/--no-report", help="Write the report; whyperf report writes it later."),
    ] = True,
    json: Annotated[bool, typer.Option("--json", help="The result as JSON on standard output.")] = False,
    format_: Annotated[
        Format | None,
        typer.Option("--format", help="text, json, or uperf: the lines that programs around uperf read."),
    ] = None,
    interval: Annotated[
        float | None, typer.Option("-i", "--interval", metavar="S", help="Seconds between lines of --format uperf.")
    ] = None,
) -> int:
    """Measures and reports; started again after an interruption, it resumes."""
    # Imported here, so that help and completion stay quick.
    from whyperf.cli.workflows.measure import Order, measure  # noqa: PLC0415

    options = {
        "duration_s": time,
        "transfer_bytes": size,
        "connections": connections,
        "window_bytes": window,
        "write_size_bytes": write_size,
        "direction": "receive" if reverse else None,
        "congestion_control": congestion,
        "ip_version": "6" if ipv6 else None,
        "no_delay": "true" if no_delay else None,
    }
    return measure(
        Order(
            question=question,
            workload=workload,
            host=host,
            address=address,
            port=port,
            near=near,
            testbed=testbed.value,
            overrides=overrides(options, assignments or ()),
            options=tuple(name for name, text in options.items() if text is not None),
            only=tuple(only or ()),
            leave_out_missing=leave_out_missing,
            trials=trials,
            evidence=None if evidence is None else evidence.value,
            seed=seed,
            out=out,
            dry_run=dry_run,
            retry_failed=retry_failed,
            output=output_format(json=json, format_=format_, interval_s=interval),
            report=report,
        )
    )  # fmt: skip
