"""A measurement, step by step: understand, plan, record, judge, print."""

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

from whyperf.cli.exits import UsageError, say
from whyperf.cli.inputs import say_what_is_taken
from whyperf.cli.inputs.evidence import AskedEvidence
from whyperf.cli.inputs.fleet import AskedFleet, target_of
from whyperf.cli.inputs.goals import refuse_goal
from whyperf.cli.inputs.iperf3 import over_udp
from whyperf.cli.inputs.overrides import OPTIONS, in_words_of
from whyperf.cli.inputs.question import QUICK, TESTBED, THIS_MACHINE, understand, with_workload
from whyperf.cli.inputs.scheduled import scaled, with_scale
from whyperf.cli.inputs.unavailable import OWN_LEVELS, with_allowed_controls, without_missing
from whyperf.cli.live import interrupts
from whyperf.cli.live.connecting import said_to_connect
from whyperf.cli.output.formats import Format, OutputFormat
from whyperf.cli.workflows.trials import measure_missing_trials, stopped
from whyperf.explain.experiments.goals import RATE, Goal
from whyperf.plan import COMMAND_LINE, LOCAL, Plan, announcements, build, own_folders, refuse_other_files
from whyperf.profile import BY_NAME, Overrides, Profile, ProfileError, as_set
from whyperf.profile.conditions import AFTER, BEFORE, in_two_conditions
from whyperf.record import Experiment, planned_folder, quick_folder
from whyperf.record.errors import refuse_full
from whyperf.run import Kind, Target, allowed_kind, describe_host, named_cpus
from whyperf.run.adapters import ADAPTERS, built
from whyperf.run.agents.pipes import by_name, refuse_unusable_host
from whyperf.run.testbed import TESTBED_FACTORS, missing_settings

if TYPE_CHECKING:
    from whyperf.cli.live.intervals import PrintedLine


@dataclass(frozen=True)
class Order:
    """Everything the command line asked of `whyperf run`."""

    question: str | None
    workload: str | None
    host: str | None
    address: str | None
    port: int
    fleet: AskedFleet
    testbed: str
    overrides: Overrides
    #: Which of them have options of their own.
    options: tuple[str, ...]
    only: tuple[str, ...]
    leave_out_missing: bool
    trials: int | None
    evidence: AskedEvidence
    seed: int | None
    out: Path | None
    dry_run: bool
    retry_failed: bool
    output: OutputFormat
    #: True where the report is written.
    report: bool = True
    #: Seconds of experiments that find out what limits it; None without.
    why_s: float | None = None
    #: The figure that experiments are to make better.
    goal: Goal = RATE
    #: True where datagrams take the place of the stream.
    is_over_udp: bool = False
    #: `--scale`: what all times of the schedule are multiplied by.
    scale: str | None = None
    #: Where to write the experiment as a profile, instead of measuring it.
    save_profile: Path | None = None
    #: Factors of two conditions under which each cell is measured in turn.
    conditions: tuple[Overrides, Overrides] | None = None
    #: Folders below which files may be sent, in addition to those of the profile and the workload.
    files_below: tuple[Path, ...] = ()


def measure(order: Order, show: Callable[[Experiment], int] | None = None) -> int:
    """Does what was ordered; returns the exit code.

    `show` prints the result instead of a run's own output, and returns the exit code.
    """
    order = _on_this_machine(order)
    profile, host = understand(order.question, order.host)
    if order.workload is not None:
        profile = with_workload(profile, order.workload)
    profile, udp_note = over_udp(profile, order.overrides) if order.is_over_udp else (profile, None)
    profile = scaled(profile, order.scale, order.overrides)
    order = replace(order, overrides=with_scale(profile, order.overrides))
    target = _target(order, profile, host)
    may_be_sent = [*own_folders(profile), *(folder.resolve() for folder in order.files_below)]
    profile = _without_missing(profile)
    order, profile = _in_conditions(order, profile)
    if order.leave_out_missing:
        varied = {name: levels for name, levels in order.overrides.items() if isinstance(levels, tuple)}
        profile = without_missing(profile.with_overrides(varied), target.hosts)
        order = replace(order, overrides={name: order.overrides[name] for name in order.overrides.keys() - varied})
    if order.save_profile is not None:
        return _save_profile(order.save_profile, order, profile, target)
    with said_to_connect(target.destinations, by_ssh=target.is_by_ssh):
        plan = _plan(order, profile, target)
    _refuse_several(plan, order)
    _refuse_same(plan, order.conditions)
    if udp_note is not None:
        # Behind all that may be wrong with what was typed.
        say(udp_note)
    _name_what_is_sent(plan, may_be_sent)
    if order.dry_run:
        from whyperf.cli.workflows import dry_run  # noqa: PLC0415 - a measurement needs none

        return dry_run.show(plan, as_json=order.output.format is Format.JSON)
    if order.output.format is Format.UPERF:
        from whyperf.cli.output.uperf import refuse_streams  # noqa: PLC0415 - loads polars

        refuse_streams(plan)
    for warning in plan.warnings:
        say(warning)
    folder = order.out or (quick_folder(datetime.now()) if profile.name == QUICK else planned_folder(plan))
    refuse_full(folder)
    # From before the folder is made: whoever stops the run early finds nothing left of it.
    with (
        interrupts.handled(held=True) as stops,
        Experiment.create(folder, plan, profile.text, retry_failed=order.retry_failed) as experiment,
        ExitStack() as closing,
    ):
        try:
            stops.release()
            if target.fleet is not None and target.fleet.via == ADAPTERS:
                closing.enter_context(built())
            lines = measure_missing_trials(
                experiment,
                target,
                as_json=order.output.is_for_programs,
                output=order.output,
                report=order.report,
                closing=closing,
            )
        except KeyboardInterrupt:
            # For people the interval lines end with the rate so far: what prints a result takes a second to load.
            if plan.is_single and order.output.is_for_programs and experiment.trials().manifests:
                _print(experiment, order.output, report=False, explain=False)
            raise stopped(experiment, named=order.out is not None or profile.name != QUICK) from None
        except BaseException:
            experiment.discard_if_empty()
            raise
        if show is not None:
            return show(experiment)
        why = (order.why_s, order.goal)
        return _print(experiment, order.output, report=order.report, why=why, lines=lines)


def _refuse_several(plan: Plan, order: Order) -> None:
    """Refuses experiments with several cells, an answer behind a result that a program reads, and a goal that the load
    does not have.

    Raises:
        UsageError: what to use instead.
    """
    if order.why_s is not None and order.output.is_for_programs:
        raise UsageError("--why prints an answer for people behind the result; for programs use `whyperf why … --json`")
    if order.why_s is not None and len(plan.cells) > 1:
        problem = f"--why is for one cell, and this run has {len(plan.cells)}"
        raise UsageError(f"{problem}; leave out the levels, or use `whyperf explain --try --cell` behind it")
    refuse_goal(order.goal, plan)


def _name_what_is_sent(plan: Plan, may_be_sent: Sequence[Path]) -> None:
    """Prints which files and variables are sent, before they leave; refuses files that are not below `may_be_sent`."""
    refuse_other_files(plan, may_be_sent)
    for sentence in announcements(plan):
        say(sentence)


def _in_conditions(order: Order, profile: Profile) -> tuple[Order, Profile]:
    """The order and the profile with each cell under both conditions, where there are two."""
    if order.conditions is None:
        return order, profile
    both = in_two_conditions(profile.with_overrides(order.overrides), *order.conditions)
    return replace(order, overrides={}), both


def _refuse_same(plan: Plan, conditions: tuple[Overrides, Overrides] | None) -> None:
    """Refuses two conditions that give the same cells, such as a level that is usual anyway.

    Raises:
        UsageError: they are the same, and what both have.
    """
    if conditions is None:
        return
    sides = [[cell.factors for cell in plan.cells if cell.sweep.endswith(end)] for end in (BEFORE, AFTER)]
    if sides[0] == sides[1]:
        factors = sides[0][0]
        levels = as_set({name: factors[name] for name in {**conditions[0], **conditions[1]} if name in factors})
        raise UsageError(f"both conditions have {', '.join(levels)}; give another level with --set or --against")


def _on_this_machine(order: Order) -> Order:
    """The order with its testbed, where a name of this machine stands in the place of a host."""
    if order.question in TESTBED and order.host is None:
        say_what_is_taken(str(order.question), "the embedded testbed")
        return replace(order, question=None, testbed="veth" if order.testbed == "auto" else order.testbed)
    named = order.host if order.host is not None else order.question
    version = THIS_MACHINE.get(str(named))
    if version is None or order.address is not None or order.fleet.near is not None:
        return order
    overrides = {"ip_version": version, **order.overrides} if version != 4 else order.overrides
    testbed = order.testbed
    if testbed == "auto" and any(BY_NAME[name].testbed for name in overrides):
        say(f"{named} is this machine: measuring on the embedded testbed, which the settings of the path need")
        testbed = "veth"
    elif testbed == "auto":
        say(f"{named} is this machine: measuring over the loopback, without ssh; --testbed veth is closer to a network")
        testbed = "loopback"
    order = replace(order, testbed=testbed, overrides=overrides)
    return replace(order, host=None) if order.host is not None else replace(order, question=None)


def _print(
    experiment: Experiment,
    output: OutputFormat,
    *,
    report: bool,
    explain: bool = True,
    why: tuple[float | None, Goal] = (None, RATE),
    lines: "Sequence[PrintedLine]" = (),
) -> int:
    # Imported here: judging needs libraries that load for a second; a mistake is answered before.
    from whyperf.cli.output import result  # noqa: PLC0415

    code = result.print_result(experiment, output, report=report, explain=explain, lines=lines)
    why_s, goal = why
    if why_s is None:
        return code
    from whyperf.cli.workflows.why import show_why  # noqa: PLC0415 - as above

    as_json = output.is_for_programs
    return show_why(experiment, why_s, allows_harm=False, as_json=as_json, may_contact=True, goal=goal)


def _save_profile(path: Path, order: Order, profile: Profile, target: Target) -> int:
    from whyperf.cli.workflows.save_profile import ProfileRequest, save_profile  # noqa: PLC0415 - as above

    asked = ProfileRequest(order.only, order.seed, order.trials, order.evidence, order.testbed)
    try:
        return save_profile(path, profile.with_overrides(order.overrides), asked, target)
    except ProfileError as error:
        raise in_words_of(error, order.overrides, order.options) from None


def _plan(order: Order, profile: Profile, target: Target) -> Plan:
    """The plan; what only the options make impossible is named as an option."""

    def planned(asked: Profile) -> Plan:
        return build(
            asked,
            only=order.only,
            seed=order.seed,
            trials=order.trials,
            evidence=order.evidence.level,
            profile_hz=order.evidence.profile_hz,
            stages=order.evidence.stages,
            target=target.name,
            near=target.near,
            fleet=target.fleet,
            overrides=order.overrides,
        )

    # A pair is asked as a far host is; namespaces that are still to be made cannot be.
    is_asked = target.fleet is None or (len(target.near) == 1 and target.fleet.via != ADAPTERS)
    if not is_asked:
        # Whether each host allows the usual control is not asked: that of each host is.
        profile = replace(profile, usual={**OWN_LEVELS, **profile.usual})
    if target.fleet is not None and order.leave_out_missing:
        raise UsageError("--leave-out-missing asks one far host what it lacks; drop it, or measure with one far host")
    try:
        return with_allowed_controls(
            profile,
            order.overrides,
            target.destinations if is_asked else (),
            planned,
            asks_others=not order.dry_run,
            pipe=by_name(None if target.fleet is None else target.fleet.via),
        )
    except ProfileError as error:
        if error.where != COMMAND_LINE:
            raise
        raise in_words_of(error, order.overrides, order.options) from None


def _target(order: Order, profile: Profile, host: str | None) -> Target:
    """Where to measure; says so when there are other hosts than the profile asks for.

    Raises:
        UsageError: the profile needs several near hosts, and none is named.
    """
    target = _hosts_of(order, profile, host)
    wanted, near = profile.fleet.near_hosts, dict.fromkeys(target.near)
    if wanted is None or len(near) == wanted:
        return target
    if order.fleet.near is None and profile.fleet.from_ is None:
        raise UsageError(
            f"{profile.name} needs {wanted} hosts that load one: name them, as in `whyperf run {profile.name} --from "
            f"'client[1-{wanted}]' --to server`, or use one host for all connections, as in `whyperf run HOST "
            f"--connections {_connections(profile) * wanted}`"
        )
    say(f"{profile.name} is about {wanted} near hosts; this run has {len(near)}")
    return target


def _connections(profile: Profile) -> int:
    """The number of connections that a profile opens from each near host."""
    level = profile.fixed.get("connections", 1)
    return level if isinstance(level, int) else 1


def _hosts_of(order: Order, profile: Profile, host: str | None) -> Target:
    """The hosts to measure; says so when the embedded testbed is not what was hoped for."""
    fleet = order.fleet.with_defaults(profile.fleet, host)
    if fleet.is_meant and (order.testbed == "auto" or order.fleet.is_meant):
        if order.testbed != "auto":
            raise UsageError(f"--testbed {order.testbed} is for measurements without a host; drop it or the hosts")
        return target_of(fleet, host, order.address, order.port)
    order.fleet.refuse_without_far_hosts()
    near = tuple(order.fleet.near.split(",")) if order.fleet.near is not None else (LOCAL,)
    if "" in near:
        raise UsageError("--from wants names of hosts with a comma between them, such as --from local,host7")
    for name in near:
        refuse_unusable_host(name)
    if host is not None:
        if order.testbed != "auto":
            raise UsageError(f"--testbed {order.testbed} is for measurements without a host; drop it or {host}")
        if "," in host:
            near = _for_far_hosts(order, profile, host, near)
        return Target(Kind.NETWORK, host, order.address, order.port, near)
    if order.address is not None:
        raise UsageError("--address is the far host's; name the host too (--host)")
    elsewhere = next((name for name in near if name != LOCAL), None)
    if elsewhere is not None:
        raise UsageError(f"--from {elsewhere} needs a far host to load; name it too (--host), or use local alone")
    wanted = profile.kind if order.testbed == "auto" else order.testbed
    kind, reason = allowed_kind(None if wanted == "auto" else Kind(wanted))
    if reason is not None:
        _refuse_without_testbed(order, reason)
        say(f"Measuring over the loopback, because there is no veth testbed here: {reason}")
    return Target(kind, port=order.port, near=near)


def _refuse_without_testbed(order: Order, reason: str) -> None:
    """Refuses settings of the testbed where it cannot be made, for a `reason`.

    Raises:
        UsageError: the options, and what to do.
    """
    named = [name for name in order.overrides if BY_NAME[name].testbed]
    if named:
        options = dict.fromkeys(OPTIONS[name] if name in order.options else f"--set {name}" for name in named)
        needs, them = ("needs", "it") if len(options) == 1 else ("need", "them")
        raise UsageError(f"{' and '.join(options)} {needs} the embedded testbed: {reason}, or leave {them} out")


def _for_far_hosts(order: Order, profile: Profile, host: str, near: tuple[str, ...]) -> tuple[str, ...]:
    """A near agent on this host for each of several far hosts."""
    given, parts = len(host.split(",")), len(profile.far_parts)
    if not parts:
        raise UsageError(
            f"--host {host} names {given} hosts; only a uperf profile whose groups connect to one of several far hosts "
            "each takes several: name one host"
        )
    if given != parts:
        raise UsageError(f"--host {host} names {given} hosts, and the profile {parts}; name one, or {parts}")
    if order.fleet.near is not None or order.address is not None:
        raise UsageError("--from and --address are for one far host; drop them, or name one host with --host")
    return near * given


def _without_missing(profile: Profile) -> Profile:
    """The profile without levels that this host cannot have, where others are left: CPUs, and settings of the testbed.

    The near host is this one, and so is the far one on the testbed; a far host is asked when the session begins.
    """
    asked = {"near_cpus", "far_cpus", *TESTBED_FACTORS}
    if not any(asked & sweep.levels.keys() for sweep in profile.sweeps):
        return profile
    host = describe_host(None)
    have = set(host["cpus"])
    reasons = {name: f"this host has CPUs {', '.join(map(str, sorted(have)))}" for name in ("near_cpus", "far_cpus")}
    sweeps = []
    for sweep in profile.sweeps:
        levels = dict(sweep.levels)
        for name in asked & levels.keys():
            lacking = {level: missing_settings({name: level}, host).get(name) for level in levels[name]}
            if name in reasons:
                lacking = {level: None if named_cpus(str(level)) <= have else reasons[name] for level in levels[name]}
            kept = tuple(level for level in levels[name] if lacking[level] is None)
            if kept and len(kept) < len(lacking):
                missing = [level for level in levels[name] if lacking[level] is not None]
                levels[name] = kept
                say(f"Left out: {name} {', '.join(str(level).lower() for level in missing)}; {lacking[missing[0]]}")
        sweeps.append(replace(sweep, levels=levels))
    return replace(profile, sweeps=tuple(sweeps))
