"""Every command that measures or watches listens at data ports alone, each bound to the address that is used.

What asks for more asks for it by an option: the page of metrics, and workers of Dask.
"""

import socket
import sys
from pathlib import Path

import pytest

from tests.e2e.listening import Listener, listeners_of
from tests.e2e.watched_programs import transfer
from tests.e2e.whyperf_command import argv

#: Names of the threads of an agent that open ports.
AGENT = {"whyperf-agent", "netns"}


def listening_of(folder: Path, *arguments: str) -> set[Listener]:
    """Where the command and all that it started listened."""
    found, command = listeners_of(argv(*arguments), folder)
    assert command.returncode in {0, 3}, command.stderr
    return found


def refuse_others(found: set[Listener]) -> None:
    assert {listener for listener in found if listener.program not in AGENT or listener.is_everywhere} == set()


def without_own_check(found: set[Listener]) -> set[Listener]:
    """Without the listener of an agent that tries what the kernel's sockets offer, and connects to it by itself."""
    return {listener for listener in found if (listener.program, listener.address) != ("whyperf-agent", "127.0.0.1")}


def test_a_listener_is_found_with_its_address(tmp_path: Path) -> None:
    script = """
import socket
socket.create_server(("127.0.0.1", 0))
socket.create_server(("::", 0), family=socket.AF_INET6)
socket.socket().listen()
one, two, three = (socket.socket(type=socket.SOCK_DGRAM) for _ in range(3))
one.bind(("0.0.0.0", 0))
two.bind(("0.0.0.0", 0))
two.connect(("127.0.0.1", 9))
three.bind(("127.0.0.1", 0))
"""
    found, command = listeners_of([sys.executable, "-c", script], tmp_path)
    assert command.returncode == 0, command.stderr
    assert sorted((listener.protocol, listener.address) for listener in found) == [
        ("tcp", "0.0.0.0"),
        ("tcp", "127.0.0.1"),
        ("tcp", "::"),
        ("udp", "0.0.0.0"),
        ("udp", "127.0.0.1"),
    ]


RUN = ("run", "--no-report", "-t", "0.5", "--testbed", "loopback")
MEASURING = {
    "stream": RUN,
    "both directions": (*RUN, "--bidir"),
    "requests": ("run", "rr", *RUN[1:]),
    "connects": ("run", "crr", *RUN[1:]),
    "datagrams": ("run", "udp-stream", *RUN[1:]),
    "tls": (*RUN, "--set", "transport=tls"),
    "quic": (*RUN, "--set", "transport=quic"),
    "comparison": (
        *("compare", "--run", "quick", "--set", "window_bytes=65536", "--against", "window_bytes=131072"),
        *("--trials", "2", "-t", "0.3", "--evidence", "user"),
    ),
}


#: Those whose ports are opened in different ways: by the agent for TCP and for datagrams, and by a library.
FEW = ("stream", "datagrams", "quic")


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=() if name in FEW else pytest.mark.slow) for name in MEASURING]
)
def test_a_measurement_listens_at_data_ports_only(tmp_path: Path, name: str) -> None:
    found = listening_of(tmp_path, *MEASURING[name], "--out", "result")
    assert found
    refuse_others(found)


@pytest.mark.root
def test_the_testbed_listens_at_the_address_of_its_far_side(tmp_path: Path) -> None:
    found = listening_of(tmp_path, "run", "--no-report", "-t", "0.5", "--testbed", "veth", "--out", "result")
    assert found
    refuse_others(found)


@pytest.mark.parametrize("name", ["doctor", pytest.param("simulate", marks=pytest.mark.slow)])
def test_what_moves_no_data_listens_nowhere(tmp_path: Path, name: str) -> None:
    more = {"doctor": (), "simulate": ("quick", "--hosts", "linux-6.18+veth", "--out", "result")}[name]
    assert without_own_check(listening_of(tmp_path, name, *more)) == set()


def test_a_watch_listens_nowhere(tmp_path: Path) -> None:
    with transfer() as going:
        found = listening_of(tmp_path, "watch", str(going.server.pid), "-t", "1", "--no-report", "--out", "result")
    assert without_own_check(found) == set()


def test_a_watch_listens_at_the_page_of_metrics_that_was_asked_for(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    with transfer() as going:
        asked = ("watch", str(going.server.pid), "-t", "1", "--no-report", "--metrics", str(port), "--out", "result")
        found = listening_of(tmp_path, *asked)
    served = {(listener.protocol, listener.address, listener.port) for listener in without_own_check(found)}
    assert served == {("tcp", "127.0.0.1", port)}


GRID = """
[fixed]
transfer_bytes = 67108864
interval_ms = 200
[[sweep]]
name = "grid"
trials = 5
[sweep.factors]
window_bytes = [65536, 131072]
path_rtt_ms = [1, 2]
"""


def test_workers_of_this_host_listen_on_the_loopback(tmp_path: Path) -> None:
    (tmp_path / "grid.toml").write_text(GRID)
    asked = ("simulate", "grid.toml", "--hosts", "linux-6.18+veth", "--cluster", "local:1", "--out", "result")
    found = listening_of(tmp_path, *asked)
    assert {(listener.protocol, listener.address) for listener in found} == {("tcp", "127.0.0.1")}
    # The scheduler, the worker and the process that keeps it.
    assert len(found) == 3
