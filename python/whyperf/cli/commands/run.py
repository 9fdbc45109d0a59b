"""`whyperf run`: measure."""

from dataclasses import replace
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from whyperf.cli.commands import completion
from whyperf.cli.commands.arguments import (
    BUDGET_S,
    GOAL,
    GoalOption,
    WindowForOption,
    with_arguments,
    with_arguments_of,
)
from whyperf.cli.commands.shortcuts import IPERF3, PART, SHORTCUTS, levels
from whyperf.cli.exits import UsageError, say
from whyperf.cli.output.formats import Format, RateUnit, output_format, window_rate

if TYPE_CHECKING:
    from whyperf.cli.workflows.measure import Order

NAME = "run"
EXAMPLE = (
    "Examples: whyperf run · whyperf run host7 -t 5 -P 4 · whyperf run -u -b 500M host7 · whyperf run host7 "
    "-C cubic,bbr --trials 5 · whyperf run rr host7 · whyperf run window-sweep --only window_bytes=4096,8192 "
    "--trials 3 · whyperf run my.toml --host host7 --set mtu_bytes=9000"
)


class Testbed(StrEnum):
    """Where to measure when no host is given."""

    AUTO = "auto"
    VETH = "veth"
    LOOPBACK = "loopback"


class Pattern(StrEnum):
    """Who connects to whom between two sets of hosts."""

    PAIRS = "pairs"
    FAN_IN = "fan-in"
    FAN_OUT = "fan-out"
    MESH = "mesh"


PLAN = "Trials and evidence"
FLEET = "Many hosts"


@with_arguments(tuple(each.parameter for each in SHORTCUTS), behind="workload")
def order_of(  # noqa: PLR0917 - typer fills them by name
    question: Annotated[
        str | None,
        typer.Argument(
            metavar="PROFILE|WORKLOAD|HOST",
            help="A host as for ssh, a shipped profile or workload (whyperf list), a TOML file, or a uperf profile "
            "(.xml). Default: profile quick on this machine.",
            autocompletion=completion.profiles,
        ),
    ] = None,
    far: Annotated[
        str | None,
        typer.Argument(metavar="HOST", help="The far host, as for ssh, behind a profile or workload."),
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
    assignments: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="FACTOR=LEVEL,…",
            help="Set any factor (whyperf list --factors); several levels with commas make cells. Repeatable.",
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
    scale: Annotated[
        str | None,
        typer.Option(
            "--scale",
            metavar="F",
            help="Multiply all times of the schedule, such as 0.05. Slow start, recovery and convergence do not scale.",
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
        str | None,
        typer.Option(
            metavar="LEVEL,…",
            help="Evidence: user (TCP_INFO), counters (BPF), or segments (also logs every segment, in separate "
            "trials); and profile or stages, also with one of these, as in counters,profile: profile samples stacks, "
            "for whyperf show --view cost; stages times each stage of sampled segments, in separate trials. "
            "Default: as in the profile, usually counters where the host allows them.",
            autocompletion=completion.evidence,
            rich_help_panel=PLAN,
        ),
    ] = None,
    profile_hz: Annotated[
        int | None,
        typer.Option(
            "--profile-hz",
            metavar="HZ",
            help="Stack samples of each CPU in a second, for --evidence profile. Default: 997.",
            rich_help_panel=PLAN,
        ),
    ] = None,
    stages_one_in: Annotated[
        str | None,
        typer.Option(
            "--stages-one-in",
            metavar="N",
            help="For --evidence stages: sample one of N parts of each stream, a power of two. Default: 4, or 2 for "
            "messages, and fewer where that costs more than 2 % of the CPUs' time.",
            rich_help_panel=PLAN,
        ),
    ] = None,
    seed: Annotated[int | None, typer.Option(help="Seed of the random order of trials.", rich_help_panel=PLAN)] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Print the plan and measure nothing.", rich_help_panel=PLAN)
    ] = False,
    save_profile: Annotated[
        Path | None,
        typer.Option(
            "--save-profile",
            metavar="FILE",
            help="Write this experiment as a profile (TOML) and measure nothing.",
            rich_help_panel=PLAN,
        ),
    ] = None,
    retry_failed: Annotated[
        bool,
        typer.Option(
            "--retry-failed", help="Measure failed trials again, and those whose log is missing.", rich_help_panel=PLAN
        ),
    ] = False,
    host: Annotated[
        str | None,
        typer.Option(
            "-c",
            "-H",
            "--host",
            "--client",
            metavar="HOST",
            help="The far host, as for ssh: the same as the argument HOST.",
        ),
    ] = None,
    address: Annotated[
        str | None, typer.Option(help="Numeric address of the far host for data. Default: the address that ssh uses.")
    ] = None,
    port: Annotated[
        int,
        typer.Option(
            "-p",
            "--port",
            metavar="N",
            min=0,
            max=65535,
            help="Port of the far host for data; 0: any free port. Parallel connections are -P.",
        ),
    ] = 0,
    near: Annotated[
        str | None,
        typer.Option(
            "--from",
            metavar="SET",
            help="Client hosts that generate load at the same time, each with all connections, such as local,node[1-9] "
            "(local = this host).",
        ),
    ] = None,
    to: Annotated[
        str | None,
        typer.Option(
            "--to", metavar="SET", help="Far hosts, such as node[1-15], @group or a,b.", rich_help_panel=FLEET
        ),
    ] = None,
    pattern: Annotated[
        Pattern | None,
        typer.Option(
            help="Who connects to whom. Default: pairs where both sets are as large, otherwise all to the one.",
            rich_help_panel=FLEET,
        ),
    ] = None,
    hosts: Annotated[
        Path | None,
        typer.Option(
            "--hosts",
            metavar="FILE",
            help="Groups and addresses of hosts: TOML, or an inventory of Ansible (INI or JSON). "
            "Default: ~/.config/whyperf/hosts.toml.",
            rich_help_panel=FLEET,
        ),
    ] = None,
    via: Annotated[
        str | None,
        typer.Option(
            "--via",
            metavar="PIPE",
            help="How hosts are reached: ssh, kubectl, podman, docker, srun, netns (namespaces of this machine), "
            "a command with {host}, or adapters (namespaces that whyperf makes).",
            rich_help_panel=FLEET,
        ),
    ] = None,
    netns: Annotated[
        str | None,
        typer.Option(
            "--netns",
            metavar="[NEAR:]FAR",
            help="Measure between two network namespaces of this machine (ip netns list), or to one from here.",
        ),
    ] = None,
    files_below: Annotated[
        list[Path] | None,
        typer.Option(
            "--files-below",
            metavar="FOLDER",
            help="Let a workload send files below FOLDER, in addition to those below the folder of its profile.",
            rich_help_panel=PLAN,
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
    why: Annotated[
        bool,
        typer.Option(
            "--why", help="Then find out by experiments why it is not faster, as whyperf why does. For a single cell."
        ),
    ] = False,
    goal: GoalOption = GOAL,
    json: Annotated[bool, typer.Option("-J", "--json", help="Print the result as JSON.")] = False,
    csv: Annotated[
        bool, typer.Option("--csv", help="Print a row for each cell as CSV: factors and figures, with units.")
    ] = False,
    format_: Annotated[
        Format | None,
        typer.Option("--format", help="Output format; uperf prints the lines of uperf, for programs that parse them."),
    ] = None,
    interval: Annotated[
        str | None,
        typer.Option(
            "-i",
            "--interval",
            metavar="S",
            help="Seconds between printed lines of a single measurement, from 0.01; 0: no lines.",
        ),
    ] = None,
    per_stream: Annotated[
        bool,
        typer.Option(
            "--per-stream",
            help="Print a line for each connection at the end, up to 16: goodput, retransmissions and RTT.",
        ),
    ] = False,
    window_for: WindowForOption = None,
    rate_unit: Annotated[
        RateUnit | None,
        typer.Option(
            "-f",
            "--rate-unit",
            help="Unit of the rates of a single measurement: kbit/s to Tbit/s, or KiB/s to TiB/s.",
            rich_help_panel=IPERF3,
        ),
    ] = None,
    **shortcuts: Any,
) -> "Order":
    """Reads the command line of `run`."""
    # Imported here, so that help and completion stay quick.
    from whyperf.cli.inputs import iperf3  # noqa: PLC0415
    from whyperf.cli.inputs.evidence import asked_evidence  # noqa: PLC0415
    from whyperf.cli.inputs.fleet import AskedFleet, in_namespaces  # noqa: PLC0415
    from whyperf.cli.inputs.goals import asked_goal  # noqa: PLC0415
    from whyperf.cli.inputs.namespaces import namespace_of  # noqa: PLC0415
    from whyperf.cli.inputs.overrides import overrides  # noqa: PLC0415
    from whyperf.cli.inputs.question import far_host  # noqa: PLC0415
    from whyperf.cli.workflows.measure import Order  # noqa: PLC0415
    from whyperf.profile import BY_NAME  # noqa: PLC0415

    size_factor = "datagram_size_bytes" if shortcuts["udp"] else "write_size_bytes"
    near_cpus, far_cpus = iperf3.affinity(shortcuts["affinity"])
    four, six, source = (shortcuts[name] for name in ("ipv4", "ipv6", "source"))
    options = {
        **dict(levels(shortcuts)),
        size_factor: shortcuts["write_size"],
        "write_rate_bps": iperf3.bitrate(shortcuts["bitrate"]),
        "ip_version": _ip_version(four=four, six=six or (not four and ":" in (source or ""))),
        "dscp": iperf3.code_point(shortcuts["dscp"], shortcuts["tos"]),
        "near_cpus": near_cpus,
        "far_cpus": far_cpus,
    }
    given = overrides(options, assignments or ())
    if shortcuts["blocks"] is not None:
        given["transfer_bytes"] = iperf3.bytes_of_blocks(shortcuts["blocks"], size_factor, given)
    output = replace(
        output_format(json=json, csv=csv, format_=format_, interval=interval, rate_unit=rate_unit, has_lines=True),
        per_stream=per_stream,
        window_for_bps=window_rate(window_for),
    )
    if (
        output.interval_s
        and output.interval_s * 1000 < float(BY_NAME["interval_ms"].default)
        and format_ is not Format.UPERF
    ):
        # A line is made of samples.
        given.setdefault("interval_ms", max(1, round(output.interval_s * 1000)))
    bidirectional = shortcuts["bidirectional"]
    if bidirectional and workload is not None:
        raise UsageError(f"--bidir is the workload bidirectional; drop it or --workload {workload}")
    fleet = AskedFleet(near, to, None if pattern is None else pattern.value, hosts, via)
    host = far_host(question, far, host)
    if netns is None and not fleet.is_meant and near is None and (inside := namespace_of(host or question or "")):
        named = host or question
        say(f"{named} is in the network namespace {inside} of this host: measured there without ssh (or --via ssh)")
        netns, address, host = inside, address or named, None
        question = None if named == question else question
    if netns is not None:
        fleet, host = in_namespaces(netns, fleet, host)
    return Order(
        question=question,
        workload="bidirectional" if bidirectional else workload,
        is_over_udp=shortcuts["udp"],
        scale=scale,
        host=host,
        address=address,
        port=port,
        fleet=fleet,
        testbed=testbed.value,
        overrides=given,
        options=tuple(name for name, text in options.items() if text is not None),
        only=tuple(only or ()),
        files_below=tuple(files_below or ()),
        leave_out_missing=leave_out_missing,
        trials=trials,
        evidence=asked_evidence(evidence, profile_hz, stages_one_in),
        seed=seed,
        out=out,
        dry_run=dry_run,
        save_profile=save_profile,
        retry_failed=retry_failed,
        output=output,
        report=report,
        why_s=BUDGET_S if why else None,
        goal=asked_goal(goal),
    )


@with_arguments_of(order_of)
def command(**arguments: Any) -> int:
    """Measures, explains and reports. The same command resumes an interrupted run."""
    order = order_of(**arguments)
    from whyperf.cli.workflows.measure import measure  # noqa: PLC0415 - keeps help and completion quick

    if order.why_s is None and arguments["goal"] != GOAL:
        raise UsageError("--goal says what --why is to make better; give --why too")
    return measure(order)


def _ip_version(*, four: bool, six: bool) -> str | None:
    """Both make a cell of each."""
    versions = [version for version, wanted in (("4", four), ("6", six)) if wanted]
    return ",".join(versions) or None
