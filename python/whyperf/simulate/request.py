"""From a cell's factors to a line for `whyperf-agent simulate` (Simulation in crates/schema/src/simulation.rs)."""

import hashlib
from collections.abc import Mapping
from pathlib import Path

from whyperf.foreign import read_text
from whyperf.plan import Cell, Plan, PlannedTrial
from whyperf.profile import Level, ProfileError
from whyperf.run.path import path_seed, path_spec
from whyperf.run.spec import NS_PER_MS, NS_PER_S, roles, socket_of, stop_of, workload_with_seed
from whyperf.wire import SimulatedHost, Simulation

#: Factors that are keys of the hosts' profiles.
OF_PROFILES = ("maxpsz_multiplier", "copy_limit_bytes")


def line(plan: Plan, planned: PlannedTrial, cell: Cell, texts: Mapping[str, str]) -> Simulation:
    """The request to the model for a trial; `texts` are users' host profiles by the path that names them."""
    factors = cell.factors
    role = roles(factors)["near"]
    workload = plan.workload(cell.id)
    asked: Simulation = {
        "trial": planned.id,
        "hosts": [_host(name, texts, _settings(factors)) for name in ends_of(factors)],
        "seed": seed_of(plan, planned),
        "near_role": role,
        "connections_count": int(factors.get("connections", 1)),
        "stop": stop_of(factors),
        "interval_ns": int(factors["interval_ms"]) * NS_PER_MS,
        "deadline_ns": round(float(factors["deadline_s"]) * NS_PER_S),
        "socket": socket_of(factors),
        "evidence": "segments" if planned.is_log else "user",
        "has_stages": planned.stages is not None,
    }
    if (size := factors.get("write_size_bytes")) is not None:
        asked["write_size_bytes"] = int(size)
    if (size := factors.get("read_size_bytes")) is not None:
        asked["read_size_bytes"] = int(size)
    if (size := _number(factors, "mtu_bytes")) is not None:
        asked["mtu_bytes"] = size
    if factors.get("link", "default") != "default":
        asked["link"] = str(factors["link"])
    if factors.get("duplex", "full") == "half":
        asked["is_half_duplex"] = True
    if (adapters := int(factors.get("adapters", 1))) != 1:
        asked["adapters_count"] = adapters
    if (rate := _number(factors, "bus_bytes_per_s")) is not None:
        asked["bus_bytes_per_second"] = rate
    # Segmentation is the host's where the kernel or the device does it.
    if "tso" in factors or "gso" in factors:
        asked["has_segmentation"] = bool(factors.get("tso", True)) and bool(factors.get("gso", True))
    if "gro" in factors:
        asked["has_merging"] = bool(factors["gro"])
    if "tcp_autocorking" in factors:
        asked["has_corking"] = bool(factors["tcp_autocorking"])
    if (path := path_spec(factors, path_seed(planned.id, plan.seed))) is not None:
        asked["path"] = path
    if workload is not None and workload.workload is not None:
        asked["workload"] = workload_with_seed(workload, planned, plan.seed)
    return asked


def bare_line(name: str, texts: Mapping[str, str]) -> Simulation:
    """A trial between two of a host that asks nothing of them but what they are."""
    host = _host(name, texts, {})
    return {"hosts": [host, host], "stop": {"by": "bytes", "payload_bytes": 1}}


def ends_of(factors: Mapping[str, Level]) -> list[str]:
    """The near and the far host: the writer is near, unless the near side receives."""
    writer, _, reader = str(factors["hosts"]).partition(",")
    ends = [writer, reader or writer]
    return ends if roles(factors)["near"] == "sender" else ends[::-1]


def seed_of(plan: Plan, planned: PlannedTrial) -> int:
    """The trial's own seed: the same plan and seed give the same record. 63 bits, which every reader of JSON keeps."""
    digest = hashlib.sha256(f"model of {planned.id}, seed {plan.seed}".encode()).digest()
    return int.from_bytes(digest[:8], "big") >> 1


def user_profiles(plan: Plan) -> dict[str, str]:
    """The texts of the host profiles that are users' own files.

    Raises:
        OSError: a file cannot be read.
        ProfileError: a file is no text.
    """
    names = {name for cell in plan.cells for name in ends_of(cell.factors)}
    return {name: _text(name) for name in sorted(names) if name.endswith(".toml")}


def _text(name: str) -> str:
    try:
        return read_text(Path(name), is_users=True)
    except UnicodeDecodeError:
        raise ProfileError("", "hosts", f"{name} is not UTF-8 text, so it is no host profile in TOML") from None


def _host(name: str, texts: Mapping[str, str], settings: Mapping[str, int]) -> SimulatedHost:
    host: SimulatedHost = {"host": name, "profile": texts[name]} if name in texts else {"host": name}
    if settings:
        host["set"] = dict(settings)
    return host


def _settings(factors: Mapping[str, Level]) -> dict[str, int]:
    """Keys of a host's profile that are factors; a host without the key is refused by the model."""
    levels = {name: _number(factors, name) for name in OF_PROFILES}
    return {name: level for name, level in levels.items() if level is not None}


def _number(factors: Mapping[str, Level], name: str) -> int | None:
    """A level that may be missing, or ``default``, which leaves it to the host."""
    level = factors.get(name)
    return level if isinstance(level, int) else None
