"""Who does not present the trial's token is dropped and counted, and holds nobody up."""

import socket
import struct
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack

import pytest

from tests.protocol.pipe_talk import TOKEN, Talk, trial

StartTalk = Callable[..., Talk]


def preamble(number: int, token: str = TOKEN) -> bytes:
    """How a connection introduces itself, as docs/protocol.md says."""
    return b"WPDC" + struct.pack(">I", number) + bytes.fromhex(token)


@pytest.fixture
def sockets() -> Iterator[ExitStack]:
    """Holds connections open until the test ends."""
    with ExitStack() as stack:
        yield stack


def is_dropped(connection: socket.socket, within_s: float = 10) -> bool:
    """Whether the other end closes the connection without having said anything."""
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
def test_a_stranger_is_dropped_and_counted(
    talk: StartTalk, sockets: ExitStack, says: bytes, hangs_up: bool, dropped_at_once: bool
) -> None:
    far, near = talk().hello(), talk().hello()
    port = far.ask("prepare", **trial())["port"]
    strangers = [sockets.enter_context(socket.create_connection(("127.0.0.1", port))) for _ in range(3)]
    for stranger in strangers:
        stranger.setblocking(False)
        try:
            stranger.send(says)
            if hangs_up:
                stranger.shutdown(socket.SHUT_WR)
        except OSError:
            continue
    if dropped_at_once:
        assert all(is_dropped(stranger) for stranger in strangers)

    near.ask("prepare", **trial("connect", "sender"))
    assert near.ask("connect", address="127.0.0.1", port=port)["connections_count"] == 1
    started = [(agent, agent.send("start", at_mono_ns=0)) for agent in (far, near)]
    finished = [agent.finish(identifier)[0] for agent, identifier in started]

    assert [end["payload_bytes"] for end in finished] == [100_000, 100_000]
    assert {"note": "strangers_dropped", "count": 3} in finished[0]["notes"]
    assert all(is_dropped(stranger) for stranger in strangers)


def test_slow_strangers_block_nobody(talk: StartTalk, sockets: ExitStack) -> None:
    """Two hundred connections that say a byte now and then, before and between the real ones."""
    far, near = talk().hello(), talk().hello()
    port = far.ask("prepare", **trial(connections_count=5))["port"]
    slow = [sockets.enter_context(socket.create_connection(("127.0.0.1", port))) for _ in range(200)]
    near.ask("prepare", **trial("connect", "sender", connections_count=5))
    asked = near.send("connect", address="127.0.0.1", port=port)
    for byte in preamble(0)[:3]:
        for stranger in slow:
            try:
                stranger.send(bytes([byte]))
            except OSError:
                continue
    assert near.reply_to(asked, within_s=3)["connections_count"] == 5
    started = [(agent, agent.send("start", at_mono_ns=0)) for agent in (far, near)]
    finished = [agent.finish(identifier)[0] for agent, identifier in started]
    assert [end["payload_bytes"] for end in finished] == [500_000, 500_000]
    assert {"note": "strangers_dropped", "count": 200} in finished[0]["notes"]


def test_a_connection_that_comes_twice_counts_once(talk: StartTalk, sockets: ExitStack) -> None:
    """A replayed preamble is a stranger's: the number is taken."""
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


def test_a_near_end_that_never_comes_is_told_after_a_while(talk: StartTalk) -> None:
    """`abort` ends the wait at once, and the port with it."""
    far = talk().hello()
    port = far.ask("prepare", **trial())["port"]
    assert far.ask("abort")["reply"] == "done"
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(("127.0.0.1", port), timeout=1)
