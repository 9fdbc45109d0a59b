"""An agent dies with its pipe within 2 s, whatever it is doing and whether or not anybody reads."""

import json
import socket
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

import pytest

from tests.protocol.pipe_talk import ALIVE, MESSAGE, Body, Talk, forever, opened, trial

StartTalk = Callable[..., Talk]

#: A time is asserted.
pytestmark = pytest.mark.paced

#: By the task: "a pipe that closes stops the load within 2 s and puts everything back".
WITHIN_S = 2.0


def assert_ends(agent: Talk, since: float | None = None) -> None:
    """The agent must end without complaint within the limit of the pipe's closing."""
    since = time.monotonic() if since is None else since
    status, said = agent.end(within_s=WITHIN_S)
    assert time.monotonic() - since < WITHIN_S
    assert (status, said) == (0, "")


@contextmanager
def silent_server(backlog_full: bool) -> Iterator[int]:
    """A port that never answers: it takes connections and says nothing, or does not even take them."""
    with ExitStack() as sockets:
        server = sockets.enter_context(socket.create_server(("127.0.0.1", 0), backlog=0))
        port = server.getsockname()[1]
        for _ in range(4 if backlog_full else 0):
            filler = sockets.enter_context(socket.socket())
            filler.setblocking(False)
            filler.connect_ex(("127.0.0.1", port))
        if not backlog_full:
            server.listen(128)
        time.sleep(0.05)
        yield port


def running(talk: StartTalk, **changes: Any) -> tuple[Talk, Talk]:
    """Two agents under a load without end."""
    far, near, _ = opened(talk, **forever(**changes))
    for agent in (far, near):
        agent.send("start", at_mono_ns=0)
    return far, near


def await_payload(agent: Talk) -> None:
    """Reads progress until payload has moved."""
    while not agent.read()[1].get("payload_bytes"):
        pass


def read_to_finish(agent: Talk) -> Body:
    """Reads until the load has ended."""
    while (body := agent.read()[1])["reply"] != "finished":
        assert body["reply"] == "progress", body
    return body


@pytest.mark.parametrize("start", [False, True])
def test_while_connections_are_accepted(talk: StartTalk, start: bool) -> None:
    agent = talk().hello()
    port = agent.ask("prepare", **trial(connections_count=2))["port"]
    with socket.create_connection(("127.0.0.1", port)):
        if start:
            agent.send("start", at_mono_ns=0)
        assert agent.ask("clock")["reply"] == "clock"
        agent.close_input()
        assert_ends(agent)


@pytest.mark.parametrize("backlog_full", [False, True])
def test_while_connecting(talk: StartTalk, backlog_full: bool) -> None:
    agent = talk().hello()
    agent.ask("prepare", **trial("connect", "sender", connections_count=3))
    with silent_server(backlog_full) as port:
        agent.send("connect", address="127.0.0.1", port=port)
        assert agent.ask("clock")["reply"] == "clock"
        agent.close_input()
        assert_ends(agent)


@pytest.mark.parametrize(("first", "connections"), [("near", 1), ("far", 20)])
def test_under_load_both_sides_notice(talk: StartTalk, first: str, connections: int) -> None:
    far, near = running(talk, connections_count=connections)
    dying, other = (near, far) if first == "near" else (far, near)
    for agent in (far, near):
        await_payload(agent)
    dying.close_input()
    since = time.monotonic()
    assert_ends(dying, since)
    # The connections went with it, so the other side's load is over too; its agent goes on.
    outcome = read_to_finish(other)["outcome"]
    assert time.monotonic() - since < WITHIN_S
    assert outcome["ended"] == "failed"
    assert outcome["reason"]


@pytest.mark.parametrize("end", ["near", "far"])
def test_under_load_with_a_full_pipe(talk: StartTalk, end: str) -> None:
    """Nobody has read for some time: the agent's replies fill the pipe, then only its input closes."""
    far, near = running(talk, interval_ns=1_000_000)
    full = near if end == "near" else far
    time.sleep(0.3)
    full.close_input()
    assert_ends(full)


def test_nobody_reads_and_then_somebody_does(talk: StartTalk) -> None:
    """Progress may be left out for a slow controller; the result and its tables never are."""
    phases = {"by": "duration", "warmup_ns": 0, "measure_ns": 300_000_000, "cooldown_ns": 0}
    far, near, _ = opened(talk, stop=phases, interval_ns=1_000_000)
    started = [(agent, agent.send("start", at_mono_ns=0)) for agent in (far, near)]
    time.sleep(0.5)
    payloads = set()
    for agent, identifier in started:
        finished, tables = agent.finish(identifier)
        assert finished["outcome"] == {"ended": "complete"}
        assert {"flows", "intervals", "tcp_info", "host_counters"} <= set(tables)
        payloads.add(finished["payload_bytes"])
    assert len(payloads) == 1


def test_an_agent_that_has_nothing_to_say_says_that_it_lives(talk: StartTalk) -> None:
    agent = talk().hello()
    since = time.monotonic()
    for _ in range(2):
        assert agent.read_frame() == (MESSAGE, json.dumps({"id": 0, "body": ALIVE}, separators=(",", ":")).encode())
    # Every 0.5 s, by docs/reference/protocol.md; a busy host may add to it.
    assert time.monotonic() - since >= 0.5


def test_an_agent_that_is_busy_says_that_it_lives(talk: StartTalk) -> None:
    """The controller takes 2.2 s of silence for an agent's end, whatever the agent does."""
    agent = talk().hello()
    for _ in range(6):
        agent.send("describe_host", with_hooks=True)
    answered = 0
    while answered < 6:
        _, payload = agent.read_frame(within_s=2.2)
        answered += json.loads(payload)["body"]["reply"] == "host"
