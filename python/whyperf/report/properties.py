"""Hosts, testbed, plan and emulated path as lists of labels and values.

The CPUs that each side keeps busy, in words: CPUs × utilization; of shared CPUs what its threads used.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from whyperf.analyze.summary import CellResult, Summary
from whyperf.analyze.text import ENDS, count, factor_name, level_text, level_with_unit, percent, seconds, significant
from whyperf.plan import LOCAL, Plan, PlannedWatch


def cpus_text(number: float) -> str:
    """The number of CPUs in use, in steps of 0.01 CPUs."""
    return f"{number:.2f}"


def cpus_in_use(cell: CellResult) -> str | None:
    """The CPUs in use of both sides; None where a percentage of one CPU each says the same."""
    sides = {end: cpu for end in ENDS if (cpu := getattr(cell.cpu, end)) is not None and cpu.in_use_cpus is not None}
    is_plain = all(
        cpu.exclusive and (cpu.cpus_count or 1) <= 1 and (cpu.adapters_count or 1) <= 1 for cpu in sides.values()
    )
    if not sides or is_plain:
        return None
    parts = [
        f"{end} {cpus_text(cpu.in_use_cpus)} of {cpu.cpus_count or 0:.3g}"
        if cpu.exclusive
        else f"threads of the {end} {cpus_text(cpu.in_use_cpus)}"
        for end, cpu in sides.items()
    ]
    adapters = [
        f"{end} {cpus_text(cpu.per_adapter_cpus)} for each of {count(cpu.adapters_count, 'adapter')}"
        for end, cpu in sides.items()
        if (cpu.adapters_count or 1) > 1 and cpu.per_adapter_cpus is not None
    ]
    shared = cell.cpu.shared
    if shared is not None and shared.not_attributed_cpus is not None:
        soft = "" if shared.softirq_cpus is None else f" (soft interrupts {cpus_text(shared.softirq_cpus)})"
        parts.append(f"neither {cpus_text(shared.not_attributed_cpus)}{soft}")
        return f"{', '.join([*parts, *adapters])} of {count(len(shared.cpus), 'CPU')} that both share"
    return ", ".join([*parts, *adapters])


Properties = Sequence[tuple[str, str]]
Document = Mapping[str, Any]

MAX_LEVELS = 12


def host_facts(host: Document) -> Properties:
    """The facts of a host."""
    if host.get("machine") == "simulated":
        # The model has no memory, clock or kernel.
        known = (("Name", host.get("hostname")), ("CPUs", str(len(host.get("cpus", ())))))
        return [(name, str(value)) for name, value in (*known, ("Agent", host.get("agent_version"))) if value]
    tsc, memory = host.get("tsc_hz"), host.get("memory_bytes")
    facts = [
        ("Name", host.get("hostname")),
        ("Kernel", f"{host.get('kernel')} ({host.get('machine')})"),
        ("Distribution", host.get("distribution")),
        ("CPU", host.get("cpu_model")),
        ("CPUs online", str(len(host.get("cpus", ())))),
        ("Memory", f"{memory / 2**30:.1f} GiB" if memory else ""),
        ("Clock source", host.get("clock_source")),
        ("Time stamp counter", f"{significant(tsc / 1e9, 4)} GHz" if tsc else "none"),
        ("Congestion controls", ", ".join(host.get("congestion_controls", ()))),
        ("Agent", host.get("agent_version")),
    ]
    return [(name, str(value)) for name, value in facts if value]


def devices(host: Document) -> list[str]:
    """A sentence for each network device."""
    return [device_text(device) for device in host.get("devices", ())]


def device_text(device: Document) -> str:
    """A device in a sentence: name, driver, speed, MTU, offloads."""
    driver = device.get("driver")
    # Linux's veth says 10 Gbit/s whatever it carries (drivers/net/veth.c, veth_get_link_ksettings).
    speed = None if driver == "veth" else device.get("speed_mbps")
    parts = [
        str(device.get("name") or device.get("device")),
        f"driver {driver}" if driver else "",
        f"{speed:,} Mbit/s" if speed else "",
        f"MTU {device.get('mtu_bytes')}",
        offloads_text(device.get("offloads", {})),
    ]
    return ", ".join(part for part in parts if part)


def offloads_text(offloads: Document) -> str:
    """The offloads that are on and off."""
    on = [name.upper() if len(name) == 3 else name.replace("_", " ") for name, state in offloads.items() if state]
    off = [name.upper() if len(name) == 3 else name.replace("_", " ") for name, state in offloads.items() if not state]
    parts = [f"{', '.join(on)} on" if on else "", f"{', '.join(off)} off" if off else ""]
    return "; ".join(part for part in parts if part)


def testbed_facts(side: Document) -> Properties:
    """One side of the embedded testbed, as read back."""
    return [
        ("Device", device_text(side)),
        ("Addresses", f"{side.get('ipv4')}, {side.get('ipv6')}"),
        ("Receive packet steering, CPU mask", ", ".join(side.get("rps_cpus", ())) or "off"),
        *_threads(side),
        *((name, level_text(side[name])) for name in _TCP if side.get(name) is not None),
    ]


_TCP = ("tcp_limit_output_bytes", "tcp_autocorking", "tcp_tso_win_divisor")
"""Kernel parameters of a side of the testbed, which an older agent did not report."""


def _threads(side: Document) -> Properties:
    cpus = side.get("napi_thread_cpus")
    return [] if cpus is None else [("Threaded NAPI, CPUs", ", ".join(map(str, cpus)))]


def plan_facts(plan: Plan, summary: Summary) -> Properties:
    """The design: varied factors, order of trials, stop rule."""
    if plan.watched is not None:
        return _watch_facts(plan, plan.watched, summary)
    done = sum(cell.trials for cell in summary.cells)
    stopped = sum(row.status != "deadline" for row in summary.unfinished)
    facts = [
        ("Profile", plan.profile),
        ("Plan", plan.id),
        ("Target", plan.target if plan.near == (LOCAL,) else f"{plan.target}, from {', '.join(plan.near)}"),
        ("Seed", str(plan.seed)),
        ("Cells", f"{len(plan.cells):,}"),
        ("Blocks", _blocks(plan)),
        ("Stop rule", stop_text(plan)),
        ("Trials", f"{done:,} with a result" + (f", {stopped:,} without" if stopped else "")),
    ]
    if plan.log_blocks:
        facts.append(("Segment log", f"{count(plan.log_trials_count, 'trial')} more, in blocks after the others"))
    if plan.stage_blocks:
        facts.append(("Stage times", f"{count(plan.stage_trials_count, 'trial')} more, in blocks after the others"))
    facts += [(factor_name(name), _levels(plan, name)) for name in [*plan.varied, *_follow(plan)]]
    return facts


def _watch_facts(plan: Plan, watch: PlannedWatch, summary: Summary) -> Properties:
    """The request of a watch, and what it found."""
    near = "this host" if plan.near == (LOCAL,) else ", ".join(plan.near)
    sides = near if watch.far_host is None else f"{near}, {watch.far_host}"
    return [
        ("Command", watch.command),
        ("Watched", sides),
        ("Began", watch.started_realtime),
        ("Evidence asked for", plan.evidence or "user"),
        ("Connections", f"{len(plan.cells):,}, {sum(cell.trials for cell in summary.cells):,} with a rate"),
    ]


def constant_factors(plan: Plan) -> Properties:
    """Factors with one level in all cells; none of a watched program, whose settings nobody chose here."""
    if plan.watched is not None:
        return []
    first = plan.cells[0].factors
    return [(factor_name(name), level_with_unit(name, first[name])) for name in first if _same(plan, name)]


def _same(plan: Plan, name: str) -> bool:
    """True where all cells have the factor, at one level."""
    return len({level_text(cell.factors[name]) if name in cell.factors else None for cell in plan.cells}) == 1


def _follow(plan: Plan) -> list[str]:
    """Factors that differ without being varied: they refer to another factor, or sweeps fix them differently."""
    names = dict.fromkeys(name for cell in plan.cells for name in cell.factors)
    return [name for name in names if name not in plan.varied and not _same(plan, name)]


def _blocks(plan: Plan) -> str:
    most = "at most " if plan.stop.interval_width is not None else ""
    trials = plan.measured_trials_count
    return f"{count(len(plan.blocks), 'randomized complete block')}, {most}{count(trials, 'trial')}"


def stop_text(plan: Plan) -> str:
    """When a cell has enough trials."""
    stop = plan.stop
    if stop.interval_width is not None:
        width = percent(stop.interval_width)
        return (
            f"when the 95 % interval of the median is narrower than {width} of it, "
            f"after {stop.trials_min} to {stop.trials_max} trials"
        )
    own = ", ".join(f"{trials} in {sweep}" for sweep, trials in stop.sweep_trials.items())
    return f"{count(stop.trials or 0, 'trial')} per cell" + (f" ({own})" if own else "")


def abilities(host: Document) -> list[tuple[str, str]]:
    """Abilities that the host lacks: name; reason and effect."""
    return [
        (
            str(ability.get("name", "")).replace("_", " "),
            " ".join(_sentence(str(ability[key])) for key in ("reason", "lost_without") if ability.get(key)),
        )
        for ability in host.get("abilities", ())
        if not ability.get("can")
    ]


def _sentence(text: str) -> str:
    return text[:1].upper() + text[1:] + ("" if text.endswith((".", "!", "?")) else ".")


def _levels(plan: Plan, name: str) -> str:
    levels = list(dict.fromkeys(cell.factors[name] for cell in plan.cells if name in cell.factors))
    numbers = [level for level in levels if isinstance(level, int | float) and not isinstance(level, bool)]
    if len(numbers) == len(levels):
        levels = sorted(numbers)
    if len(levels) <= MAX_LEVELS:
        return ", ".join(level_text(level) for level in levels)
    return f"{level_text(levels[0])} to {level_with_unit(name, levels[-1])}, {len(levels)} levels"


def path_facts(middle: Mapping[str, Any] | None, paths: Iterable[Mapping[str, Any]]) -> Properties:
    """The emulated path of the `paths` in the manifests, and the sums of their audits; empty without a path."""
    audits = [audit for path in paths if (audit := path.get("audit"))]
    if middle is None or not audits:
        return []
    packets = sum(audit["released_packets"] for audit in audits)
    audited = [audit for audit in audits if audit["late_packets"] is not None]
    late, known = (sum(audit[name] for audit in audited) for name in ("late_packets", "released_packets"))
    outside = sum(
        audit["socket_dropped_frames"] + audit["device_dropped_packets"] + audit["refused_frames"] for audit in audits
    )
    wall_ns = sum(audit["wall_ns"] for audit in audits)
    cpu = middle.get("cpu")
    return [
        ("Path emulated by", f"{middle['implementation']}{'' if cpu is None else f' on CPU {cpu}'}"),
        ("Trials with a path", f"{len(audits):,}"),
        ("Packets forwarded", f"{packets:,}"),
        *_lateness(late, known, [audit["lateness_ns_max"] for audit in audited]),
        ("Lost outside the model", count(outside, "frame")),
        ("Time of one CPU", percent(sum(audit["cpu_ns"] for audit in audits) / wall_ns) if wall_ns else "none"),
        *(("Not audited", sentence) for sentence in _unaudited(audits)),
    ]


def _lateness(late: int, packets: int, latest_ns: list[int]) -> Properties:
    """The lateness of packets; empty without an audit."""
    if not latest_ns:
        return []
    return [
        ("Packets later than the limit", f"{count(late, 'packet')} ({percent(late / packets)})" if packets else "none"),
        ("Latest", seconds(max(latest_ns))),
    ]


def _unaudited(audits: list[Mapping[str, Any]]) -> list[str]:
    """The values that the audits lack, each once; older records do not have this field."""
    return list(dict.fromkeys(sentence for audit in audits for sentence in audit.get("unaudited", ())))
