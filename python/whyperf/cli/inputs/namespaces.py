"""Network namespaces of this host: an address that one of them has is measured there, without ssh."""

import json
import os
import subprocess
from ipaddress import ip_address
from pathlib import Path

from whyperf.cli.exits import NAMESPACES
from whyperf.hosts.known_hosts import is_numeric

MAX_LOOKED_AT = 256
"""Namespaces that are asked for their addresses, each for some milliseconds."""
_ASK_S = 5.0


def namespace_of(address: str) -> str | None:
    """The name of another network namespace (ip-netns(8)) of this host that has the address; None for most addresses,
    and without the right to look.
    """
    if os.geteuid() or not is_numeric(address) or ip_address(address).is_loopback or not NAMESPACES.is_dir():
        return None
    others = [path.name for path in sorted(NAMESPACES.iterdir()) if _is_another(path)]
    return next((name for name in others[:MAX_LOOKED_AT] if _has(name, address)), None)


def _is_another(path: Path) -> bool:
    """True where it is a namespace other than that of this process; one that goes meanwhile is none."""
    try:
        return path.stat().st_ino != Path("/proc/self/ns/net").stat().st_ino
    except OSError:
        return False


def _has(name: str, address: str) -> bool:
    asked = ("ip", "-json", "-n", name, "address", "show")
    try:
        done = subprocess.run(asked, capture_output=True, text=True, check=True, timeout=_ASK_S)
        devices = json.loads(done.stdout or "[]")
    except (OSError, subprocess.SubprocessError, ValueError):
        return False
    found = {held.get("local") for device in devices for held in device.get("addr_info", ())}
    return str(ip_address(address)) in found
