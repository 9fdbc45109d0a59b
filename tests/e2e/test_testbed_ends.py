"""The testbed and its traffic end with their pipes, and with nothing else."""

import subprocess
import time
from collections.abc import Callable, Iterator

import pytest

from tests.e2e.conftest import GONE_WITHIN_S, Ours
from tests.protocol.pipe_talk import Body, Talk, forever, trial

#: A time is asserted.
pytestmark = [pytest.mark.root, pytest.mark.paced]

Start = Callable[..., Talk]
SPEC: Body = {"mtu_bytes": 1500, "tso": True, "gso": True, "gro": True, "near_rps_cpus": [], "far_rps_cpus": []}


@pytest.fixture
def talk(ours: Ours) -> Iterator[Start]:
    """Starts agents that are ended with the test."""
    talks: list[Talk] = []

    def start(*arguments: str) -> Talk:
        talks.append(Talk(*arguments))
        return talks[-1].hello()

    yield start
    assert ours.mark
    for agent in talks:
        agent.kill()


def under_load(talk: Start, connections: int) -> tuple[Talk, Talk, Talk, Body]:
    """A testbed's holder and both sides, with payload flowing, and the testbed's report."""
    holder = talk()
    testbed = holder.ask("build_testbed", **SPEC)
    near, far = (talk("--netns", testbed[end]["netns"]) for end in ("near", "far"))
    changes = forever(connections_count=connections)
    port = far.ask("prepare", **trial(**changes | {"listen_address": testbed["far"]["ipv4"]}))["port"]
    near.ask("prepare", **trial("connect", "sender", **changes))
    assert near.ask("connect", address=testbed["far"]["ipv4"], port=port)["reply"] == "connected"
    for agent in (near, far):
        agent.send("start", at_mono_ns=0)
    await_traffic(testbed)
    return holder, near, far, testbed


def received_bytes(testbed: Body) -> int:
    """What the far device has received."""
    end = testbed["far"]
    path = f"/sys/class/net/{end['device']}/statistics/rx_bytes"
    # A mount of its own shows the devices of that namespace.
    script = f"mount -t sysfs none /sys && cat {path}"
    argv = ["nsenter", f"--net={end['netns']}", "unshare", "--mount", "sh", "-c", script]
    return int(subprocess.run(argv, capture_output=True, check=True).stdout)


def await_traffic(testbed: Body) -> None:
    """Waits until payload flows."""
    end = time.monotonic() + 60
    while received_bytes(testbed) < 1_000_000:
        assert time.monotonic() < end


def await_silence(testbed: Body, since: float) -> None:
    """The device must stop receiving in time; what is under way is received a moment later."""
    before = -1
    while (now := received_bytes(testbed)) != before:
        assert time.monotonic() - since < GONE_WITHIN_S
        before = now
        time.sleep(0.1)
    time.sleep(0.1)
    # A closing segment may still be sent again; payload may not.
    assert received_bytes(testbed) - before < 1_000


@pytest.mark.parametrize(("victim", "is_killed"), [("near", False), ("far", False), ("near", True), ("far", True)])
def test_traffic_ends_with_either_end(talk: Start, victim: str, is_killed: bool) -> None:
    _, near, far, testbed = under_load(talk, 10)
    agent = near if victim == "near" else far
    since = time.monotonic()
    if is_killed:
        agent.process.kill()
    else:
        agent.close_input()
    await_silence(testbed, since)


def test_an_aborted_load_is_silent_and_the_next_one_runs(talk: Start) -> None:
    _, near, far, testbed = under_load(talk, 5)
    since = time.monotonic()
    for agent in (near, far):
        aborted = agent.send("abort")
        while agent.read()[0] != aborted:
            pass
    await_silence(testbed, since)
    listening = trial(listen_address=testbed["far"]["ipv4"])
    port = far.ask("prepare", **listening)["port"]
    near.ask("prepare", **trial("connect", "sender"))
    assert near.ask("connect", address=testbed["far"]["ipv4"], port=port)["reply"] == "connected"
    started = [(agent, agent.send("start", at_mono_ns=0)) for agent in (near, far)]
    for agent, identifier in started:
        assert agent.finish(identifier)[0]["payload_bytes"] == 100_000


def test_the_testbed_goes_with_its_holder(ours: Ours, talk: Start) -> None:
    holder = talk()
    testbed = holder.ask("build_testbed", **SPEC)
    assert len(ours.processes()) == 1
    assert len(ours.namespaces) == 2
    assert {testbed[end]["device"] for end in ("near", "far")} == {"veth-near", "veth-far"}
    holder.close_input()
    ours.await_none()
    ours.assert_namespaces_gone()


def test_a_testbed_built_anew_or_removed_leaves_no_old_one(ours: Ours, talk: Start) -> None:
    holder = talk()
    seen = set()
    for mtu_bytes in (1500, 9000, 1500):
        holder.ask("build_testbed", **SPEC | {"mtu_bytes": mtu_bytes})
        ours.namespaces.clear()
        ours.processes()
        assert len(ours.namespaces) == 2
        seen |= ours.namespaces
    # One that cannot be built leaves none.
    assert holder.ask("build_testbed", **SPEC | {"mtu_bytes": 1})["reply"] == "error"
    ours.namespaces.clear()
    ours.processes()
    assert ours.namespaces == set()
    assert holder.ask("build_testbed", **SPEC)["reply"] == "testbed"
    assert holder.ask("remove_testbed")["reply"] == "done"
    ours.processes()
    assert ours.namespaces == set()
