"""Which factors go together: one cell's factors with defaults, references resolved, contradictions refused."""

from collections.abc import Mapping

from whyperf import wire
from whyperf.profile.applies import applies, refusal
from whyperf.profile.errors import ProfileError, suggestion
from whyperf.profile.factor import Factor
from whyperf.profile.factors import FACTORS, Level, factor_named
from whyperf.profile.levels import is_reference
from whyperf.profile.options import OPTIONS, TRANSPORTS
from whyperf.profile.path import defaults_with, has_path, missing, refuse_impossible_path
from whyperf.profile.path_factors import MAKERS, PATH_FACTORS
from whyperf.profile.profile_document import Factors
from whyperf.profile.schedule import NO_SCHEDULE, SHIPPED, Schedule, checked_flows
from whyperf.profile.workload import (
    STREAM,
    STREAM_RECEIVE,
    Workload,
    has_exchange,
    least_seconds,
    shipped_workload,
    shipped_workload_names,
)

#: The time that a deadline adds to the phases, where nobody gave one and they would not fit into the default, in s.
DEADLINE_MARGIN_S = 30.0
#: RFC 8200 section 5: every link an IPv6 packet passes carries 1280 bytes.
IPV6_MTU_BYTES = 1280
#: A packet of 1500 bytes has room for it behind the headers of UDP, QUIC and a datagram (RFC 9221).
QUIC_DATAGRAM_BYTES = 1400
#: Connections up to which a thread each is no worse than a few threads for all.
MAX_BLOCKING = 4
#: Of the testbed's devices and kernels, and of the hosts of the model where a profile states them.
OF_MODEL_TOO = frozenset({"mtu_bytes", "tso", "gso", "gro", "tcp_autocorking"})
PHASES = ("warmup_s", "duration_s", "cooldown_s")


def workload_of(factors: Mapping[str, Level], own: Mapping[str, Workload]) -> Workload:
    """The workload that the factor `workload` names: one of the profile's `own`, or a shipped one.

    Raises:
        ProfileError: there is none of this name.
    """
    name = str(factors.get("workload", STREAM))
    if name in own:
        return own[name]
    if name not in shipped_workload_names():
        known = {*own, *shipped_workload_names()}
        raise ProfileError("", "workload", f'there is no workload "{name}"{suggestion(name, known)}')
    return shipped_workload(name)


def schedule_of(factors: Mapping[str, Level], own: Mapping[str, Schedule]) -> Schedule | None:
    """The schedule that the factor `schedule` names: one of the profile's `own`, or a shipped one; None for none.

    Raises:
        ProfileError: there is none of this name.
    """
    name = str(factors.get("schedule", NO_SCHEDULE))
    if name == NO_SCHEDULE:
        return None
    known = {**SHIPPED, **own}
    if name not in known:
        raise ProfileError("", "schedule", f'there is no schedule "{name}"{suggestion(name, known)}')
    return known[name]


def resolve(
    given: Mapping[str, Level],
    *,
    testbed: bool,
    model: bool = False,
    own: Mapping[str, Workload] | None = None,
    schedules: Mapping[str, Schedule] | None = None,
    usual: Mapping[str, Level] | None = None,
) -> Factors:
    """All factors of a cell, in the table's order.

    `given` are the levels a profile or the command line states, single values or references; `own` are the
    profile's workloads, `schedules` its schedules, `usual` levels that take the place of the factors' defaults. Testbed
    factors are there only on the embedded testbed
    (`testbed`), the phases' lengths only in cells without `transfer_bytes`, where a schedule decides them, and the
    others only where they have a meaning (`Factor.scope`). On the model of two hosts (`model`) there are its own
    factors, and the MTU where it is given.

    Raises:
        ProfileError: with the factor as key, when they contradict each other.
    """
    chosen = {factor.name: factor.default for factor in FACTORS} | dict(usual or {}) | dict(given)
    workload = workload_of({"workload": _resolved("workload", chosen)}, own or {})
    everything = chosen | {name: level for name, level in workload.defaults.items() if name not in given}
    by_bytes = _resolved("transfer_bytes", everything) != "default"
    timed = not by_bytes and not workload.ends_itself
    for factor in FACTORS:
        if factor.name in given and factor.timed and not timed:
            ends = (
                "transfer_bytes ends the trial by bytes" if by_bytes else f"the workload {workload.name} ends by itself"
            )
            raise ProfileError("", factor.name, f"{ends}, so it has no timed phases; keep one of the two")
    if by_bytes and workload.ends_itself:
        problem = f"the workload {workload.name} ends by itself, not by bytes; leave the factor out"
        raise ProfileError("", "transfer_bytes", problem)
    transport = str(_resolved("transport", everything))
    if transport not in workload.transports:
        problem = f"{workload.name} does not run over {transport}; it takes {' or '.join(workload.transports)}"
        raise ProfileError("", "transport", f"{problem}{_over_udp(workload, transport)}")
    everything |= _defaults_over(transport, given)
    everything["io_model"] = io_model = _io_model(everything, workload)
    _refuse_io_model(io_model, transport, workload)
    schedule = schedule_of({"schedule": _resolved("schedule", everything)}, schedules or {})
    if schedule is not None:
        _refuse_ends(given, schedule, by_bytes=by_bytes)
    levels: Factors = {}
    asks_path = (testbed or model) and any(factor.name in given for factor in PATH_FACTORS)
    path = {factor.name: _resolved(factor.name, everything) for factor in PATH_FACTORS} if asks_path else {}
    everything |= {name: level for name, level in defaults_with(path).items() if name not in given}
    for factor in FACTORS:
        if (factor.timed and not timed) or not _has_place(factor, given, testbed=testbed, model=model):
            continue
        if factor.scope == "path":
            levels |= _path_level(factor.name, path, given) if asks_path else {}
            continue
        if applies(factor, workload, transport, io_model, schedule):
            levels[factor.name] = everything[factor.name]
        elif factor.name in given:
            raise ProfileError("", factor.name, refusal(factor, workload, transport, io_model, schedule))
    cell = {name: factor_named(name).check(_resolved(name, levels)) for name in levels}
    if schedule is not None and "schedule" in cell:
        cell |= _scheduled_phases(schedule, cell)
    if "deadline_s" not in given:
        document = None if timed else workload.document(cell)
        needed = _phases_s(cell) if timed else least_seconds(document) if document is not None else 0.0
        cell["deadline_s"] = max(float(cell["deadline_s"]), needed + DEADLINE_MARGIN_S if needed else 0.0)
    _refuse_contradictions(given, cell, workload, testbed=testbed, timed=timed)
    return cell


def _defaults_over(transport: str, given: Mapping[str, Level]) -> Factors:
    """Defaults that a transport has of its own."""
    if transport != "quic":
        return {}
    # Its congestion controls are the library's, whatever a host allows of the kernel's.
    own = {
        "datagram_size_bytes": QUIC_DATAGRAM_BYTES,
        "congestion_control": factor_named("congestion_control").default,
    }
    return {name: level for name, level in own.items() if name not in given}


def _has_place(factor: Factor, given: Mapping[str, Level], *, testbed: bool, model: bool) -> bool:
    """True if the factor has a meaning where the cell is run."""
    if factor.model and not model and factor.name in given:
        raise ProfileError("", factor.name, "only hosts of the model have this setting; use whyperf model simulate")
    if model and factor.name in OF_MODEL_TOO:
        return factor.name in given
    if model and factor.scope == "path":
        return True
    return (testbed or not factor.testbed) and (model or not factor.model)


def _path_level(name: str, path: Factors, given: Mapping[str, Level]) -> Factors:
    """A setting of the emulated path, where it has a meaning."""
    if name in MAKERS:
        return {name: path[name]} if name in given or has_path(path) else {}
    lacking = missing(name, path)
    if lacking is None:
        return {name: path[name]}
    if name in given:
        raise ProfileError("", name, lacking)
    return {}


def _refuse_ends(given: Mapping[str, Level], schedule: Schedule, *, by_bytes: bool) -> None:
    """A schedule decides when the load ends."""
    ends = ["transfer_bytes"] if by_bytes else [name for name in PHASES if name in given]
    if ends:
        problem = f"the schedule {schedule.name} decides when the load ends; leave the factor out"
        scale = ", or set schedule_scale" if "schedule_scale" in schedule.uses else ""
        raise ProfileError("", ends[0], f"{problem}{scale}")


def _scheduled_phases(schedule: Schedule, cell: Factors) -> Factors:
    """The phases of a scheduled trial: all of it is measured, as the flows' beginnings are what is asked about."""
    flows = checked_flows(schedule, cell)
    own = str(cell["transport"])
    # TCP connections come to one listening socket, which is Multipath TCP's only where the trial's is; a Unix socket's
    # file is no port for the others.
    libraries = {name for name, carries in TRANSPORTS.items() if carries.is_library}
    transports = {own} if own in {"unix", "sctp"} else libraries | {"tcp", "tls", own}
    for flow in flows:
        if flow.transport is not None and flow.transport not in transports:
            known = ", ".join(sorted(map(str, transports)))
            problem = (
                f'flow "{flow.name}" of {schedule.name} wants the transport {flow.transport}; '
                f"in addition to {own} it takes {known}"
            )
            raise ProfileError("", "schedule", problem)
        if flow.dscp is not None and (flow.transport or own) not in OPTIONS["dscp"].transports:
            choices = " or ".join(OPTIONS["dscp"].transports)
            problem = (
                f'flow "{flow.name}" of {schedule.name} sets dscp, which {flow.transport or own} does not have; '
                f"choose {choices}"
            )
            raise ProfileError("", "schedule", problem)
    return {"warmup_s": 0.0, "duration_s": max(flow.stop_s for flow in flows), "cooldown_s": 0.0}


def is_plain(cell: Mapping[str, Level]) -> bool:
    """True where the sizes of a trial alone describe the cell: a stream in blocking calls."""
    is_stream = cell.get("workload", STREAM) in {STREAM, STREAM_RECEIVE}
    return is_stream and cell.get("io_model", "blocking") == "blocking"


def _io_model(everything: Mapping[str, Level], workload: Workload) -> str:
    """The I/O model that `auto` stands for."""
    chosen = str(_resolved("io_model", everything))
    if chosen != "auto":
        return chosen
    if workload.name in {STREAM, STREAM_RECEIVE} or workload.metric == "datagrams":
        return "blocking"
    if workload.name not in shipped_workload_names() or "idle_connections" in workload.uses:
        return "epoll"
    many = _resolved("connections", everything)
    return "blocking" if isinstance(many, int) and many <= MAX_BLOCKING else "epoll"


def _refuse_io_model(io_model: str, transport: str, workload: Workload) -> None:
    """Refuses what few agent threads for all connections do not carry (crates/load/src/open/mod.rs, engine/mod.rs)."""
    if io_model not in TRANSPORTS[transport].io_models:
        why = "tls has no such model: the agents encrypt what their calls move"
        if TRANSPORTS[transport].is_library:
            why = f"{transport} has a thread for each connection"
        problem = f"{why}; choose {' or '.join(TRANSPORTS[transport].io_models)}, or leave the factor out"
        raise ProfileError("", "io_model", problem)
    if transport == "udp" and io_model == "io_uring" and workload.metric != "datagrams":
        raise ProfileError(
            "", "io_model", f"io_uring does not carry {workload.name} over udp; choose blocking or epoll"
        )


def _over_udp(workload: Workload, transport: str) -> str:
    return "; udp-stream and udp-rr run over udp" if transport == "udp" and "tcp" in workload.transports else ""


def _resolved(name: str, levels: Mapping[str, Level]) -> Level:
    """Follows `=other` to a level."""
    level = levels[name]
    passed = [name]
    while isinstance(level, str) and is_reference(level):
        other = level.removeprefix("=")
        if other in passed:
            raise ProfileError(
                "", name, f"the references {' = '.join([*passed, other])} form a circle; set one of them"
            )
        if other not in levels:
            raise ProfileError("", name, f'"{level}" has no value in this cell; give a level instead')
        passed.append(other)
        level = levels[other]
    return level


def _refuse_contradictions(
    given: Mapping[str, Level], cell: Factors, workload: Workload, *, testbed: bool, timed: bool
) -> None:
    if "rtt_probe" in given and cell.get("rtt_probe_ms") == "none":
        raise ProfileError("", "rtt_probe", "there is no probe to carry; set rtt_probe_ms too, or leave the factor out")
    if cell.get("kernel_timestamps"):
        _refuse_time_stamps(cell, workload)
    if cell.get("transport") == "tls":
        _refuse_tls(cell, workload)
    if timed and float(cell["deadline_s"]) <= (phases_s := _phases_s(cell)):
        problem = f"{cell['deadline_s']:g} s end before warm-up, measurement and cool-down ({phases_s:g} s); raise it"
        raise ProfileError("", "deadline_s", problem)
    if not testbed and not has_path(cell):
        return
    if (adapters := int(cell.get("adapters", 1))) > 1 and has_path(cell):
        problem = f"a path joins one adapter of each host, not {adapters}; set adapters to 1, or leave the path out"
        raise ProfileError("", "adapters", problem)
    if cell.get("tso") and not cell.get("gso", True):
        raise ProfileError(
            "", "tso", "segmentation offload by the device cannot be on with gso off; set tso = false too"
        )
    if cell.get("threaded_napi") and (cell["tso"] or not cell["gro"]):
        problem = (
            "a veth uses NAPI only with gro on and tso off; set gro = true and tso = false, or leave the factor out"
        )
        raise ProfileError("", "threaded_napi", problem)
    if cell["ip_version"] == 6 and int(cell.get("mtu_bytes", IPV6_MTU_BYTES)) < IPV6_MTU_BYTES:
        raise ProfileError(
            "", "mtu_bytes", f"IP version 6 needs an MTU of {IPV6_MTU_BYTES}, not {cell['mtu_bytes']}; raise it"
        )
    refuse_impossible_path(cell)


def _refuse_tls(cell: Factors, workload: Workload) -> None:
    """Refuses what TLS cannot do together (`check` in crates/load/src/secure.rs)."""
    is_off = cell["ktls"] == "off"
    document = workload.document(cell) if workload.name not in {STREAM, STREAM_RECEIVE} else None
    steps = _operations(document) if document is not None else frozenset()
    name, problem = "", ""
    if not is_off and cell["tls_record_bytes"] != "default":
        name = "tls_record_bytes"
        problem = "the kernel makes its own records of up to 16384 bytes; leave the factor out, or set ktls to off"
    elif is_off and cell["send_call"] != "send":
        name = "send_call"
        problem = (
            f"{cell['send_call']} moves no byte through the agent, which has to encrypt it; "
            "leave the factor out, or set ktls to tx or both"
        )
    elif cell["ktls"] == "tx" and document is not None:
        name = "ktls"
        problem = (
            "both sides of a workload send, and a connection is in a kernel for both directions; choose off or both"
        )
    elif is_off and "send_file" in steps:
        name = "ktls"
        problem = (
            "sendfile moves no byte through the agent, which has to encrypt it; choose both, or a workload of write"
        )
    if problem:
        raise ProfileError("", name, problem)


def _operations(document: wire.Workload) -> frozenset[str]:
    transactions = [transaction for group in document["groups"] for transaction in group["transactions"]]
    return frozenset(step["operation"]["operation"] for each in transactions for step in each["steps"])


def _refuse_time_stamps(cell: Factors, workload: Workload) -> None:
    """With what the kernel's time stamps do not go together (`check` in crates/load/src/engine/wire.rs)."""
    problem = ""
    if cell.get("zero_copy"):
        problem = "zero_copy and the kernel's time stamps use the same queue of the socket; leave one of them out"
    elif int(cell.get("outstanding", 1)) > 1:
        problem = (
            f"the kernel's time stamps are for one request at a time, not {cell['outstanding']}; set outstanding to 1"
        )
    elif (document := workload.document(cell)) is not None and not has_exchange(document):
        problem = f"the workload {workload.name} has no request with a response; leave the factor out, or choose rr"
    if problem:
        raise ProfileError("", "kernel_timestamps", problem)


def _phases_s(cell: Factors) -> float:
    return sum(float(cell[name]) for name in PHASES)
