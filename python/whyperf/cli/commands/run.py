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
    """Where to measure when no host is given."""

    AUTO = "auto"
    VETH = "veth"
    LOOPBACK = "loopback"


class Evidence(StrEnum):
    """Evidence level."""

    USER = "user"
    COUNTERS = "counters"
    SEGMENTS = "segments"


PART = "What to measure"
PLAN = "Trials and evidence"


def command(  # noqa: PLR0917 - typer fills them by name
    question: Annotated[
        str | None,
        typer.Argument(
            metavar="PROFILE|WORKLOAD|HOST",
            help="A host as for ssh, a shipped profile or workload (whyperf list), a TOML file, or a uperf profile "
            "(.xml). Default: profile quick on this machine.",
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
        str | None, typer.Option("-t", "--time", metavar="S", help="Duration in seconds.", rich_help_panel=PART)
    ] = None,
    size: Annotated[
        str | None,
        typer.Option(
            "-n", "--bytes", metavar="N", help="Bytes per connection, instead of a duration.", rich_help_panel=PART
        ),
    ] = None,
    connections: Annotated[
        str | None, typer.Option("-P", "--connections", metavar="N", help="Parallel connections.", rich_help_panel=PART)
    ] = None,
    window: Annotated[
        str | None,
        typer.Option(
            "-w", "--window", metavar="N", help="Window in bytes, such as 65536 or 64K.", rich_help_panel=PART
        ),
    ] = None,
    write_size: Annotated[
        str | None, typer.Option("-l", "--write-size", metavar="N", help="Bytes per send call.", rich_help_panel=PART)
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
            help="Set any factor (whyperf list --factors). Repeatable.",
            autocompletion=completion.assignments,
            rich_help_panel=PART,
        ),
    ] = None,
    only: Annotated[
        list[str] | None,
        typer.Option(
            "--only",
            metavar="FACTOR=LEVEL,…",
            help="Measure only cells with these levels, or sweep=NAME. Repeatable.",
            autocompletion=completion.assignments,
            rich_help_panel=PLAN,
        ),
    ] = None,
    leave_out_missing: Annotated[
        bool,
        typer.Option(
            "--leave-out-missing",
            help="Leave out congestion controls and transports that a host lacks, instead of refusing.",
            rich_help_panel=PLAN,
        ),
    ] = False,
    trials: Annotated[int | None, typer.Option(help="Trials per cell.", rich_help_panel=PLAN)] = None,
    evidence: Annotated[
        Evidence | None,
        typer.Option(
            help="Evidence level: user (TCP_INFO), counters (BPF), or segments (also logs every segment, in separate "
            "trials). Default: as in the profile, usually counters where the host allows them.",
            rich_help_panel=PLAN,
        ),
    ] = None,
    seed: Annotated[int | None, typer.Option(help="Seed of the random order of trials.", rich_help_panel=PLAN)] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Print the plan and measure nothing.", rich_help_panel=PLAN)
    ] = False,
    retry_failed: Annotated[
        bool,
        typer.Option(
            "--retry-failed", help="Measure failed trials again, and those whose log is missing.", rich_help_panel=PLAN
        ),
    ] = False,
    host: Annotated[
        str | None,
        typer.Option(metavar="HOST", help="The far host, as for ssh, when the argument names a profile or workload."),
    ] = None,
    address: Annotated[
        str | None, typer.Option(help="Numeric address of the far host for data. Default: the address that ssh uses.")
    ] = None,
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port of the far host for data; 0: any free port.")] = 0,
    near: Annotated[
        str | None,
        typer.Option(
            "--from",
            metavar="HOST,…",
            help="Client hosts that generate load at the same time, each with all connections (local = this host).",
        ),
    ] = None,
    testbed: Annotated[
        Testbed,
        typer.Option(help="Where to measure when no host is given: two namespaces joined by a veth pair, or loopback."),
    ] = Testbed.AUTO,
    out: Annotated[Path | None, typer.Option(help="Folder for the result.")] = None,
    report: Annotated[
        bool,
        typer.Option("--report/--no-report", help="Write the HTML report. `whyperf report` writes it later."),
    ] = True,
    json: Annotated[bool, typer.Option("--json", help="Print the result as JSON.")] = False,
    format_: Annotated[
        Format | None,
        typer.Option("--format", help="Output format; uperf prints the lines of uperf, for programs that parse them."),
    ] = None,
    interval: Annotated[
        float | None, typer.Option("-i", "--interval", metavar="S", help="Seconds between lines of --format uperf.")
    ] = None,
) -> int:
    """Measures, explains and reports. The same command resumes an interrupted run."""
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
