"""The demands of a cell on the embedded testbed, as the request that builds it, and what of that a host lacks."""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from whyperf.plan import Cell
from whyperf.profile.factor import cpus_of_list
from whyperf.run.ends import FAR, NEAR, Cpus, place_router
from whyperf.run.errors import Fault, RunError
from whyperf.wire import HostFacts, PathSpec, RequestBuildTestbed, TcpQueueing

PARAMETERS = {name: f"net.ipv4.{name}" for name in ("tcp_limit_output_bytes", "tcp_autocorking", "tcp_tso_win_divisor")}
"""Factors that are kernel parameters of TCP, which each network namespace has for itself, by name."""

TESTBED_FACTORS = (
    *("mtu_bytes", "tso", "gso", "gro", "near_cpus", "far_cpus", "rps_cpus", "threaded_napi"),
    *PARAMETERS,
)
"""A testbed is built anew for a cell with another level of one of these."""

THREADED_NAPI_SINCE = (5, 12)
"""The version of Linux that has `threaded` in sysfs."""


def request_for(
    factors: Mapping[str, Any],
    online: Sequence[int],
    cpus: Mapping[str, Cpus],
    roles: Mapping[str, str],
    path: PathSpec | None,
) -> RequestBuildTestbed:
    """The testbed of a cell, on a host with these CPUs of which each side has its own."""
    asked: RequestBuildTestbed = {
        "request": "build_testbed",
        "mtu_bytes": int(factors["mtu_bytes"]),
        "tso": bool(factors["tso"]),
        "gso": bool(factors["gso"]),
        "gro": bool(factors["gro"]),
        "near_rps_cpus": list(cpus[NEAR].own),
        "far_rps_cpus": list(cpus[FAR].own),
    }
    if path is not None:
        asked["path"] = path
        asked["path_cpu"], steered = place_router(online, cpus, roles)
        asked["near_rps_cpus"], asked["far_rps_cpus"] = steered[NEAR], steered[FAR]
    if factors.get("threaded_napi"):
        asked["napi_threads"] = {"near_cpus": asked["near_rps_cpus"], "far_cpus": asked["far_rps_cpus"]}
    level = str(factors.get("rps_cpus", "auto"))
    if level != "auto":
        asked["near_rps_cpus"] = asked["far_rps_cpus"] = cpus_of_list(level)
    if tcp := _queueing(factors):
        asked["tcp"] = tcp
    return asked


def missing_settings(levels: Mapping[str, Any], host: HostFacts) -> dict[str, str]:
    """Which of the levels a host cannot have, and what it lacks, by factor."""
    missing = {}
    absent = [cpu for cpu in cpus_of_list(str(levels.get("rps_cpus", ""))) if cpu not in host["cpus"]]
    if absent:
        missing["rps_cpus"] = f"this host has no CPU {absent[0]}; it has {', '.join(map(str, host['cpus']))}"
    if levels.get("threaded_napi") and not _has_threaded_napi(host["kernel"]):
        version = ".".join(map(str, THREADED_NAPI_SINCE))
        missing["threaded_napi"] = f"Linux {host['kernel']} has no threaded NAPI, which came with {version}"
    asked = {f"tcp_{name}" for name in _queueing(levels)}
    for name, parameter in PARAMETERS.items():
        if name in asked and parameter not in host["sysctls"]:
            missing[name] = f"this kernel has no {parameter}"
    return missing


def refuse_missing_settings(cells: Iterable[Cell], host: HostFacts) -> None:
    """Refuses cells whose testbed this host cannot have.

    Raises:
        RunError: with the factor and what the host lacks.
    """
    for cell in cells:
        for name, lacking in missing_settings(cell.factors, host).items():
            level = str(cell.factors[name]).lower()
            raise RunError(f"{name} {level} cannot be set: {lacking}; choose another level", Fault.USAGE)


def _queueing(factors: Mapping[str, Any]) -> TcpQueueing:
    """The kernel parameters that a cell sets; the others stay as the kernel starts a namespace."""
    asked: TcpQueueing = {}
    if isinstance(limit := factors.get("tcp_limit_output_bytes"), int):
        asked["limit_output_bytes"] = limit
    if factors.get("tcp_autocorking") is False:
        asked["autocorking"] = False
    if isinstance(divisor := factors.get("tcp_tso_win_divisor"), int):
        asked["tso_win_divisor"] = divisor
    return asked


def _has_threaded_napi(kernel: str) -> bool:
    """True where a kernel release such as `6.1.0-13-amd64` has it; an unknown form counts as new."""
    found = re.match(r"(\d+)\.(\d+)", kernel)
    return found is None or (int(found[1]), int(found[2])) >= THREADED_NAPI_SINCE
