"""Connections that a workload opens and closes, on either side; what belongs to nobody is dropped or named."""

import os
import socket
import struct
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.protocol.disturber import between
from tests.protocol.pipe_talk import PLAIN_TOKEN, Body
from tests.protocol.workload_talk import (
    MS,
    StartTalk,
    accept,
    assert_exact,
    assert_same,
    connect,
    crr,
    disconnect,
    end_of,
    execute,
    finish,
    group,
    iterations,
    phases,
    prepare,
    read,
    specs,
    step,
    think,
    transaction,
    workload,
    write,
)

WORKLOAD: Body = {"by": "workload"}
PREAMBLE_BYTES = 40
#: What a connection of another trial says, and one that a workload opens.
OF_THE_TRIAL = b"WPDC" + struct.pack(">I", 0xFFFF_FFFF) + bytes.fromhex(PLAIN_TOKEN)
WRONG_TOKEN = b"WPDL" + struct.pack(">I", 0) + bytes.fromhex("5b" * 32) + struct.pack(">I", 0)


@pytest.fixture
def sockets() -> Iterator[ExitStack]:
    """Holds connections open until the test ends."""
    with ExitStack() as stack:
        yield stack


WITH = [
    pytest.param({"io_model": "epoll", "threads_count": 1}, id="epoll"),
    pytest.param({"io_model": "epoll", "threads_count": 2}, id="epoll, two threads"),
    pytest.param({"io_model": "blocking"}, id="blocking"),
    pytest.param({"io_model": "io_uring", "threads_count": 2}, id="io_uring, two threads"),
    pytest.param({"transport": "unix"}, id="unix"),
]


@pytest.mark.parametrize("changes", WITH)
@pytest.mark.parametrize("opens", [connect(), accept()], ids=["near", "far"])
def test_each_execution_has_a_connection_of_its_own(talk: StartTalk, opens: Body, changes: Body) -> None:
    steps = [opens, write(100), read(1000), disconnect()]
    load = workload(group(transaction(*steps, repeat=iterations(50)), strands=4, connected=False))
    far, near = assert_exact(execute(talk, load, WORKLOAD, **changes), 200, 20_000, 200_000)
    # It is the end that connects which knows how long that took.
    opener, other = (near, far) if opens == connect() else (far, near)
    assert opener.latencies("connect")["latency_count"].sum() == 200
    assert other.latencies("connect").is_empty()


def test_more_unix_connections_than_a_queue_holds_are_waited_for(talk: StartTalk) -> None:
    """Nobody answers, so that the near side runs ahead of the other one by thousands of connections."""
    steps = [connect(), write(1), disconnect()]
    load = workload(group(transaction(*steps, repeat=iterations(5_000)), strands=2, connected=False))
    assert_exact(execute(talk, load, WORKLOAD, transport="unix", threads_count=2), 10_000, 10_000, 0)


FORMS = [
    pytest.param([connect(), read(70), disconnect()], 0, 70, id="the far side speaks first"),
    pytest.param([connect(), disconnect()], 0, 0, id="nothing is said"),
    pytest.param([connect(), write(200_000), disconnect()], 200_000, 0, id="more than a segment"),
    pytest.param([connect(1), write(5, 1), connect(2), write(6, 2), disconnect(1), disconnect(2)], 11, 0, id="two"),
    pytest.param([accept(), read(70), disconnect()], 0, 70, id="accepted, the far side speaks first"),
    pytest.param([accept(), disconnect()], 0, 0, id="accepted, nothing is said"),
    pytest.param([connect(1), accept(2), write(5, 1), read(6, 2), disconnect(1), disconnect(2)], 5, 6, id="both ways"),
    pytest.param([accept(1), connect(2), read(6, 2), write(5, 1), disconnect(2), disconnect(1)], 5, 6, id="far first"),
]


@pytest.mark.parametrize("io_model", ["epoll", "io_uring"])
@pytest.mark.parametrize(("steps", "sent", "received"), FORMS)
def test_a_connection_may_carry_anything(
    talk: StartTalk, steps: list[Body], sent: int, received: int, io_model: str
) -> None:
    load = workload(group(transaction(*steps, repeat=iterations(20)), strands=3, connected=False))
    assert_exact(execute(talk, load, WORKLOAD, io_model=io_model), 60, 60 * sent, 60 * received)


OPENED = [
    pytest.param([connect(1)], [write(5, 1), disconnect(1)], id="unused until the next transaction"),
    pytest.param([connect(1), read(7, 1)], [write(5, 1), disconnect(1)], id="the far side speaks first"),
    pytest.param([connect(1), connect(2)], [write(5, 2), write(6, 1), read(3, 2), disconnect(1)], id="two at once"),
    pytest.param([connect(1), write(9)], [write(5, 1)], id="another speaks first"),
    pytest.param([connect(1), read(9)], [read(5, 1)], id="another is heard first"),
    pytest.param([connect(1), think(5 * MS), write(4, 1)], [write(5, 1)], id="after a pause"),
    pytest.param([connect(1), disconnect()], [write(5, 1)], id="instead of another"),
]


@pytest.mark.parametrize("io_model", ["epoll", "blocking"])
@pytest.mark.parametrize(("first", "second"), OPENED)
def test_the_other_end_learns_of_a_connection_whatever_follows(
    talk: StartTalk, io_model: str, first: list[Body], second: list[Body]
) -> None:
    once = iterations(1)
    steps = transaction(*first, name="open", repeat=once), transaction(*second, name="use", repeat=once)
    _, near = assert_same(execute(talk, workload(group(*steps, strands=3)), WORKLOAD, io_model=io_model))
    assert near.total("transactions_count") == 6
    assert near.latencies("connect")["latency_count"].sum() == 3 * (1 + (connect(2) in first))


def test_time_ends_between_two_connections(talk: StartTalk) -> None:
    steps = accept(), write(1), read(1), disconnect()
    assert_same(execute(talk, workload(group(transaction(*steps), strands=10, connected=False)), phases(300)))


@pytest.mark.parametrize("io_model", ["epoll", "io_uring"])
def test_a_file_is_sent_whole(talk: StartTalk, tmp_path: Path, io_model: str) -> None:
    path = tmp_path / "page"
    path.write_bytes(os.urandom(300_000))
    send = step("send_file", connection=0, files=[{"path": str(path), "length_bytes": 300_000}], call_bytes=70_000)
    load = workload(group(transaction(send, read(1), repeat=iterations(20)), strands=2))
    assert_exact(execute(talk, load, WORKLOAD, io_model=io_model), 40, 40 * 300_000, 40)


def test_unauthenticated_peers_are_dropped_while_it_runs(talk: StartTalk, sockets: ExitStack) -> None:
    """A wrong token, another protocol, silence: none is given a byte, none holds a virtual user up."""
    load = workload(group(crr(1, 1, iterations(300)), strands=2, connected=False))
    far, near = prepare(talk, load, WORKLOAD)
    port = listening_port(far.process.pid)
    intruders = [sockets.enter_context(socket.create_connection(("127.0.0.1", port), timeout=10)) for _ in range(3)]
    intruders[0].sendall(WRONG_TOKEN)
    intruders[1].sendall(b"GET / HTTP/1.1\r\nHost: far.example\r\nAccept: everything at all\r\n\r\n")
    far_side, _ = assert_exact(finish(far, near), 600, 600, 600)
    assert {"note": "strangers_dropped", "count": 2} in far_side.finished["notes"]
    for intruder in intruders:
        try:
            assert intruder.recv(100) == b""
        except ConnectionResetError:
            continue


def test_unauthenticated_peers_at_the_near_side_are_dropped(talk: StartTalk, sockets: ExitStack) -> None:
    steps = [accept(), read(1), write(1), disconnect()]
    load = workload(group(transaction(*steps, repeat=iterations(300)), strands=2, connected=False))
    far, near = prepare(talk, load, WORKLOAD)
    intruder = sockets.enter_context(socket.create_connection(("127.0.0.1", listening_port(near.process.pid))))
    intruder.sendall(WRONG_TOKEN)
    _, near_side = assert_exact(finish(far, near), 600, 600, 600)
    assert {"note": "strangers_dropped", "count": 1} in near_side.finished["notes"]


def listening_port(process: int) -> int:
    """The port at which a process listens, of the host's table by the inodes of its files."""
    own = {str(entry.readlink()) for entry in Path(f"/proc/{process}/fd").iterdir()}
    for line in Path("/proc/net/tcp").read_text().splitlines()[1:]:
        fields = line.split()
        if fields[3] == "0A" and f"socket:[{fields[9]}]" in own:
            return int(fields[1].split(":")[1], 16)
    raise AssertionError("it does not listen")


ACCEPTS = workload(group(transaction(accept(), read(1), disconnect(), repeat=iterations(1)), connected=False))


def test_no_way_back_through_address_translation_is_a_sentence(talk: StartTalk) -> None:
    far, near = talk().hello(), talk().hello()
    far_spec, near_spec = specs(ACCEPTS, WORKLOAD)
    port = far.ask("prepare", **far_spec)["port"]
    near.ask("prepare", **near_spec)
    with between(port, lambda datagram: [datagram], source="127.0.0.7") as (address, _):
        answer = near.reply_to(near.send("connect", address=address, port=port), 20)
    assert (answer["reply"], answer["fault"]) == ("error", "peer"), answer
    assert "the far host cannot connect to 127.0.0.7:" in answer["text"]
    assert "address translation" in answer["text"]


def test_another_program_at_the_reverse_listener_is_refused(talk: StartTalk, sockets: ExitStack) -> None:
    """Something that listens on the port of the order, but is not the near side of this trial."""
    port = talk().hello().ask("prepare", **specs(ACCEPTS, WORKLOAD)[0])["port"]
    other = sockets.enter_context(socket.create_server(("127.0.0.1", 0)))
    conductor = sockets.enter_context(socket.create_connection(("127.0.0.1", port), timeout=20))
    conductor.sendall(OF_THE_TRIAL)
    assert conductor.recv(PREAMBLE_BYTES) == b"+" * PREAMBLE_BYTES
    conductor.sendall(struct.pack(">H", other.getsockname()[1]))
    peer = sockets.enter_context(other.accept()[0])
    peer.settimeout(20)
    assert peer.recv(PREAMBLE_BYTES) == OF_THE_TRIAL
    peer.sendall(b"SSH-2.0-OpenSSH_9.2p1 Debian-2+deb12u3 xx")
    assert conductor.recv(1) == b"-"
    (length,) = struct.unpack(">H", conductor.recv(2))
    assert "another program than whyperf answers there" in conductor.recv(length).decode()


def close_early(user: socket.socket, conductor: socket.socket) -> None:
    """Hears a request and hangs up."""
    user.recv(1)
    user.close()
    conductor.recv(24, socket.MSG_WAITALL)


def talk_nonsense(user: socket.socket, conductor: socket.socket) -> None:
    """Says to the conductor what no conductor says."""
    user.recv(1)
    conductor.sendall(b"GET / HTTP/1.1\r\nHost: near.example\r\n\r\n")
    while conductor.recv(1000):
        continue


def welcome(server: socket.socket, does: Callable[[socket.socket, socket.socket], None]) -> None:
    """Knows the token, for it welcomes whoever comes, and then does something else than the workload."""
    taken = {}
    for _ in range(2):
        connection, _ = server.accept()
        is_conductor = connection.recv(PREAMBLE_BYTES, socket.MSG_WAITALL)[4:8] == b"\xff" * 4
        connection.sendall(b"+" * PREAMBLE_BYTES)
        taken[is_conductor] = connection
    with taken[False] as user, taken[True] as conductor:
        does(user, conductor)


@pytest.mark.parametrize(
    ("does", "says"),
    [
        (close_early, "virtual user 0, in execution 1 of main, step 2: 1 of 1 bytes missing: the other host closed"),
        (talk_nonsense, "it does not keep to the protocol"),
    ],
)
def test_a_far_side_that_does_something_else_is_named(
    talk: StartTalk, does: Callable[[socket.socket, socket.socket], None], says: str
) -> None:
    near = talk().hello()
    load = workload(group(transaction(write(1), read(1))))
    near.ask("prepare", **specs(load, phases(1_000), deadline_ns=8_000 * MS)[1])
    with socket.create_server(("127.0.0.1", 0)) as server, ThreadPoolExecutor(1) as pool:
        impostor = pool.submit(welcome, server, does)
        assert near.ask("connect", address="127.0.0.1", port=server.getsockname()[1])["reply"] == "connected"
        end = end_of(*near.finish(near.send("start", at_mono_ns=0)))
        impostor.result(20)
    assert end.outcome == "failed"
    assert says in end.finished["outcome"]["reason"]
    assert end.tables["flows"]["ended"][0] == end.finished["outcome"]["reason"]
