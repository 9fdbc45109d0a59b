"""The subjects of the comparison, and the machine."""

import os
import platform
import subprocess
from pathlib import Path

from whyperf import __version__


def describe() -> dict[str, str]:
    """Versions and machine, by name."""
    return {
        "whyperf": __version__,
        "iperf3": _version("iperf3", "--version"),
        "nuttcp": _version("nuttcp", "-V").removeprefix("nuttcp-"),
        "Linux": platform.release(),
        "CPU": f"{_cpu_model()} × {os.cpu_count()}",
    }


def _version(*command: str) -> str:
    lines = subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()
    return lines[0].removeprefix("iperf ").split(" (")[0]


def _cpu_model() -> str:
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.partition(":")[2].strip()
    return platform.machine()
