"""The agent's binaries on this host: ours, and those for hosts of other architectures."""

import hashlib
import os
import platform
import secrets
import shutil
import sys
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from whyperf.run.errors import RunError

RUN, RUN_ID = "WHYPERF_RUN", secrets.token_hex(8)
"""The variable with which this controller marks what it starts here and on other hosts, and its value. An agent takes
no process with its own mark for another program: other agents, and the commands of their pipes. It is no secret."""
AGENTS = "WHYPERF_AGENTS"
"""Names a folder with agents for other architectures, each called ``whyperf-agent-MACHINE``."""


@dataclass(frozen=True)
class Binary:
    """An agent's file, as long as it was when it was read, and its SHA-256 in hexadecimal."""

    path: Path
    byte_count: int
    digest: str


def agent_binary() -> Path:
    """Find the agent's binary: ``WHYPERF_AGENT``, next to this Python, on PATH, or in a source tree.

    Raises:
        RunError: there is none.
    """
    named = os.environ.get("WHYPERF_AGENT")
    found = shutil.which("whyperf-agent")
    tree = Path(__file__).parents[5] / "target" / "release" / "whyperf-agent"
    candidates = [named, Path(sys.executable).parent / "whyperf-agent", found, tree]
    for candidate in candidates:
        if candidate and os.access(candidate, os.X_OK):
            return Path(candidate)
    raise RunError("whyperf-agent is not installed; run `make setup`, or name it in WHYPERF_AGENT")


def local(netns: str | None = None) -> list[str]:
    """Command of an agent on this host, in the network namespace ``netns`` if one is given."""
    argv = [str(agent_binary()), "serve"]
    return [*argv, "--netns", netns] if netns else argv


def this_machine() -> str:
    """As `uname -sm` prints it."""
    return f"{platform.system()} {platform.machine()}"


def agent_for(machine: str) -> Binary | None:
    """The agent for a host where `uname -sm` prints ``machine``; None where this host has none.

    Raises:
        RunError: this host's own agent is not installed, and ``machine`` needs it.
    """
    if machine == this_machine():
        return _of_file(agent_binary())
    folder = os.environ.get(AGENTS)
    system, _, architecture = machine.partition(" ")
    if not folder or system != "Linux" or not architecture.replace("_", "").isalnum():
        return None
    path = Path(folder) / f"whyperf-agent-{architecture}"
    return _of_file(path) if path.is_file() else None


def _of_file(path: Path) -> Binary:
    state = path.stat()
    return _hashed(path, state.st_mtime_ns, state.st_size)


@lru_cache(maxsize=8)
def _hashed(path: Path, _mtime_ns: int, byte_count: int) -> Binary:
    """Read once for all hosts, unless the file changes."""
    return Binary(path, byte_count, hashlib.sha256(path.read_bytes()).hexdigest())
