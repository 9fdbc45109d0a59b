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
from whyperf.hosts import is_usable_host
from whyperf.run.errors import Fault, RunError

_SSH_TIMEOUT_S = 60
SHOWN_LENGTH = 40
SSH_FAILED = 255
"""What ssh(1) ends with when it broke, or when what ran there was killed."""


def agent_binary() -> Path:
    """Find the agent's binary: ``WHYPERF_AGENT``, next to this Python, on PATH, or in a source tree.

    Raises:
        RunError: there is none.
    """
    named = os.environ.get("WHYPERF_AGENT")
    found = shutil.which("whyperf-agent")
    tree = Path(__file__).parents[4] / "target" / "release" / "whyperf-agent"
    candidates = [named, Path(sys.executable).parent / "whyperf-agent", found, tree]
    for candidate in candidates:
        if candidate and os.access(candidate, os.X_OK):
            return Path(candidate)
    raise RunError("whyperf-agent is not installed; run `make setup`, or name it in WHYPERF_AGENT")


def local(netns: str | None = None) -> list[str]:
    """Command of an agent on this host, in the network namespace ``netns`` if one is given."""
    argv = [str(agent_binary()), "serve"]
    return [*argv, "--netns", netns] if netns else argv


def ssh(host: str, netns: str | None = None) -> list[str]:
    """Command of an agent on ``host``: the one on its PATH if it is of this version, otherwise ours, pushed.

    It enters the network namespace ``netns`` there, if one is given.

    The user's own OpenSSH configuration decides how the host is reached; ``WHYPERF_SSH`` replaces the command, as
    ``GIT_SSH_COMMAND`` does.

    Raises:
        RunError: no ssh, the host cannot be reached, or it cannot run our agent.
    """
    for line in _remote(host, "command -v whyperf-agent && whyperf-agent --version; uname -sm").splitlines():
        if line.strip() == f"whyperf-agent {__version__}":
            return _ssh(host, f"exec whyperf-agent {_serve(netns)}")
    return _ssh(host, _push(host, _serve(netns)))


def refuse_unusable_host(host: str) -> None:
    """Refuses what ssh, or a command of its configuration, could take for an option or for anything but a host.

    Names come from command lines and from the plan.json of results that somebody else may have made.

    Raises:
        RunError: it is no name of a host.
    """
    if not is_usable_host(host):
        shown = host if len(host) <= SHOWN_LENGTH else f"{host[:SHOWN_LENGTH]}…"
        raise RunError(f'"{shown}" cannot be a host; give a name or an address as for ssh', Fault.USAGE)


def address_of(host: str, ip_version: int) -> str:
    """Numeric address of an ssh host for data connections: what OpenSSH would connect to.

    Raises:
        RunError: the name does not resolve in that family.
    """
    lines = _run(_ssh(host, option="-G"), host).splitlines()
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


def _ssh(host: str, *script: str, option: str = "-T") -> list[str]:
    """The command line of every ssh; no host gets to ssh but through here."""
    refuse_unusable_host(host)
    return [*_ssh_command(), option, "--", host, *script]


def _remote(host: str, script: str) -> str:
    return _run(_ssh(host, script), host)


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


def _serve(netns: str | None) -> str:
    return f"serve --netns {shlex.quote(netns)}" if netns else "serve"


def _push(host: str, serve: str) -> str:
    """Copy our agent to the host unless it is there, and return the script that starts it there, to `serve`."""
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
    name = f"agent-{__version__}-{digest[:16]}"
    kept = f"{_ENTER} 2>/dev/null && {_is_safe(name)} && {_has_sum(name, digest)} && echo kept; true"
    if not _remote(host, _in_sh(kept)).strip():
        _store(host, name, digest, data)
    # The file is opened once: what has the right sum is what is started, whatever has its name by then.
    opened = "/proc/$$/fd/3"
    checked = f'{_is_safe(opened)} && [ "$(sha256sum <&3)" = "{digest}  -" ]'
    changed = "{ echo the agent in $d has changed since it was copied there, run the same command again >&2; exit 1; }"
    return f"exec {_in_sh(f'{_ENTER} && exec 3< {name} && {{ {checked} || {changed}; }} && exec {opened} {serve}')}"


def _store(host: str, name: str, digest: str, data: bytes) -> None:
    """Write a file on the host."""
    # Written under another name and renamed, so that an interrupted copy leaves no partial agent.
    partial = f".{name}.$$"
    whole = f"{{ {_has_sum(partial, digest)} || {{ echo it arrived incomplete >&2; false; }}; }}"
    script = (
        f"{_MAKE} && {_ENTER} && "
        f"{{ cat > {partial} && {whole} && chmod 700 {partial} && mv {partial} {name}"
        f" || {{ rm -f {partial}; false; }}; }}"
    )
    done = _finished(_ssh(host, _in_sh(script)), host, data)
    # ssh(1) ends with the status of what ran there, with 255 when it broke itself, or by a signal.
    if 0 < done.returncode < SSH_FAILED:
        raise RunError(
            f"{host} cannot keep the agent: {_last_line(done)}; "
            f"put that right, or install whyperf-agent {__version__} there"
        )
    if done.returncode != 0:
        raise _unreachable(host, done)


_FOLDER = 'd="${XDG_CACHE_HOME:-$HOME/.cache}/whyperf"'
_MAKE = f'umask 077 && {_FOLDER} && mkdir -p "$d"'


def _is_safe(path: str) -> str:
    """Whether a file or folder is the user's own, and nobody else may write to it."""
    return f"[ -O {path} ] && case $(ls -ldL {path}) in ?????w*|????????w*) false;; esac"


# A folder that is a link, or that somebody else may write to, could hold another agent by the time it is started.
# It is looked at from inside: what is entered cannot be exchanged for another one.
_ENTER = (
    f'{_FOLDER} && {{ [ ! -L "$d" ] || {{ echo "$d is a symbolic link" >&2; false; }}; }} && cd -P "$d" && '
    f'{{ {{ {_is_safe(".")}; }} || {{ echo "$d belongs to another user, or others can write to it" >&2; false; }}; }}'
)


def _in_sh(script: str) -> str:
    """A script for whatever shell the user has there."""
    return f"sh -c {shlex.quote(script)}"


def _has_sum(name: str, digest: str) -> str:
    return f'echo "{digest}  {name}" | sha256sum -c --status'
