"""The kinds of pipes: which command leads to a host, and how that command takes what it shall run there.

Names of hosts: which ones a pipe's command may get.
"""

import os
import shlex
import shutil
import socket
import subprocess
from dataclasses import dataclass, replace
from pathlib import Path

from whyperf.foreign import parse_json
from whyperf.hosts import is_usable_host
from whyperf.run import adapters
from whyperf.run.agents.pipes import push
from whyperf.run.agents.pipes.binary import local
from whyperf.run.errors import Fault, RunError

SHOWN_LENGTH = 40


def refuse_unusable_host(host: str) -> None:
    """Refuses what a pipe's command, or a command of its configuration, could take for anything but a host.

    Names come from command lines and from the plan.json of results that somebody else may have made.

    Raises:
        RunError: it is no name of a host.
    """
    if not is_usable_host(host):
        shown = host if len(host) <= SHOWN_LENGTH else f"{host[:SHOWN_LENGTH]}…"
        raise RunError(f'"{shown}" cannot be a host; give a name or an address as for ssh', Fault.USAGE)


PLACE = "{host}"
_SSH_COMMAND = "WHYPERF_SSH"
_NAMESPACES = Path("/run/netns")


@dataclass(frozen=True)
class PipeKind:
    """A command that leads to hosts.

    ``command_line`` is what is started, with ``{host}`` where the host goes. ``joins_words`` says whether it puts the
    words behind it together for a shell on the host, as ssh does, instead of starting them as they are; None where
    this is found out with the first call. ``check`` is what a user can try by hand.
    """

    name: str
    command_line: tuple[str, ...]
    joins_words: bool | None
    check: str
    advice: str
    #: True where its hosts are namespaces of this machine, with this kernel's clock.
    is_here: bool = False

    def argv(self, host: str, netns: str | None = None) -> list[str]:
        """Command of an agent on ``host``: the one on its PATH if it is of this version, otherwise ours, pushed.

        It enters the network namespace ``netns`` there, if one is given.

        Raises:
            RunError: the command is not there, the host cannot be reached, or it cannot run our agent.
        """
        return push.serving(self.to(host), netns)

    def quick_argv(self, host: str) -> list[str] | None:
        """Command of an agent that ``host`` has already, found by no call of its own; see `push.starting`.

        Raises:
            RunError: the command is not there.
        """
        return push.starting(self.to(host), None)

    def to(self, host: str) -> push.HostPipe:
        """The pipe to one host.

        Raises:
            RunError: ``host`` could be taken for something else than a host, or the command is not there.
        """
        refuse_unusable_host(host)
        filled = (*self._command(), *(word.replace(PLACE, host) for word in self.command_line[1:]))
        return push.HostPipe(self.name, host, filled, self.joins_words, self.check.replace(PLACE, host))

    def address_of(self, host: str, ip_version: int) -> str:
        """Numeric address of a host for data connections: with ssh, what OpenSSH would connect to.

        Raises:
            RunError: the name does not resolve in that family.
        """
        refuse_unusable_host(host)
        name = self._ssh_name(host) if self == SSH else host
        family = socket.AF_INET6 if ip_version == 6 else socket.AF_INET
        try:
            found = socket.getaddrinfo(name, None, family, socket.SOCK_STREAM)
        except OSError as error:
            remedy = _ADDRESSES.get(self.name, _ADDRESSES[SSH.name])
            raise RunError(f"{name} has no IPv{ip_version} address here ({error.strerror}); {remedy}") from error
        return str(found[0][4][0])

    def _ssh_name(self, host: str) -> str:
        """The hostname that the user's configuration of ssh makes of the name; nothing is connected."""
        pipe = self.to(host)
        done = pipe.call([*self._command(), "-G", "--", host])
        if done.status != 0:
            raise pipe.broken(done)
        return next((line.split(maxsplit=1)[1] for line in done.lines if line.startswith("hostname ")), host)

    def _command(self) -> list[str]:
        """The program and, for ssh, the options that the user has put into `WHYPERF_SSH`."""
        asked = os.environ.get(_SSH_COMMAND, SSH.command_line[0]) if self == SSH else shlex.quote(self.command_line[0])
        command = shlex.split(asked)
        if not command or shutil.which(command[0]) is None:
            raise RunError(f"there is no {self.command_line[0]} on this host; {self.advice}")
        return command


@dataclass(frozen=True)
class _Namespaces(PipeKind):
    """Network namespaces of this machine, by their names for ip-netns(8). Our own agent enters them: no command is run
    there, and nothing is copied.
    """

    def argv(self, host: str, netns: str | None = None) -> list[str]:  # noqa: ARG002 - it is the namespace
        """Command of our agent in the namespace ``host``.

        Raises:
            RunError: there is none of that name.
        """
        refuse_unusable_host(host)
        if not (_NAMESPACES / host).exists():
            raise RunError(
                f"there is no network namespace {host} on this machine; `ip netns list` names them", Fault.USAGE
            )
        return local(str(_NAMESPACES / host))

    def quick_argv(self, host: str) -> list[str] | None:
        """The same."""
        return self.argv(host)

    def address_of(self, host: str, ip_version: int) -> str:
        """The only address of a namespace that is not of its loopback device, nor of one link alone.

        Raises:
            RunError: it has none or several.
        """
        self.argv(host)
        command = [*self._command(), "-json", "-netns", host, f"-{ip_version}", "address", "show", "scope", "global"]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise RunError(f"the addresses of the namespace {host} are not known: {done.stderr.strip()}")
        devices = parse_json(done.stdout or "[]")
        # ip(8) prints an empty object for each device without such an address.
        found = [entry["local"] for device in devices for entry in device.get("addr_info", ()) if "local" in entry]
        if len(found) != 1:
            has = f"has the addresses {', '.join(found)}" if found else f"has no IPv{ip_version} address"
            raise RunError(f"the namespace {host} {has}; name the one to connect to with --address", Fault.USAGE)
        return str(found[0])


# No options but -T: the user's ssh configuration decides how a host is reached.
SSH = PipeKind(
    "ssh",
    ("ssh", "-T", "--", PLACE),
    joins_words=True,
    check=f"ssh {PLACE} true",
    advice="install the OpenSSH client (apt-get install openssh-client)",
)
# Without a terminal, which would change bytes.
_KUBECTL = PipeKind(
    "kubectl",
    ("kubectl", "exec", "-i", PLACE, "--"),
    joins_words=False,
    check=f"kubectl exec {PLACE} -- true",
    advice="install kubectl",
)
_PODMAN = PipeKind(
    "podman",
    ("podman", "exec", "-i", PLACE),
    joins_words=False,
    check=f"podman exec {PLACE} true",
    advice="install podman (apt-get install podman)",
)
_DOCKER = replace(
    _PODMAN,
    name="docker",
    command_line=("docker", *_PODMAN.command_line[1:]),
    check=f"docker exec {PLACE} true",
    advice="install the Docker client",
)
# Not --unbuffered: it gives the agent a terminal (srun(1)). Without it whole lines are passed on, and every frame ends
# with the end of a line. --overlap: the near and the far agent of a node are two steps of one job.
_SRUN = PipeKind(
    "srun",
    (
        "srun",
        f"--nodelist={PLACE}",
        "--nodes=1",
        "--ntasks=1",
        "--quiet",
        "--input=0",
        "--overlap",
        "--cpu-bind=none",
    ),
    joins_words=False,
    check=f"srun --nodelist={PLACE} true",
    advice="install the Slurm client (apt-get install slurm-client)",
)
_NETNS = _Namespaces(
    "netns",
    ("ip", "netns", "exec", PLACE),
    joins_words=False,
    check=f"ip netns exec {PLACE} true",
    advice="install iproute2 (apt-get install iproute2)",
    is_here=True,
)
#: Where the address of a host comes from whose name does not resolve.
_ADDRESSES = {
    SSH.name: "name the address with --address, of many hosts in a file of hosts (--hosts)",
    _KUBECTL.name: "kubectl get pods -o json | whyperf site k8s hosts writes the addresses of pods for --hosts",
}
KINDS = {kind.name: kind for kind in (SSH, _KUBECTL, _PODMAN, _DOCKER, _SRUN, _NETNS)}


def _adapters() -> PipeKind:
    """Namespaces of this machine, which `whyperf.run.adapters` makes for this process."""
    return PipeKind(
        adapters.ADAPTERS,
        ("nsenter", f"--net={adapters.folder()}/{PLACE}", "--"),
        joins_words=False,
        check="nsenter --version",
        advice="install util-linux",
    )


def by_name(via: str | None) -> PipeKind:
    """The kind of pipe that ``--via`` names: a name of `KINDS`, or a command with ``{host}`` in it. None is ssh.

    Raises:
        RunError: it is neither.
    """
    if via is None:
        return SSH
    if via == adapters.ADAPTERS:
        return _adapters()
    if via in KINDS:
        return KINDS[via]
    shown = via if len(via) <= SHOWN_LENGTH else f"{via[:SHOWN_LENGTH]}…"
    if PLACE not in via:
        known = ", ".join((*KINDS, adapters.ADAPTERS))
        raise RunError(f'--via "{shown}" has no {{host}} in it; give a command with {{host}}, or {known}', Fault.USAGE)
    try:
        command_line = tuple(shlex.split(via))
    except ValueError as error:
        raise RunError(f'--via "{shown}" is no command line: {error}', Fault.USAGE) from None
    if PLACE in command_line[0]:
        raise RunError(f'--via "{shown}" begins with {{host}}; give a command before it', Fault.USAGE)
    return PipeKind(
        Path(command_line[0]).name,
        command_line,
        joins_words=None,
        check=f"{via} true",
        advice="give another command to --via",
    )
