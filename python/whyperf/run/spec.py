"""From a cell's factors to what each end is told (TrialSpec in crates/schema/src/trial.rs)."""

import hashlib
import secrets
from collections.abc import Mapping, Sequence
from typing import Any

from whyperf.plan import PlannedFlow, PlannedTrial, PlannedWorkload
from whyperf.profile import BY_NAME
from whyperf.profile.workload import STREAM_RECEIVE
from whyperf.run.ends import FAR, NEAR, Cpus

NS_PER_S = 1_000_000_000
NS_PER_MS = 1_000_000

Spec = dict[str, Any]

#: The level of `congestion_control` that leaves it to each host.
OWN_CONTROL = "default"

#: What a TrialSpec has where a cell lacks the factor, because it has no meaning there or came later.
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


def roles(factors: Mapping[str, Any], schedule: Sequence[PlannedFlow] = ()) -> dict[str, str]:
    """Which end sends: the near one, unless the direction is ``receive``, in a schedule that of its first flow.

    In an exchange the near end is the sender.
    """
    direction = schedule[0].direction if schedule else factors.get("direction")
    is_received = direction == "receive" or factors.get("workload") == STREAM_RECEIVE
    near, far = ("receiver", "sender") if is_received else ("sender", "receiver")
    return {NEAR: near, FAR: far}


def trial_specs(  # noqa: PLR0917 - the last ones come with workloads and schedules only
    planned: PlannedTrial,
    factors: Mapping[str, Any],
    cpus: Mapping[str, Cpus],
    listen_address: str,
    listen_port: int,
    workload: PlannedWorkload | None = None,
    seed: int = 0,
    schedule: Sequence[PlannedFlow] = (),
) -> dict[str, Spec]:
    """Both ends' specs, with a random token that only they know.

    `workload` is what the cell does beside a plain stream, `seed` the plan's: with the trial's name it is the seed
    of everything random in the workload. `schedule` says when flows start and stop.
    """
    token = secrets.token_hex(32)
    levels = {**DEFAULTS, **factors}
    common: Spec = {
        "trial": planned.id,
        "evidence": planned.evidence,
        "token": token,
        "connections_count": levels["connections"],
        "write_size_bytes": levels["write_size_bytes"],
        "read_size_bytes": levels["read_size_bytes"],
        "read_wait": levels["read_wait"],
        "reply_size_bytes": levels["reply_size_bytes"],
        "write_rate_bps": _number(levels["write_rate_bps"]) or 0,
        "stop": stop_of(factors),
        "interval_ns": factors["interval_ms"] * NS_PER_MS,
        "deadline_ns": round(factors["deadline_s"] * NS_PER_S),
        "socket": _socket(factors),
        "transport": levels["transport"],
        "io_model": "blocking" if levels["io_model"] == "auto" else levels["io_model"],
        "threads_count": _number(levels["threads"]) or 0,
        "workload": None,
        "datagrams": None,
    }
    if workload is not None:
        common |= _workload(workload, planned, seed)
    if schedule:
        common["connections_count"] = sum(flow.connections for flow in schedule)
    role_of = roles(factors, schedule)
    probe_ms = _number(factors.get("rtt_probe_ms"))
    ends = {}
    for label in (NEAR, FAR):
        ends[label] = common | {
            "host": label,
            "role": role_of[label],
            "opening": "connect" if label == NEAR else "listen",
            "listen_address": listen_address if label == FAR else None,
            "listen_port": listen_port if label == FAR else 0,
            "pin_cpus": list(cpus[label].pin),
            "own_cpus": list(cpus[label].own),
            "schedule": [_flow(flow, label) for flow in schedule],
            "round_trip_probe_ns": None if probe_ms is None else probe_ms * NS_PER_MS,
            "round_trip_probe_by": factors.get("rtt_probe", "udp"),
        }
    return ends


def _flow(flow: PlannedFlow, label: str) -> dict[str, Any]:
    """A flow as one end is told of it."""
    sends = (flow.direction == "send") == (label == NEAR)
    return {
        "start_ns": flow.start_ns,
        "stop_ns": flow.stop_ns,
        "connections_count": flow.connections,
        "transport": flow.transport,
        "congestion_control": flow.congestion_control,
        "role": "sender" if sends else "receiver",
    }


def _workload(workload: PlannedWorkload, planned: PlannedTrial, seed: int) -> Spec:
    """What a cell does beside a plain stream."""
    if workload.workload is None:
        return {"datagrams": workload.datagrams}
    return {"workload": workload_with_seed(workload, planned, seed), "connections_count": workload.strands_count}


def workload_with_seed(workload: PlannedWorkload, planned: PlannedTrial, seed: int) -> dict[str, Any]:
    """What a trial does, with the seed of everything random in it: 63 bits, which every reader of JSON keeps."""
    digest = hashlib.sha256(f"workload of {planned.id}, seed {seed}".encode()).digest()
    drawn = int.from_bytes(digest[:8], "big") >> 1
    return (workload.workload or {}) | {"seed": drawn}


def stop_of(factors: Mapping[str, Any]) -> dict[str, Any]:
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


def _socket(factors: Mapping[str, Any]) -> dict[str, Any]:
    """Options of the data sockets; a factor that has no meaning in the cell stays the kernel's choice."""
    numbers = ("window_bytes", "send_buffer_bytes", "receive_buffer_bytes", "mss_bytes", "busy_poll_us", "dscp")
    switches = ("no_delay", "quick_ack", "cork", "zero_copy", "truncate", "kernel_timestamps")
    pacing = _number(factors.get("pacing_rate_bps"))
    control = factors.get("congestion_control")
    return (
        {name: _number(factors.get(name)) for name in numbers}
        | {name: bool(factors.get(name, False)) for name in switches}
        | {
            "pacing_rate_bytes_per_second": None if pacing is None else pacing // 8,
            "congestion_control": None if control == OWN_CONTROL else control,
            "send_call": factors.get("send_call", "send"),
        }
    )


def _number(level: object) -> int | None:
    """A level that may be ``default``, which leaves it to the kernel."""
    return level if isinstance(level, int) else None
