"""A far host that is reached by real ssh: sshd in the far namespace of a testbed, its home in a test's folder."""

import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.e2e import host_state
from tests.e2e.host_state import Process
from tests.e2e.whyperf_command import Done, argv, whyperf
from whyperf.run.agents import pipes
from whyperf.run.agents.agent import Agent
from whyperf.wire import RequestBuildTestbed

SSHD = Path("/usr/sbin/sshd")
#: sshd wants a folder for its privilege separation, which a host has only where its service was started once. It gets
#: one in a mount namespace of its own, which ends with it.
OWN_RUN_FOLDER = (
    "unshare",
    "--mount",
    "sh",
    "-c",
    'mount -t tmpfs none /run && mkdir -m 755 /run/sshd && exec "$@"',
    "sh",
)
PORT, CLOSED_PORT = 2222, 2223
LISTENS_WITHIN_S = 60
TESTBED: RequestBuildTestbed = {
    "request": "build_testbed",
    "mtu_bytes": 1500,
    "tso": True,
    "gso": True,
    "gro": True,
    "near_rps_cpus": [0],
    "far_rps_cpus": [0],
}

SSHD_CONFIG = """
Port {port}
HostKey {folder}/host-key
AuthorizedKeysFile {folder}/authorized-keys
PidFile none
StrictModes no
UsePAM no
PermitRootLogin prohibit-password
PasswordAuthentication no
KbdInteractiveAuthentication no
SetEnv HOME={folder}/home XDG_CACHE_HOME={folder}/home/cache PATH={folder}/bin:/usr/bin:/bin {mark_name}={mark}
"""
SSH_CONFIG = """
Host far
  HostName {address}
  Port {port}
Host closed
  HostName {address}
  Port {closed_port}
Host *
  User root
  IdentityFile {folder}/user-key
  IdentitiesOnly yes
  IdentityAgent none
  StrictHostKeyChecking no
  UserKnownHostsFile /dev/null
  LogLevel ERROR
"""


@dataclass(frozen=True)
class FarHost:
    """The host `far` of `whyperf` commands that run in the near namespace."""

    folder: Path
    near_netns: str
    far_netns: str
    mark: str
    address: str

    @property
    def results(self) -> Path:
        """Where `run` puts its results."""
        return self.folder / "results"

    def run(self, *arguments: object, host: str = "far") -> Done:
        """`whyperf run HOST … --out RESULTS` in the near namespace."""
        arguments = ("run", host, *arguments, "--no-report", "--out", self.results)
        return whyperf(*arguments, folder=self.folder, netns=self.near_netns, environment=self._ssh())

    def run_argv(self, *arguments: object) -> list[str]:
        """The same as a command line for `env`-like starters."""
        settings = [f"{name}={value}" for name, value in self._ssh().items()]
        run = argv("run", "far", *arguments, "--no-report", "--out", self.results)
        return [*self._nsenter(self.near_netns), "env", *settings, *run]

    def command(self, *arguments: object) -> Done:
        """Any `whyperf` command in the near namespace."""
        return whyperf(*arguments, folder=self.folder, netns=self.near_netns, environment=self._ssh())

    def argv(self, *arguments: object) -> list[str]:
        """The same as a command line for `env`-like starters."""
        settings = [f"{name}={value}" for name, value in self._ssh().items()]
        return [*self._nsenter(self.near_netns), "env", *settings, *argv(*arguments)]

    def pushed(self) -> list[Path]:
        """Agents that lie in the far host's cache, whole or not."""
        return sorted((self.folder / "home" / "cache" / "whyperf").glob("*"))

    def allow(self, options: str = "") -> None:
        """Lets the user's key in, with options of authorized_keys (sshd(8))."""
        key = (self.folder / "user-key.pub").read_text()
        (self.folder / "authorized-keys").write_text(f"{options} {key}".lstrip())

    def refuse(self) -> None:
        """Lets no key in."""
        (self.folder / "authorized-keys").write_text("")

    def install_agent(self, script: str) -> None:
        """Puts a shell script on the far host's PATH as `whyperf-agent`."""
        path = self.folder / "bin" / "whyperf-agent"
        path.write_text(f"#!/bin/sh\n{script}\n")
        path.chmod(0o755)

    def far_agents(self) -> list[Process]:
        """Agents that run on the far host."""
        return [process for process in self._inside(self.far_netns) if "agent" in process.name]

    def near_agents(self) -> list[Process]:
        """Agents that run on the near host."""
        return [process for process in self._inside(self.near_netns) if "agent" in process.name]

    def ssh_clients(self) -> list[Process]:
        """ssh processes on the near host."""
        return [process for process in self._inside(self.near_netns) if process.name == "ssh"]

    @contextmanager
    def serving(self) -> Iterator[None]:
        """Has sshd answer on the far host."""
        for name in ("bin", "home"):
            (self.folder / name).mkdir()
        for name in ("host-key", "user-key"):
            key = ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(self.folder / name)]
            subprocess.run(key, check=True)
        self.allow()
        config, log = self.folder / "sshd-config", self.folder / "sshd-log"
        config.write_text(SSHD_CONFIG.format(port=PORT, folder=self.folder, mark_name=host_state.MARK, mark=self.mark))
        with log.open("wb") as log_file:
            sshd = [str(SSHD), "-D", "-e", "-f", str(config)]
            command = [*self._nsenter(self.far_netns), *OWN_RUN_FOLDER, *sshd]
            daemon = subprocess.Popen(command, stdin=subprocess.DEVNULL, stderr=log_file)
        try:
            end = time.monotonic() + LISTENS_WITHIN_S
            while "Server listening" not in log.read_text():
                assert daemon.poll() is None, log.read_text()
                assert time.monotonic() < end, log.read_text()
                time.sleep(0.02)
            yield
        finally:
            daemon.terminate()
            daemon.wait()

    def _inside(self, netns: str) -> list[Process]:
        wanted = Path(netns).stat().st_ino
        return [process for process in host_state.processes(self.mark) if _netns_of(process.pid) == wanted]

    def _ssh(self) -> dict[str, str]:
        # There is no name server in the testbed, and no need to wait for it (resolver(5)).
        return {"WHYPERF_SSH": f"ssh -F {self.folder}/ssh-config", "RES_OPTIONS": "timeout:1 attempts:1"}

    @staticmethod
    def _nsenter(netns: str) -> tuple[str, ...]:
        return ("nsenter", f"--net={netns}")


@contextmanager
def far_host(folder: Path, mark: str) -> Iterator[FarHost]:
    """A testbed with sshd at its far side."""
    with Agent("testbed", pipes.local(), shares_clock=True) as holder:
        built = holder.call(TESTBED)
        near, far = built["near"], built["far"]
        config = SSH_CONFIG.format(address=far["ipv4"], port=PORT, closed_port=CLOSED_PORT, folder=folder)
        (folder / "ssh-config").write_text(config)
        host = FarHost(folder, near["netns"], far["netns"], mark, str(far["ipv4"]))
        with host.serving():
            yield host


def _netns_of(pid: int) -> int | None:
    try:
        return Path(f"/proc/{pid}/ns/net").stat().st_ino
    except OSError:
        return None
