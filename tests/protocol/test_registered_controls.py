"""A congestion control of our own is registered for a trial, seen by ss(8), and gone with its agent."""

import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.protocol.pipe_talk import Talk, forever, opened
from tests.protocol.socket_of import connected_to

# What is registered is seen in a setting of the kernel, which other tests compare before and after.
pytestmark = pytest.mark.alone

StartTalk = Callable[..., Talk]

AVAILABLE = Path("/proc/sys/net/ipv4/tcp_available_congestion_control")
#: Asked for by its own name, so that a kernel that has it takes ours, too.
WANTED = "wp_ltcp"
GONE_WITHIN_S = 5.0


def is_registered() -> bool:
    return WANTED in AVAILABLE.read_text().split()


@pytest.fixture
def running(talk: StartTalk) -> tuple[Talk, Talk, int]:
    """Both sides during a trial, and the listening port."""
    offers = talk().hello().ask("list_transports")["offers"]
    refused = [offer["reason"] for offer in offers if offer["registered_as"] == WANTED and offer["state"] == "refused"]
    if refused:
        pytest.skip(f"needs a kernel that takes TCP struct_ops of BPF (Linux 6.1); this one: {refused[0]}")
    return opened(talk, **forever(socket={"congestion_control": WANTED}))


def shown_by_ss(port: int) -> str:
    """What ss says of the connecting end."""
    return subprocess.run(["ss", "-tin", "dport", "=", f":{port}"], capture_output=True, text=True, check=True).stdout


def test_ss_names_the_control_of_the_connection(running: tuple[Talk, Talk, int]) -> None:
    far, near, port = running
    assert f" {WANTED} " in shown_by_ss(port)
    with connected_to(near.process.pid, port) as sender:
        own_port = sender.getsockname()[1]
    assert f" {WANTED} " in shown_by_ss(own_port)
    listed = [offer for offer in near.ask("list_transports")["offers"] if offer["registered_as"] == WANTED]
    assert [offer["state"] for offer in listed] == ["loaded"]
    assert f"process {far.process.pid}" in listed[0]["reason"]


@pytest.mark.parametrize("end", ["kill", "pipe"])
def test_nothing_stays_registered_when_the_agent_ends(running: tuple[Talk, Talk, int], end: str) -> None:
    far, near, _ = running
    assert is_registered()
    if end == "kill":
        far.process.kill()
    else:
        assert far.process.stdin is not None
        far.process.stdin.close()
    far.process.wait()
    near.kill()
    given_up = time.monotonic() + GONE_WITHIN_S
    while is_registered() and time.monotonic() < given_up:
        time.sleep(0.01)
    assert not is_registered()
