"""Makes the request for each host from a cell's factors (TrialSpec in crates/schema/src/trial.rs).

Which segments of a trial have stage times.
"""

import hashlib
import secrets
from collections.abc import Mapping, Sequence
from typing import Any, cast

from whyperf.plan import PlannedFlow, PlannedStages, PlannedTrial, PlannedWorkload
from whyperf.profile import BY_NAME
from whyperf.profile.options import OF_SOCKETS
from whyperf.profile.workload import near_receives
from whyperf.run.ends import FAR, NEAR, Cpus
from whyperf.wire import RequestPrepare, Role, ScheduledFlow, SocketSpec, StagesSpec, Stop, Transport, Workload

#: Of so many blocks one is sampled at first where nothing was asked.
ONE_IN = 4
ONE_IN_OF_MESSAGES = 2
#: Share of the CPUs' time that the programs may take then, in millionths; with more, fewer blocks are sampled.
OVERHEAD_PPM = 20_000
#: For so long the programs are attached in each second of a stream: hooks that run programs cost it most.
WINDOW_MS = 30
#: A shorter trial would have hardly a window.
MIN_WINDOWED_S = 2.0
#: The largest super-segment that most devices take, which streams are sent in.
SUPER_SEGMENT_BYTES = 65_536
#: Segments or calls in a block: the first in a block may lack its first stages.
BLOCK_PARTS = 8
#: Factors that are the sizes of a workload's messages.
MESSAGE_SIZES = ("request_size_bytes", "response_size_bytes")
MIN_BLOCK_BYTES, MAX_BLOCK_BYTES = 2**7, 2**23


def stages_spec(planned: PlannedStages, levels: Mapping[str, Any], workload: PlannedWorkload | None) -> StagesSpec:
    """The request to both hosts.

    Of a stream a block holds some super-segments and some calls; of single messages, or of a workload, some messages.
    A load of messages moves so few bytes that more of its blocks are sampled, and all the time.
    """
    has_messages = workload is not None or levels["reply_size_bytes"] > 0
    # A segment on an emulated path would leave in one window and arrive after it.
    is_short = levels.get("duration_s", 0.0) < MIN_WINDOWED_S
    has_windows = not (planned.one_in or has_messages or is_short) and levels.get("path_rtt_ms", "none") == "none"
    parts = [SUPER_SEGMENT_BYTES, levels["write_size_bytes"], levels["read_size_bytes"]]
    if workload is None and levels["reply_size_bytes"]:
        parts = [levels["write_size_bytes"], levels["reply_size_bytes"]]
    elif workload is not None:
        asked = [levels[name] for name in MESSAGE_SIZES if isinstance(levels.get(name), int)]
        # Without them it is one of writes.
        parts = asked or [levels["write_size_bytes"]]
    wanted = BLOCK_PARTS * max(parts)
    block_bytes = min(max(1 << (wanted - 1).bit_length(), MIN_BLOCK_BYTES), MAX_BLOCK_BYTES)
    return {
        "block_bytes": block_bytes,
        "one_in_count": planned.one_in or (ONE_IN_OF_MESSAGES if has_messages else ONE_IN),
        "overhead_ppm": 0 if planned.one_in else OVERHEAD_PPM,
        "window_ms": WINDOW_MS if has_windows else 0,
    }


NS_PER_S = 1_000_000_000
NS_PER_MS = 1_000_000

#: The level of `congestion_control` that leaves it to each host.
OWN_CONTROL = "default"

#: Values of a TrialSpec where a cell lacks the factor, because it has no meaning there or came later.
DEFAULTS: Mapping[str, Any] = {
    name: BY_NAME[name].default
    for name in (
        "connections",
        "write_size_bytes",
        "read_size_bytes",
        "read_wait",
        "reply_size_bytes",
        "write_rate_bps",
        "transport",
        "io_model",
        "threads",
    )
}


def roles(factors: Mapping[str, Any], schedule: Sequence[PlannedFlow] = ()) -> dict[str, Role]:
    """Which side sends: the near one, unless the direction is ``receive``, in a schedule that of its first flow.

    In an exchange the near side is the sender.
    """
    direction = schedule[0].direction if schedule else factors.get("direction")
    is_received = near_receives({**factors, "direction": direction})
    return {NEAR: "receiver", FAR: "sender"} if is_received else {NEAR: "sender", FAR: "receiver"}


def trial_specs(  # noqa: PLR0917 - the last ones come with workloads and schedules only
    planned: PlannedTrial,
    factors: Mapping[str, Any],
    cpus: Mapping[str, Cpus],
    listen_address: str,
    listen_port: int,
    workload: PlannedWorkload | None = None,
    seed: int = 0,
    schedule: Sequence[PlannedFlow] = (),
) -> dict[str, RequestPrepare]:
    """The requests to prepare for both hosts, with a random token for this trial.

    `workload` is what the cell does other than a plain stream, `seed` the plan's: with the trial's name it is the seed
    of everything random in the workload. `schedule` says when flows start and stop.
    """
    token = secrets.token_hex(32)
    levels = {**DEFAULTS, **factors}
    connections = levels["connections"]
    if workload is not None and workload.workload is not None:
        connections = workload.strands_count
    if schedule:
        connections = sum(flow.connections for flow in schedule)
    role_of = roles(factors, schedule)
    probe_ms = _number(factors.get("rtt_probe_ms"))
    near: RequestPrepare = {
        "request": "prepare",
        "trial": planned.id,
        "evidence": planned.evidence,
        "profile_hz": planned.profile_hz,
        "stages": None if planned.stages is None else stages_spec(planned.stages, levels, workload),
        "token": token,
        "connections_count": connections,
        "write_size_bytes": levels["write_size_bytes"],
        "read_size_bytes": levels["read_size_bytes"],
        "read_wait": levels["read_wait"],
        # A workload that refers to them says so itself.
        "reply_size_bytes": levels["reply_size_bytes"] if workload is None else 0,
        "write_rate_bps": (_number(levels["write_rate_bps"]) or 0) if workload is None else 0,
        "stop": stop_of(factors),
        "interval_ns": factors["interval_ms"] * NS_PER_MS,
        "deadline_ns": round(factors["deadline_s"] * NS_PER_S),
        "socket": socket_of(factors),
        "transport": levels["transport"],
        "io_model": "blocking" if levels["io_model"] == "auto" else levels["io_model"],
        "threads_count": _number(levels["threads"]) or 0,
        "workload": None if workload is None else workload_with_seed(workload, planned, seed),
        "datagrams": None if workload is None else workload.datagrams,
        "host": NEAR,
        "role": role_of[NEAR],
        "opening": "connect",
        "listen_address": None,
        "listen_port": 0,
        "pin_cpus": list(cpus[NEAR].pin),
        "own_cpus": list(cpus[NEAR].own),
        "schedule": [_flow(flow, NEAR) for flow in schedule],
        "round_trip_probe_ns": None if probe_ms is None else probe_ms * NS_PER_MS,
        "round_trip_probe_by": factors.get("rtt_probe", "udp"),
    }
    far: RequestPrepare = {
        **near,
        "host": FAR,
        "role": role_of[FAR],
        "opening": "listen",
        "listen_address": listen_address,
        "listen_port": listen_port,
        "socket": cast(
            "SocketSpec", {name: level for name, level in near["socket"].items() if name != "source_address"}
        ),
        "pin_cpus": list(cpus[FAR].pin),
        "own_cpus": list(cpus[FAR].own),
        "schedule": [_flow(flow, FAR) for flow in schedule],
    }
    return {NEAR: near, FAR: far}


def _flow(flow: PlannedFlow, label: str) -> ScheduledFlow:
    """A flow in the request for one host."""
    sends = (flow.direction == "send") == (label == NEAR)
    return {
        "start_ns": flow.start_ns,
        "stop_ns": flow.stop_ns,
        "connections_count": flow.connections,
        "transport": cast("Transport | None", flow.transport),
        "congestion_control": flow.congestion_control,
        "dscp": flow.dscp,
        "role": "sender" if sends else "receiver",
    }


def workload_with_seed(workload: PlannedWorkload, planned: PlannedTrial, seed: int) -> Workload | None:
    """The work of a trial, with the seed of everything random in it: 63 bits, which every reader of JSON keeps.

    None for a stream of datagrams.
    """
    if workload.workload is None:
        return None
    digest = hashlib.sha256(f"workload of {planned.id}, seed {seed}".encode()).digest()
    drawn = int.from_bytes(digest[:8], "big") >> 1
    return {**workload.workload, "seed": drawn}


def stop_of(factors: Mapping[str, Any]) -> Stop:
    """When the load of a cell ends (Stop in crates/schema/src/trial.rs)."""
    transfer = _number(factors["transfer_bytes"])
    if transfer is not None:
        return {"by": "bytes", "payload_bytes": transfer}
    if "duration_s" not in factors:
        return {"by": "workload"}
    return {
        "by": "duration",
        "warmup_ns": round(factors["warmup_s"] * NS_PER_S),
        "measure_ns": round(factors["duration_s"] * NS_PER_S),
        "cooldown_ns": round(factors["cooldown_s"] * NS_PER_S),
    }


def socket_of(factors: Mapping[str, Any]) -> SocketSpec:
    """Options of the data sockets (SocketSpec) that the cell sets; the others are each host's own choice."""
    levels = {field: factors.get(factor) for factor, field in OF_SOCKETS.items()}
    socket = {field: level for field, level in levels.items() if level not in {None, "default"} and level is not False}
    if (pacing := "pacing_rate_bytes_per_second") in socket:
        socket[pacing] //= 8
    return cast("SocketSpec", socket)


def _number(level: object) -> int | None:
    """A level that may be ``default``, which leaves it to the kernel."""
    return level if isinstance(level, int) else None
