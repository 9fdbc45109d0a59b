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
SSH_FAILED = 255
"""What ssh(1) ends with when it broke, or when what ran there was killed."""


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
    lines = _run([*_ssh_command(), "-G", host], host).splitlines()
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


def _remote(host: str, script: str) -> str:
    return _run([*_ssh_command(), "-T", host, script], host)


def _run(argv: list[str], host: str) -> str:
    """What ssh prints.

    Raises:
        RunError: it ended with another status than 0.
    """
    done = _finished(argv, host)
    if done.returncode != 0:
        raise _unreachable(host, done)
    return done.stdout.decode(errors="replace")


def _finished(argv: list[str], host: str, data: bytes = b"") -> subprocess.CompletedProcess[bytes]:
    try:
        return subprocess.run(argv, input=data, capture_output=True, timeout=_SSH_TIMEOUT_S, check=False)
    except subprocess.TimeoutExpired:
        raise RunError(f"ssh to {host} took over {_SSH_TIMEOUT_S} s; does `ssh {host} true` work?") from None
    except OSError as error:
        raise RunError(f"starting {argv[0]}: {error.strerror}") from error


def _unreachable(host: str, done: subprocess.CompletedProcess[bytes]) -> RunError:
    return RunError(f"{host} cannot be reached by ssh: {_last_line(done)}; does `ssh {host} true` work?")


def _last_line(done: subprocess.CompletedProcess[bytes]) -> str:
    lines = done.stderr.decode(errors="replace").strip().splitlines()
    if lines:
        return lines[-1].strip()
    return f"killed by signal {-done.returncode}" if done.returncode < 0 else f"status {done.returncode}"


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
    found = _remote(host, f"cd {folder} 2>/dev/null && {_has_sum(name, digest)} && pwd || true").strip()
    if not found:
        found = _store(host, folder, name, digest, data)
    return shlex.quote(f"{found.splitlines()[-1]}/{name}")


def _store(host: str, folder: str, name: str, digest: str, data: bytes) -> str:
    """Write a file on the host, and return its folder there."""
    # Written beside and renamed, so that a push that breaks off leaves no agent that half exists, and nothing else.
    beside = f".{name}.$$"
    whole = f"{{ {_has_sum(beside, digest)} || {{ echo it arrived incomplete >&2; false; }}; }}"
    script = (
        f"umask 077 && mkdir -p {folder} && cd {folder} && "
        f"{{ cat > {beside} && {whole} && chmod 700 {beside} && mv {beside} {name} && pwd"
        f" || {{ rm -f {beside}; false; }}; }}"
    )
    done = _finished([*_ssh_command(), "-T", host, script], host, data)
    # ssh(1) ends with the status of what ran there, with 255 when it broke itself, or by a signal.
    if 0 < done.returncode < SSH_FAILED:
        raise RunError(
            f"{host} cannot keep the agent: {_last_line(done)}; make room there, or install whyperf-agent {__version__}"
        )
    if done.returncode != 0:
        raise _unreachable(host, done)
    return done.stdout.decode(errors="replace").strip()


def _has_sum(name: str, digest: str) -> str:
    return f'echo "{digest}  {name}" | sha256sum -c --status'
