"""Who does not present the trial's token is dropped and counted, and holds nobody up."""

import resource
import socket
import struct
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack

import pytest

from tests.protocol.crowd import KINDS, Crowd
from tests.protocol.pipe_talk import PLAIN_TOKEN, Body, Talk, trial
from tests.protocol.workload_talk import (
    MS,
    accept,
    assert_exact,
    connect,
    disconnect,
    finish,
    group,
    iterations,
    read,
    specs,
    think,
    transaction,
    workload,
    write,
)

StartTalk = Callable[..., Talk]

SLOW = pytest.mark.slow


def preamble(number: int, token: str = PLAIN_TOKEN) -> bytes:
    """How a connection introduces itself, as docs/reference/protocol.md says."""
    return b"WPDC" + struct.pack(">I", number) + bytes.fromhex(token)


@pytest.fixture
def sockets() -> Iterator[ExitStack]:
    """Holds connections open until the test ends."""
    with ExitStack() as stack:
        yield stack


def is_dropped(connection: socket.socket, within_s: float = 10) -> bool:
    """Whether the other side closes the connection without having said anything."""
    connection.settimeout(within_s)
    try:
        return connection.recv(1) == b""
    except ConnectionResetError:
        return True


WRONG_TOKEN = preamble(0, "5b" * 32)


@pytest.mark.parametrize(
    ("says", "hangs_up", "dropped_at_once"),
    [
        pytest.param(b"", True, True, id="nothing and hangs up"),
        pytest.param(b"", False, False, id="nothing and waits"),
        pytest.param(preamble(0)[:20], False, False, id="half a preamble and waits"),
        pytest.param(preamble(0)[:20], True, True, id="half a preamble and hangs up"),
        pytest.param(WRONG_TOKEN, False, True, id="a wrong token"),
        pytest.param(preamble(1), False, True, id="a number that is not in the trial"),
        pytest.param(preamble(0xFFFFFFFF), False, True, id="an absurd number"),
        pytest.param(b"GET / HTTP/1.1\r\nHost: far.example\r\n\r\n" * 4, False, True, id="another protocol"),
        pytest.param(b"\0" * 1_000_000, False, True, id="a flood"),
    ],
)
def test_an_unauthenticated_peer_is_dropped_and_counted(
    talk: StartTalk, sockets: ExitStack, says: bytes, hangs_up: bool, dropped_at_once: bool
) -> None:
    far, near = talk().hello(), talk().hello()
    port = far.ask("prepare", **trial())["port"]
    intruders = [sockets.enter_context(socket.create_connection(("127.0.0.1", port))) for _ in range(3)]
    for intruder in intruders:
        intruder.setblocking(False)
        try:
            intruder.send(says)
            if hangs_up:
                intruder.shutdown(socket.SHUT_WR)
        except OSError:
            continue
    if dropped_at_once:
        assert all(is_dropped(intruder) for intruder in intruders)

    near.ask("prepare", **trial("connect", "sender"))
    assert near.ask("connect", address="127.0.0.1", port=port)["connections_count"] == 1
    started = [(agent, agent.send("start", at_mono_ns=0)) for agent in (far, near)]
    finished = [agent.finish(identifier)[0] for agent, identifier in started]

    assert [end["payload_bytes"] for end in finished] == [100_000, 100_000]
    assert {"note": "strangers_dropped", "count": 3} in finished[0]["notes"]
    assert all(is_dropped(intruder) for intruder in intruders)


def test_a_connection_that_comes_twice_counts_once(talk: StartTalk, sockets: ExitStack) -> None:
    """A replayed preamble is an unauthenticated peer's: the number is taken."""
    far = talk().hello()
    port = far.ask("prepare", **trial(connections_count=2))["port"]
    first = sockets.enter_context(socket.create_connection(("127.0.0.1", port)))
    first.sendall(preamble(0))
    assert first.recv(100) == b"+" * len(preamble(0))
    again = sockets.enter_context(socket.create_connection(("127.0.0.1", port)))
    again.sendall(preamble(0))
    assert is_dropped(again)


def test_a_preamble_in_pieces_is_heard(talk: StartTalk, sockets: ExitStack) -> None:
    far = talk().hello()
    port = far.ask("prepare", **trial(connections_count=1))["port"]
    connection = sockets.enter_context(socket.create_connection(("127.0.0.1", port)))
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    for byte in preamble(0):
        connection.send(bytes([byte]))
        time.sleep(0.002)
    connection.settimeout(3)
    assert connection.recv(1) == b"+"


def test_the_port_closes_when_all_are_there(talk: StartTalk, sockets: ExitStack) -> None:
    far = talk().hello()
    port = far.ask("prepare", **trial(connections_count=1))["port"]
    connection = sockets.enter_context(socket.create_connection(("127.0.0.1", port)))
    connection.sendall(preamble(0))
    assert connection.recv(1) == b"+"
    end = time.monotonic() + 2
    while time.monotonic() < end:
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
        except ConnectionRefusedError:
            return
        time.sleep(0.01)
    pytest.fail("the port still listens")


def limited(talk: StartTalk, files: int) -> Talk:
    """An agent with this hard limit of open files."""
    agent = talk().hello()
    resource.prlimit(agent.process.pid, resource.RLIMIT_NOFILE, (files, files))
    return agent


#: Requests and responses over connections that are open before the load, and over one for each, which the far side or
#: the near side takes while the load runs; peers of all kinds, and such as only wait.
CROWDED = [
    pytest.param(2_500, KINDS, [write(100), read(1000)], id="rr"),
    pytest.param(2_500, KINDS, [connect(), write(100), read(1000), disconnect()], id="connects"),
    pytest.param(2_500, ("silent",), [accept(), write(100), read(1000), disconnect()], id="accepts"),
    pytest.param(10_000, KINDS, [connect(), write(100), read(1000), disconnect()], id="ten thousand", marks=SLOW),
    pytest.param(10_000, ("silent",), [write(100), read(1000)], id="ten thousand silent", marks=SLOW),
]


@pytest.mark.parametrize(("intruders", "kinds", "steps"), CROWDED)
def test_a_crowd_keeps_no_connection_out_and_breaks_no_workload(
    talk: StartTalk, intruders: int, kinds: tuple[str, ...], steps: list[Body]
) -> None:
    """It stands at the port before the connections come, and while the load runs; the far agent has few files."""
    far, near = limited(talk, 1024), talk().hello()
    exchange = transaction(*steps, repeat=iterations(50))
    far_spec, near_spec = specs(workload(group(exchange, strands=20, connected=len(steps) == 2)), {"by": "workload"})
    port = far.ask("prepare", **far_spec)["port"]
    near.ask("prepare", **near_spec)
    with Crowd(port, intruders, kinds) as crowd:
        assert near.ask("connect", address="127.0.0.1", port=port)["reply"] == "connected"
        far_side, _ = assert_exact(finish(far, near), 1_000, 100_000, 1_000_000)
    (dropped,) = [note["count"] for note in far_side.finished["notes"] if note["note"] == "strangers_dropped"]
    assert 0 < dropped <= crowd.came_count + intruders


def test_a_silent_connection_that_loses_its_place_is_reset(talk: StartTalk, sockets: ExitStack) -> None:
    """Who sends the preamble a moment too late learns it from that call, and can connect again."""
    far, near = limited(talk, 256), talk().hello()
    exchange = transaction(connect(), write(100), read(100), disconnect(), repeat=iterations(1))
    load = workload(group(transaction(think(2_000 * MS), repeat=iterations(1), name="wait"), exchange, connected=False))
    far_spec, near_spec = specs(load, {"by": "workload"})
    port = far.ask("prepare", **far_spec)["port"]
    near.ask("prepare", **near_spec)
    assert near.ask("connect", address="127.0.0.1", port=port)["reply"] == "connected"
    started = [(agent, agent.send("start", at_mono_ns=0)) for agent in (far, near)]
    silent = [sockets.enter_context(socket.create_connection(("127.0.0.1", port))) for _ in range(400)]
    silent[0].settimeout(10)
    with pytest.raises(ConnectionResetError):
        silent[0].recv(1)
    finished = [agent.finish(identifier)[0] for agent, identifier in started]
    assert [end["outcome"] for end in finished] == [{"ended": "complete"}] * 2


def test_a_connection_that_is_silent_at_the_end_of_the_load_is_reset(talk: StartTalk, sockets: ExitStack) -> None:
    """Its place was free to the end: who is late learns it as from a place that another took."""
    far, near = talk().hello(), talk().hello()
    exchange = transaction(connect(), write(100), read(100), disconnect(), repeat=iterations(1))
    load = workload(group(transaction(think(300 * MS), repeat=iterations(1), name="wait"), exchange, connected=False))
    far_spec, near_spec = specs(load, {"by": "workload"})
    port = far.ask("prepare", **far_spec)["port"]
    near.ask("prepare", **near_spec)
    assert near.ask("connect", address="127.0.0.1", port=port)["reply"] == "connected"
    started = [(agent, agent.send("start", at_mono_ns=0)) for agent in (far, near)]
    silent = sockets.enter_context(socket.create_connection(("127.0.0.1", port)))
    silent.settimeout(10)
    with pytest.raises(ConnectionResetError):
        silent.recv(1)
    finished = [agent.finish(identifier)[0] for agent, identifier in started]
    assert [end["outcome"] for end in finished] == [{"ended": "complete"}] * 2


def test_what_the_far_side_saw_can_be_asked(talk: StartTalk, sockets: ExitStack) -> None:
    """The connecting end can only guess why nobody welcomes it."""
    far = talk().hello()
    assert far.ask("describe_opening") == {
        "reply": "opening",
        "connections_count": 0,
        "strangers_count": 0,
        "problem": None,
    }
    port = far.ask("prepare", **trial(connections_count=2))["port"]
    first, intruder = (sockets.enter_context(socket.create_connection(("127.0.0.1", port))) for _ in range(2))
    first.sendall(preamble(0))
    assert first.recv(100) == b"+" * len(preamble(0))
    intruder.sendall(WRONG_TOKEN)
    assert is_dropped(intruder)
    reply = far.ask("describe_opening")
    assert (reply["connections_count"], reply["strangers_count"], reply["problem"]) == (1, 1, None)
    far.ask("abort")
    assert far.ask("describe_opening")["problem"] == "aborted while waiting for connections"
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(("127.0.0.1", port), timeout=1)


def test_a_connection_that_is_let_go_unheard_is_tried_again(talk: StartTalk) -> None:
    near = talk().hello()
    with socket.create_server(("127.0.0.1", 0)) as far:
        near.ask("prepare", **trial("connect", "sender"))
        asked = near.send("connect", address="127.0.0.1", port=far.getsockname()[1])
        for _ in range(3):
            far.accept()[0].close()
        with far.accept()[0] as connection:
            assert connection.recv(100) == preamble(0)
            connection.sendall(b"+" * len(preamble(0)))
            assert near.reply_to(asked)["reply"] == "connected"
