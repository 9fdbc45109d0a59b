"""The pipes to an agent: a local child, a child in a network namespace, and ``ssh HOST``."""

import hashlib
import os
import platform
import shlex
import shutil
import socket
import subprocess
import sys
from pathlib import Path

from whyperf import __version__
from whyperf.run.errors import Fault, RunError

_SSH_TIMEOUT_S = 60


def agent_binary() -> Path:
    """Find the agent's binary: ``WHYPERF_AGENT``, beside this Python, on PATH, or in a source tree.

    Raises:
        RunError: there is none.
    """
    named = os.environ.get("WHYPERF_AGENT")
    found = shutil.which("whyperf-agent")
    tree = Path(__file__).parents[3] / "target" / "release" / "whyperf-agent"
    candidates = [named, Path(sys.executable).parent / "whyperf-agent", found, tree]
    for candidate in candidates:
        if candidate and os.access(candidate, os.X_OK):
            return Path(candidate)
    raise RunError("whyperf-agent is not installed; run `make setup`, or name it in WHYPERF_AGENT")


def local(netns: str | None = None) -> list[str]:
    """Command of an agent on this host, in the network namespace ``netns`` if one is given."""
    argv = [str(agent_binary()), "serve"]
    return [*argv, "--netns", netns] if netns else argv


def ssh(host: str) -> list[str]:
    """Command of an agent on ``host``: the one on its PATH if it is of this version, otherwise ours, pushed.

    The user's own OpenSSH configuration decides how the host is reached; ``WHYPERF_SSH`` replaces the command, as
    ``GIT_SSH_COMMAND`` does.

    Raises:
        RunError: no ssh, the host cannot be reached, or it cannot run our agent.
    """
    for line in _remote(host, "command -v whyperf-agent && whyperf-agent --version; uname -sm").splitlines():
        if line.strip() == f"whyperf-agent {__version__}":
            return [*_ssh_command(), "-T", host, "exec whyperf-agent serve"]
    return [*_ssh_command(), "-T", host, f"exec {_push(host)} serve"]


def address_of(host: str, ip_version: int) -> str:
    """Numeric address of an ssh host for data connections: what OpenSSH would connect to.

    Raises:
        RunError: the name does not resolve in that family.
    """
    lines = _run([*_ssh_command(), "-G", host]).splitlines()
    name = next((line.split(maxsplit=1)[1] for line in lines if line.startswith("hostname ")), host)
    family = socket.AF_INET6 if ip_version == 6 else socket.AF_INET
    try:
        found = socket.getaddrinfo(name, None, family, socket.SOCK_STREAM)
    except OSError as error:
        raise RunError(
            f"{name} has no IPv{ip_version} address here ({error.strerror}); name the address with --address"
        ) from error
    return str(found[0][4][0])


def _ssh_command() -> list[str]:
    command = shlex.split(os.environ.get("WHYPERF_SSH", "ssh"))
    if not command or shutil.which(command[0]) is None:
        raise RunError("there is no ssh on this host; install the OpenSSH client (apt-get install openssh-client)")
    return command


def _remote(host: str, script: str, data: bytes | None = None) -> str:
    return _run([*_ssh_command(), "-T", host, script], data, host)


def _run(argv: list[str], data: bytes | None = None, host: str | None = None) -> str:
    try:
        done = subprocess.run(
            argv,
            input=data if data is not None else b"",
            capture_output=True,
            timeout=_SSH_TIMEOUT_S,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise RunError(f"ssh to {host} took over {_SSH_TIMEOUT_S} s; does `ssh {host} true` work?") from None
    except OSError as error:
        raise RunError(f"starting {argv[0]}: {error.strerror}") from error
    if done.returncode != 0:
        said = done.stderr.decode(errors="replace").strip().splitlines() or [f"status {done.returncode}"]
        raise RunError(f"{host or argv[0]} cannot be reached by ssh: {said[-1].strip()}; does `ssh {host} true` work?")
    return done.stdout.decode(errors="replace")


def _push(host: str) -> str:
    """Copy our agent to the host unless it is there, check its sum, and return its path there."""
    binary = agent_binary()
    data = binary.read_bytes()
    digest = hashlib.sha256(data).hexdigest()
    here = f"{platform.system()} {platform.machine()}"
    there = _remote(host, "uname -sm").strip().splitlines()[-1:]
    if there != [here]:
        raise RunError(
            f"{host} is {' '.join(there) or 'unknown'}, this host {here}; install whyperf-agent {__version__} there",
            Fault.HOST,
        )
    folder = '"${XDG_CACHE_HOME:-$HOME/.cache}/whyperf"'
    name = f"agent-{__version__}-{digest[:16]}"
    # Written beside and renamed, so that a push that breaks off leaves no agent that half exists.
    check = f'cd {folder} 2>/dev/null && echo "{digest}  {name}" | sha256sum -c --status && pwd'
    store = (
        f"umask 077 && mkdir -p {folder} && cd {folder} && cat > .{name}.$$ && chmod 700 .{name}.$$ "
        f"&& mv .{name}.$$ {name} && {check}"
    )
    found = _remote(host, f"{check} || true").strip()
    if not found:
        found = _remote(host, store, data).strip()
    if not found:
        raise RunError(f"the agent pushed to {host} does not have the checksum it was sent with; is its disk full?")
    return shlex.quote(f"{found.splitlines()[-1]}/{name}")
