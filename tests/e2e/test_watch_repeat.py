"""`whyperf watch --repeat`: a command runs again in changed environments, which are as before when it is over."""

import json
import os
import secrets
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.e2e.conftest import Ours
from tests.e2e.host_state import MARK
from tests.e2e.whyperf_command import argv, whyperf
from whyperf.disturb.namespace import OF_HOST, entering
from whyperf.disturb.orders import Namespace as Changed
from whyperf.disturb.orders import Orders
from whyperf.explain.causes import Cause
from whyperf.explain.experiments.environments import RECEIVE, SEND
from whyperf.explain.experiments.kept import latest
from whyperf.record import Experiment
from whyperf.run import RunError
from whyperf.run.keeping import Keeper

# Other tests count the named namespaces that the host has.
pytestmark = [pytest.mark.root, pytest.mark.alone, pytest.mark.timeout(300)]
Start = Callable[..., "subprocess.Popen[bytes]"]
#: Sends for so many seconds to a port of the loopback.
SENDER = """
import socket, sys, time
connection = socket.create_connection(("127.0.0.1", int(sys.argv[1])))
end, part = time.monotonic() + float(sys.argv[2]), bytes(1 << 17)
while time.monotonic() < end:
    connection.sendall(part)
"""
#: Takes what comes, connection after connection.
TAKER = """
import socket
listener = socket.create_server(("127.0.0.1", 0))
print(listener.getsockname()[1], flush=True)
while True:
    connection, _ = listener.accept()
    while connection.recv(1 << 17):
        pass
"""
LARGE = "4096 16384 4194304"
SMALL = "4096\t4608\t4608"


@dataclass(frozen=True)
class Namespace:
    """A network namespace with a name, and the port of a program in it that takes what comes."""

    name: str
    port: int

    def setting(self, name: str) -> str:
        """As it is now."""
        return inside(self.name, "sysctl", "-n", name).strip()

    def sender(self, seconds: float) -> list[str]:
        """A command that sends."""
        return [sys.executable, "-c", SENDER, str(self.port), str(seconds)]


def inside(name: str, *command: str) -> str:
    return subprocess.run(["ip", "netns", "exec", name, *command], capture_output=True, text=True, check=True).stdout


@pytest.fixture
def small(started: Start) -> Iterator[Namespace]:
    """One in which the kernel may give a send buffer no room."""
    name = f"whyperf-{secrets.token_hex(4)}"
    subprocess.run(["ip", "netns", "add", name], check=True)
    try:
        inside(name, "ip", "link", "set", "lo", "up")
        inside(name, "sysctl", "-q", "-w", f"{SEND}={SMALL}")
        # It is there until the test is over, so it has no mark.
        environment = {key: value for key, value in os.environ.items() if key != MARK}
        taker_argv = ["ip", "netns", "exec", name, sys.executable, "-c", TAKER]
        taker = started(taker_argv, stdout=subprocess.PIPE, env=environment)
        assert taker.stdout is not None
        yield Namespace(name, int(taker.stdout.readline()))
    finally:
        subprocess.run(["ip", "netns", "del", name], check=True)


@pytest.mark.usefixtures("ours")
def test_routes_have_another_control_only_while_it_is_kept(small: Namespace) -> None:
    """The kernel's own routes, those to addresses of the namespace itself, are left alone."""
    inside(small.name, "ip", "link", "add", "there", "type", "veth", "peer", "name", "end")
    inside(small.name, "ip", "addr", "add", "10.9.0.1/24", "dev", "there")
    for device in ("there", "end"):
        inside(small.name, "ip", "link", "set", device, "up")
    inside(small.name, "ip", "route", "add", "10.10.0.0/24", "via", "10.9.0.2")
    before = inside(small.name, "ip", "route")

    def kept(*peers: str) -> Keeper:
        orders = Orders(disturbances=(Changed(settings={SEND: LARGE}, control="reno", peers=peers),), places={})
        return Keeper(orders, "not changed", before=entering(f"/run/netns/{small.name}"))

    with kept("10.9.0.7", "10.10.0.7"):
        for address in ("10.9.0.7", "10.10.0.7"):
            assert "congctl reno" in inside(small.name, "ip", "route", "get", address)
        assert "congctl" not in inside(small.name, "ip", "route", "get", "10.9.0.8")
        assert small.setting(SEND).split() == LARGE.split()
        with pytest.raises(RunError, match="another whyperf changes this network namespace now"):
            kept()
    assert (inside(small.name, "ip", "route"), small.setting(SEND).split()) == (before, SMALL.split())
    with pytest.raises(RunError, match="one of the kernel's own"):
        kept("10.9.0.7", "127.0.0.1")
    assert (inside(small.name, "ip", "route"), small.setting(SEND).split()) == (before, SMALL.split())


@pytest.mark.usefixtures("ours")
@pytest.mark.skipif(not OF_HOST.exists(), reason="in a container there is no namespace of the host")
def test_the_hosts_own_namespace_is_refused() -> None:
    before = Path("/proc/sys/net/ipv4/tcp_wmem").read_text()
    orders = Orders(disturbances=(Changed(settings={SEND: LARGE}),), places={})
    with pytest.raises(RunError, match="the host's own network namespace is never changed"):
        Keeper(orders, "not changed", before=entering("/proc/self/ns/net"))
    assert Path("/proc/sys/net/ipv4/tcp_wmem").read_text() == before


def test_a_small_limit_of_buffers_is_proved(ours: Ours, small: Namespace, tmp_path: Path) -> None:
    of_host = Path("/proc/sys/net/ipv4/tcp_wmem").read_text()
    done = whyperf(
        *("watch", "--no-report", "--netns", small.name, "--repeat", "--budget", "120", "--out", "there", "--"),
        *small.sender(1.5),
        folder=tmp_path,
    )
    assert done.status == 0, done.err
    why = latest(Experiment.open(tmp_path / "there"))
    assert why is not None, done.err
    assert (why.answer.known, why.answer.causes, why.answer.tried) == ("proved", [Cause.SEND_BUFFER], "send-buffer")
    assert why.is_reproduced
    assert "The send buffer: proved." in done.err
    # The program that takes is in the namespace, so its route is the kernel's own.
    assert "another congestion control" not in [tried.name for tried in why.tried]
    assert small.setting(SEND).split() == SMALL.split()
    assert Path("/proc/sys/net/ipv4/tcp_wmem").read_text() == of_host
    shown = whyperf("explain", "there", folder=tmp_path)
    assert "By experiments: The send buffer: proved." in shown.out, shown.out
    # The folder of the runs has nothing else to show.
    assert "there-why-1" not in shown.out
    ours.await_none()


def test_a_killed_one_puts_everything_back(ours: Ours, small: Namespace, tmp_path: Path, started: Start) -> None:
    watching = ("watch", "--no-report", "--netns", small.name, "--repeat", "--budget", "600", "--out", "there", "--")
    running = started(argv(*watching, *small.sender(1.5)), cwd=tmp_path, stderr=subprocess.PIPE)
    while small.setting(SEND).split() == SMALL.split():
        assert running.poll() is None
        time.sleep(0.02)
    running.kill()
    running.wait()
    end = time.monotonic() + 10
    while small.setting(SEND).split() != SMALL.split():
        assert time.monotonic() < end
        time.sleep(0.05)
    ours.await_none()


def test_an_interrupted_one_says_what_is_known(ours: Ours, small: Namespace, tmp_path: Path, started: Start) -> None:
    watching = ("watch", "--no-report", "--netns", small.name, "--repeat", "--budget", "600", "--out", "there", "--")
    running = started(argv(*watching, *small.sender(1.5)), cwd=tmp_path, start_new_session=True, stderr=subprocess.PIPE)
    while small.setting(SEND).split() == SMALL.split():
        assert running.poll() is None
        time.sleep(0.02)
    os.killpg(running.pid, signal.SIGINT)
    _, err = running.communicate(timeout=60)
    assert running.returncode == 0, err
    assert b"Traceback" not in err
    assert small.setting(SEND).split() == SMALL.split()
    (kept,) = tmp_path.glob("there-why-1/why.json")
    assert json.loads(kept.read_text())["ended"] == "stopped"
    ours.await_none()


def test_in_the_hosts_own_namespace_only_cpus_are_tried(tmp_path: Path) -> None:
    """A command that fails when it runs again is named, and what the first run showed stays."""
    mark = tmp_path / "ran"
    server = subprocess.Popen([sys.executable, "-c", TAKER], stdout=subprocess.PIPE)
    try:
        assert server.stdout is not None
        sender = shlex.join([sys.executable, "-c", SENDER, server.stdout.readline().decode().strip(), "1.5"])
        script = f"test -e {mark} && exit 7; touch {mark}; {sender}"
        options = ("--no-report", "--repeat", "--out", "there")
        done = whyperf("watch", *options, "--", "sh", "-c", script, folder=tmp_path)
    finally:
        server.kill()
        server.communicate()
    assert done.status == 0, done.err
    assert "--netns NAME runs the command in a network namespace in which whyperf may change them" in done.err
    if len(os.sched_getaffinity(0)) > 1:
        assert "the original again is left out: the command ended with 7" in done.err
        assert "the command could not be run again" in done.err


def test_a_command_that_fails_or_takes_too_long_is_not_run_again(small: Namespace, tmp_path: Path) -> None:
    options = ("watch", "--no-report", "--netns", small.name, "--repeat", "--budget", "2")
    sender = shlex.join(small.sender(1.2))
    done = whyperf(*options, "--out", "failed", "--", "sh", "-c", f"{sender}; exit 4", folder=tmp_path)
    assert (done.status, "The command ended with 4, so it is not run again" in done.err) == (4, True), done.err
    done = whyperf(*options, "--out", "long", "--", *small.sender(1.2), folder=tmp_path)
    assert (done.status, "an experiment two runs of it, more than --budget 2" in done.err) == (0, True), done.err
    assert sorted(path.name for path in tmp_path.iterdir()) == ["failed", "long"]
    assert small.setting(RECEIVE)
