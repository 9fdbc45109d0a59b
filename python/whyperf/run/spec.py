"""From a cell's factors to what each end is told (TrialSpec in crates/schema/src/trial.rs)."""

import secrets
from collections.abc import Mapping
from typing import Any

from whyperf.plan import PlannedTrial
from whyperf.run.ends import FAR, NEAR, Cpus

NS_PER_S = 1_000_000_000
NS_PER_MS = 1_000_000

Spec = dict[str, Any]


def roles(factors: Mapping[str, Any]) -> dict[str, str]:
    """Which end sends: the near one, unless the direction is ``receive``."""
    near_sends = factors["direction"] == "send"
    return {NEAR: "sender" if near_sends else "receiver", FAR: "receiver" if near_sends else "sender"}


def trial_specs(
    planned: PlannedTrial, factors: Mapping[str, Any], cpus: Mapping[str, Cpus], listen_address: str, listen_port: int
) -> dict[str, Spec]:
    """Both ends' specs, with a random token that only they know."""
    token = secrets.token_hex(32)
    common: Spec = {
        "trial": planned.id,
        "evidence": planned.evidence,
        "token": token,
        "connections_count": factors["connections"],
        "write_size_bytes": factors["write_size_bytes"],
        "read_size_bytes": factors["read_size_bytes"],
        "read_wait": factors["read_wait"],
        "reply_size_bytes": factors["reply_size_bytes"],
        "write_rate_bps": _number(factors["write_rate_bps"]) or 0,
        "stop": _stop(factors),
        "interval_ns": factors["interval_ms"] * NS_PER_MS,
        "deadline_ns": round(factors["deadline_s"] * NS_PER_S),
        "socket": _socket(factors),
    }
    role_of = roles(factors)
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
        }
    return ends


def _stop(factors: Mapping[str, Any]) -> dict[str, Any]:
    transfer = _number(factors["transfer_bytes"])
    if transfer is not None:
        return {"by": "bytes", "payload_bytes": transfer}
    return {
        "by": "duration",
        "warmup_ns": round(factors["warmup_s"] * NS_PER_S),
        "measure_ns": round(factors["duration_s"] * NS_PER_S),
        "cooldown_ns": round(factors["cooldown_s"] * NS_PER_S),
    }


def _socket(factors: Mapping[str, Any]) -> dict[str, Any]:
    sizes = ("window_bytes", "send_buffer_bytes", "receive_buffer_bytes", "mss_bytes")
    pacing = _number(factors["pacing_rate_bps"])
    return {name: _number(factors[name]) for name in sizes} | {
        "pacing_rate_bytes_per_second": None if pacing is None else pacing // 8,
        "no_delay": factors["no_delay"],
        "quick_ack": factors["quick_ack"],
        "congestion_control": factors["congestion_control"],
    }


def _number(level: object) -> int | None:
    """A level that may be ``default``, which leaves it to the kernel."""
    return level if isinstance(level, int) else None
