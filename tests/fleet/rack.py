"""A rack: hosts as network namespaces that one bridge joins, each with real sshd if wanted. Everything ends with it.

The namespaces have no names. A process holds each, and the kernel removes them with it.
"""

import os
import signal
import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from tests.e2e.far_host import OWN_RUN_FOLDER, SSHD

NETWORK = "10.98"
#: The host of the controller.
CONTROL = "control"
_ENTER = """#!/bin/sh
# nsenter into the namespace of a host: enter HOST COMMAND...
host=$1; shift
prefix=$(cat "$(dirname "$0")/before/$host" 2>/dev/null)
exec nsenter --net="/proc/$(cat "$(dirname "$0")/pids/$host")/ns/net" -- $prefix "$@"
"""
_SSHD = """
Port 22
HostKey {folder}/host-key
AuthorizedKeysFile {folder}/user-key.pub
PidFile none
StrictModes no
UsePAM no
PermitRootLogin prohibit-password
PasswordAuthentication no
KbdInteractiveAuthentication no
SetEnv HOME={folder}/home XDG_CACHE_HOME={folder}/home/cache PATH={path}
"""
_SSH = """
Host *
  User root
  IdentityFile {folder}/user-key
  IdentitiesOnly yes
  IdentityAgent none
  StrictHostKeyChecking no
  UserKnownHostsFile /dev/null
  LogLevel ERROR
"""
_LISTENS_WITHIN_S = 60


@dataclass
class Rack:
    """Hosts by name, in one network; `enter` is the command that runs another on a host."""

    folder: Path
    names: Sequence[str]
    pids: dict[str, int] = field(default_factory=dict)
    daemons: dict[str, "subprocess.Popen[bytes]"] = field(default_factory=dict)

    @property
    def enter(self) -> str:
        """The template for `--via`."""
        return f"{self.folder}/enter {{host}}"

    @property
    def inventory(self) -> Path:
        """The file for `--hosts`: the addresses of all hosts."""
        return self.folder / "hosts.toml"

    @property
    def environment(self) -> dict[str, str]:
        """What a controller needs to reach the hosts by ssh."""
        return {"WHYPERF_SSH": f"ssh -F {self.folder}/ssh-config", "RES_OPTIONS": "timeout:1 attempts:1"}

    def address(self, name: str) -> str:
        """The address of a host."""
        number = len(self.names) + 1 if name == CONTROL else list(self.names).index(name) + 1
        return f"{NETWORK}.{number // 250}.{number % 250 + 1}"

    def inside(self, name: str, *command: str) -> list[str]:
        """A command line that runs a command on a host."""
        return ["nsenter", f"--net=/proc/{self.pids[name]}/ns/net", "--", *command]

    def run(self, name: str, *command: str) -> "subprocess.CompletedProcess[str]":
        """Run a command on a host."""
        return subprocess.run(self.inside(name, *command), capture_output=True, text=True, check=True)

    def start_with(self, name: str, *prefix: str) -> None:
        """Have what `--via` starts on a host run behind a command such as taskset."""
        (self.folder / "before").mkdir(exist_ok=True)
        (self.folder / "before" / name).write_text(" ".join(prefix))

    def processes_of(self, name: str) -> list[int]:
        """All processes in the namespace of a host but its holder; none of a host that is dead."""
        try:
            wanted = _netns_of(self.pids[name])
        except OSError:
            return []
        found = []
        for entry in Path("/proc").iterdir():
            if entry.name.isdigit() and int(entry.name) != self.pids[name]:
                try:
                    if _netns_of(int(entry.name)) == wanted:
                        found.append(int(entry.name))
                except OSError:
                    continue
        return found

    def kill_host(self, name: str) -> None:
        """As a power failure: every process of a host, and then its network."""
        for process in (*self.processes_of(name), self.pids[name]):
            try:
                os.kill(process, signal.SIGKILL)
            except ProcessLookupError:
                continue

    def serve(self, path: str) -> None:
        """Have sshd answer on every host; `path` is the PATH of what it starts."""
        (self.folder / "home").mkdir(exist_ok=True)
        for name in ("host-key", "user-key"):
            subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(self.folder / name)], check=True)
        config = self.folder / "sshd-config"
        config.write_text(_SSHD.format(folder=self.folder, path=path))
        for name in self.names:
            with (self.folder / f"sshd-{name}.log").open("wb") as log:
                command = self.inside(name, *OWN_RUN_FOLDER, str(SSHD), "-D", "-e", "-f", str(config))
                self.daemons[name] = subprocess.Popen(command, stdin=subprocess.DEVNULL, stderr=log)
        end = time.monotonic() + _LISTENS_WITHIN_S
        for name in self.names:
            while "Server listening" not in (text := (self.folder / f"sshd-{name}.log").read_text()):
                assert time.monotonic() < end, text
                time.sleep(0.02)

    def close(self) -> None:
        """End what runs on the hosts, and the hosts."""
        for name in self.pids:
            try:
                self.kill_host(name)
            except OSError:
                continue
        for daemon in self.daemons.values():
            daemon.kill()
            daemon.wait()


@contextmanager
def rack(folder: Path, names: Sequence[str], *, with_sshd: bool = False, path: str = "/usr/bin:/bin") -> Iterator[Rack]:
    """Hosts of these names, and one for the controller, on one bridge."""
    made = Rack(folder, names)
    with ExitStack() as stack:
        stack.callback(made.close)
        switch = _holder(stack)
        for name in (*names, CONTROL):
            made.pids[name] = _holder(stack)
        lines = ["link add br0 type bridge", "link set br0 up", "link set lo up"]
        for number, pid in enumerate(made.pids.values()):
            lines += [
                f"link add p{number} type veth peer name eth0 netns {pid}",
                f"link set p{number} master br0",
                f"link set p{number} up",
            ]
        _ip(switch, lines)
        for name, pid in made.pids.items():
            _ip(pid, ["link set lo up", "link set eth0 up", f"addr add {made.address(name)}/16 dev eth0"])
        (folder / "pids").mkdir()
        for name, pid in made.pids.items():
            (folder / "pids" / name).write_text(str(pid))
        (folder / "enter").write_text(_ENTER)
        (folder / "enter").chmod(0o755)
        made.inventory.write_text("".join(f'[hosts.{name}]\naddress = "{made.address(name)}"\n' for name in made.pids))
        hosts = "".join(f"Host {name}\n  HostName {made.address(name)}\n" for name in names)
        (folder / "ssh-config").write_text(hosts + _SSH.format(folder=folder))
        if with_sshd:
            made.serve(path)
        yield made


def _holder(stack: ExitStack) -> int:
    """A process in a new network namespace; it is there when this returns."""
    process = subprocess.Popen(["unshare", "--net", "sleep", "infinity"], stdin=subprocess.DEVNULL)

    def end() -> None:
        process.kill()
        process.wait()

    stack.callback(end)
    here = _netns_of(os.getpid())
    while _netns_of(process.pid) == here:
        time.sleep(0.002)
    return process.pid


def _ip(pid: int, lines: Sequence[str]) -> None:
    command = ["nsenter", f"--net=/proc/{pid}/ns/net", "ip", "-batch", "-"]
    subprocess.run(command, input="\n".join(lines), text=True, check=True, capture_output=True)


def _netns_of(pid: int) -> int:
    return Path(f"/proc/{pid}/ns/net").stat().st_ino
