"""A request that cannot be met is refused in a sentence, and the agent goes on."""

import ctypes
import resource
import socket
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from tests.protocol.pipe_talk import Talk, forever, opened, trial

#: include/uapi/linux/prctl.h, include/uapi/linux/capability.h.
PR_CAPBSET_DROP, CAP_SYS_RESOURCE = 24, 24

StartTalk = Callable[..., Talk]


def refused(agent: Talk, request: str, fault: str, **fields: Any) -> str:
    """Sends a request that must be refused; the agent must go on. Returns the sentence."""
    reply = agent.ask(request, **fields)
    assert reply["reply"] == "error", reply
    assert reply["fault"] == fault, reply
    assert agent.ask("clock")["reply"] == "clock"
    text: str = reply["text"]
    assert "\n" not in text
    return text


def test_another_version_is_named(talk: StartTalk) -> None:
    text = refused(talk(), "hello", "usage", version="0.0.9")
    assert "0.0.9" in text
    assert "install the same whyperf on both hosts" in text


def test_a_wrong_order_is_refused_at_every_step(talk: StartTalk) -> None:
    agent = talk().hello()
    assert "prepare" in refused(agent, "connect", "usage", address="127.0.0.1", port=1)
    assert "connections" in refused(agent, "start", "usage", at_mono_ns=0)
    assert agent.ask("prepare", **trial("connect", "sender"))["reply"] == "prepared"
    assert "connections" in refused(agent, "start", "usage", at_mono_ns=0)
    assert "abort it first" in refused(agent, "prepare", "usage", **trial())
    assert agent.ask("abort")["reply"] == "done"
    assert agent.ask("prepare", **trial())["reply"] == "prepared"
    assert "prepare" in refused(agent, "connect", "usage", address="127.0.0.1", port=1)
    assert "abort it first" in refused(agent, "prepare", "usage", **trial())
    assert agent.ask("abort")["reply"] == "done"
    assert agent.ask("abort")["reply"] == "done"
    assert agent.ask("remove_testbed")["reply"] == "done"


@pytest.mark.parametrize(
    ("changes", "names"),
    [
        ({"connections_count": 4_000_000_000}, "connections_count"),
        ({"write_size_bytes": 0}, "write_size_bytes"),
        ({"write_size_bytes": 0xFFFFFFFF}, "write_size_bytes"),
        ({"read_size_bytes": 0}, "read_size_bytes"),
        ({"interval_ns": 0}, "interval_ns"),
        ({"deadline_ns": 0}, "deadline_ns"),
        ({"token": "5a" * 31}, "token"),
        ({"token": "zz" * 32}, "token"),
        ({"socket": {"dscp": 64}}, "dscp is 64"),
        ({"round_trip_probe_ns": 1000}, "round_trip_probe_ns is 1000"),
        ({"socket": {"window_bytes": 0xFFFFFFFF}}, "4294967295"),
        ({"socket": {"mss_bytes": 0xFFFFFFFF}}, "4294967295"),
        ({"pin_cpus": [9999]}, "9999"),
    ],
)
def test_absurd_values_are_named(talk: StartTalk, changes: dict[str, Any], names: str) -> None:
    agent = talk().hello()
    for opening, role in (("listen", "receiver"), ("connect", "sender")):
        assert names in refused(agent, "prepare", "usage", **trial(opening, role, **changes))
        # Nothing of the refused trial stays in the way of the next.
        assert agent.ask("prepare", **trial(opening, role))["reply"] == "prepared"
        assert agent.ask("abort")["reply"] == "done"


@pytest.mark.parametrize(
    ("changes", "names"),
    [
        ({"socket": {"congestion_control": "warp"}}, 'congestion control "warp"'),
        ({"socket": {"mss_bytes": 1}}, "TCP_MAXSEG 1"),
    ],
)
def test_what_the_kernel_refuses_is_the_hosts_fault(talk: StartTalk, changes: dict[str, Any], names: str) -> None:
    agent = talk().hello()
    assert names in refused(agent, "prepare", "host", **trial(**changes))
    assert agent.ask("prepare", **trial())["reply"] == "prepared"


@pytest.mark.parametrize(
    ("listens", "answer"),
    [({"listen_address": "127.0.0.2"}, False), ({"listen_address": "192.0.2.1"}, True)],
    ids=["own", "behind translation"],
)
def test_a_port_is_open_at_the_named_address_alone_if_the_host_has_it(
    talk: StartTalk, listens: dict[str, Any], answer: bool
) -> None:
    port = talk().hello().ask("prepare", **trial(**listens))["port"]
    with socket.socket() as peer:
        assert (peer.connect_ex(("127.0.0.1", port)) == 0) == answer


def test_a_port_in_use_is_named(talk: StartTalk) -> None:
    agent = talk().hello()
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        text = refused(agent, "prepare", "host", **trial(listen_port=port))
        assert f"127.0.0.1:{port}" in text
        assert "choose another port" in text


@pytest.mark.parametrize("at_mono_ns", [0, 0xFFFFFFFFFFFFFFFF])
def test_a_start_that_is_past_or_never_still_obeys_abort(talk: StartTalk, at_mono_ns: int) -> None:
    far, near, _ = opened(talk, **forever())
    for agent in (far, near):
        agent.send("start", at_mono_ns=at_mono_ns)
    for agent in (far, near):
        aborted = agent.send("abort")
        while agent.read()[0] != aborted:
            pass
        # The aborted trial is over and out of the way.
        role = "receiver" if agent is far else "sender"
        assert agent.ask("prepare", **trial("listen", role))["reply"] == "prepared"


def with_open_files(talk: StartTalk, least: int, most: int) -> Talk:
    """An agent that starts with these limits of open files."""
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (least, before[1]))
    try:
        agent = talk().hello()
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, before)
    if most < before[1]:
        resource.prlimit(agent.process.pid, resource.RLIMIT_NOFILE, (most, most))
    return agent


def test_a_logins_limit_of_open_files_is_raised(talk: StartTalk) -> None:
    far, near = (with_open_files(talk, 64, 1 << 20) for _ in range(2))
    port = far.ask("prepare", **trial(connections_count=100))["port"]
    near.ask("prepare", **trial("connect", "sender", connections_count=100))
    assert near.ask("connect", address="127.0.0.1", port=port)["connections_count"] == 100
    started = [(agent, agent.send("start", at_mono_ns=0)) for agent in (far, near)]
    assert [agent.finish(identifier)[0]["payload_bytes"] for agent, identifier in started] == [10_000_000] * 2


@pytest.mark.parametrize(("poor", "most"), [("near", 150), ("far", 150)])
def test_too_many_connections_for_the_host_are_named(talk: StartTalk, poor: str, most: int) -> None:
    """The limit is reported before anything is opened: a socket each, and what watches the threads."""
    with ThreadPoolExecutor(1) as unprivileged:
        victim = unprivileged.submit(_unprivileged, talk, most).result()
    sides = ("listen", "receiver") if poor == "far" else ("connect", "sender")
    text = refused(victim, "prepare", "host", **trial(*sides, connections_count=100))
    assert f"RLIMIT_NOFILE allows {most}" in text
    assert "ulimit -Hn 364" in text
    # Where a few threads carry them, more connections fit.
    assert victim.ask("prepare", **trial(*sides, connections_count=80, io_model="epoll"))["reply"] == "prepared"


def _unprivileged(talk: StartTalk, most: int) -> Talk:
    """An agent that cannot raise its hard limit, even for root. For a thread of its own, which gives up the right."""
    ctypes.CDLL(None).prctl(PR_CAPBSET_DROP, CAP_SYS_RESOURCE, 0, 0, 0)
    return with_open_files(talk, 50, most)
