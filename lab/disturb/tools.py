"""The things that a disturbance needs of this host, and those of them that are missing."""

import shutil
from collections.abc import Iterable
from pathlib import Path

from lab.disturb.disturbances import (
    Classifiers,
    CpuQuota,
    Disturbance,
    Firewall,
    MemoryLimit,
    Queue,
    Route,
    Sysctl,
    Traffic,
)
from lab.disturb.host import CGROUPS

_PROGRAMS: dict[type, tuple[str, str]] = {
    Firewall: ("nft", "nftables"),
    Queue: ("tc", "iproute2"),
    Route: ("ip", "iproute2"),
    Classifiers: ("tc", "iproute2"),
    Sysctl: ("sysctl", "procps"),
    Traffic: ("nsenter", "util-linux"),
}


def lacks(disturbances: Iterable[Disturbance]) -> str:
    """Why this host cannot make one of them, with what to install; "" if it can make all."""
    for disturbance in disturbances:
        program, package = _PROGRAMS.get(type(disturbance), ("", ""))
        if program and shutil.which(program) is None:
            return f"the program {program} is missing; install the package {package}"
        if isinstance(disturbance, CpuQuota) and not _has(CGROUPS / "cpu" / "cpu.cfs_quota_us", "cpu"):
            return "there is no cpu controller of control groups version 1"
        if isinstance(disturbance, MemoryLimit) and not _has(CGROUPS / "memory" / "memory.kmem.tcp.limit_in_bytes", ""):
            return "there is no memory controller of control groups version 1 that counts the memory of TCP"
    return ""


def _has(file: Path, controller: str) -> bool:
    """True where the controller is there; the root group of cpu has no quota itself."""
    return file.exists() or (bool(controller) and (file.parent / "cgroup.procs").exists())
