"""Connections that the far side opens while a workload runs: the near side accepts."""

import socket
import struct
import threading
from typing import Any

import pytest

from tests.protocol.pipe_talk import TOKEN, Body
from tests.protocol.test_workload_connects import listening_port
from tests.protocol.workload_talk import (
    StartTalk,
    accept,
    connect,
    disconnect,
    execute,
    finish,
    group,
    iterations,
    phases,
    prepare,
    read,
    specs,
    transaction,
    workload,
    write,
)

WITH = [
    pytest.param({"io_model": "epoll", "threads_count": 1}, id="epoll"),
    pytest.param({"io_model": "epoll", "threads_count": 2}, id="epoll, two threads"),
    pytest.param({"io_model": "blocking"}, id="blocking"),
    pytest.param({"io_model": "io_uring"}, id="io_uring"),
    pytest.param({"transport": "unix"}, id="unix"),
]


@pytest.mark.parametrize("changes", WITH)
def test_the_far_side_connects_and_both_count_the_same(talk: StartTalk, changes: Body) -> None:
    steps = [accept(), write(100), read(1000), disconnect()]
    load = workload(group(transaction(*steps, repeat=iterations(50)), strands=4, connected=False))
    far, near = execute(talk, load, {"by": "workload"}, **changes)
    assert [far.outcome, near.outcome] == ["complete", "complete"], (far.finished, near.finished)
    assert near.total("transactions_count") == far.total("transactions_count") == 200
    assert near.total("sent_bytes") == far.total("received_bytes") == 20_000
    assert near.total("received_bytes") == far.total("sent_bytes") == 200_000
    # It is the end that connects which knows how long that took.
    assert far.latencies("connect")["latency_count"].sum() == 200
    assert near.latencies("connect").is_empty()


FORMS = [
    pytest.param([accept(), read(70), disconnect()], 0, 70, id="the far side speaks first"),
    pytest.param([accept(), disconnect()], 0, 0, id="nothing is said"),
    pytest.param([connect(1), accept(2), write(5, 1), read(6, 2), disconnect(1), disconnect(2)], 5, 6, id="both ways"),
    pytest.param([accept(1), connect(2), read(6, 2), write(5, 1), disconnect(2), disconnect(1)], 5, 6, id="far first"),
]


@pytest.mark.parametrize(("steps", "sent", "received"), FORMS)
def test_an_accepted_connection_may_carry_anything(
    talk: StartTalk, steps: list[Body], sent: int, received: int
) -> None:
    load = workload(group(transaction(*steps, repeat=iterations(20)), strands=3, connected=False))
    far, near = execute(talk, load, {"by": "workload"})
    assert [far.outcome, near.outcome] == ["complete", "complete"], (far.finished, near.finished)
    assert near.total("transactions_count") == far.total("transactions_count") == 60
    assert near.total("sent_bytes") == far.total("received_bytes") == 60 * sent
    assert near.total("received_bytes") == far.total("sent_bytes") == 60 * received


def test_time_ends_between_two_accepts(talk: StartTalk) -> None:
    steps = [accept(), write(1), read(1), disconnect()]
    far, near = execute(talk, workload(group(transaction(*steps), strands=10, connected=False)), phases(300))
    assert [far.outcome, near.outcome] == ["complete", "complete"], (far.finished, near.finished)
    assert near.total("transactions_count") == far.total("transactions_count") > 0


def test_unauthenticated_peers_at_the_near_side_are_dropped(talk: StartTalk) -> None:
    steps = [accept(), read(1), write(1), disconnect()]
    load = workload(group(transaction(*steps, repeat=iterations(300)), strands=2, connected=False))
    far, near = prepare(talk, load, {"by": "workload"})
    intruder = socket.create_connection(("127.0.0.1", listening_port(near.process.pid)))
    intruder.sendall(b"WPDL" + struct.pack(">I", 0) + bytes.fromhex("5b" * 32) + struct.pack(">I", 0))
    far_side, near_side = finish(far, near)
    assert [far_side.outcome, near_side.outcome] == ["complete", "complete"], (far_side.finished, near_side.finished)
    assert near_side.total("transactions_count") == 600
    assert {"note": "strangers_dropped", "count": 1} in near_side.finished["notes"]
    intruder.close()


class Translator(threading.Thread):
    """Stands between both sides as address translation does: the near side's address is not its own."""

    def __init__(self, far_port: int) -> None:
        super().__init__(daemon=True)
        self._far_port = far_port
        self.server = socket.create_server(("127.0.0.3", 0))

    def run(self) -> None:
        """Carries what comes to the far side, from another address."""
        while True:
            try:
                near, _ = self.server.accept()
            except OSError:
                return
            far = socket.create_connection(("127.0.0.1", self._far_port), source_address=("127.0.0.7", 0))
            for source, sink in ((near, far), (far, near)):
                threading.Thread(target=carry, args=(source, sink), daemon=True).start()


def carry(source: socket.socket, sink: socket.socket) -> None:
    """Carries one direction."""
    try:
        while data := source.recv(65536):
            sink.sendall(data)
    except OSError:
        pass
    finally:
        sink.close()


def behind_translation(talk: StartTalk, load: Body) -> dict[str, Any]:
    """What the near side answers to `connect` when its address is translated."""
    far, near = talk().hello(), talk().hello()
    far_spec, near_spec = specs(load, {"by": "workload"})
    prepared = far.ask("prepare", **far_spec)
    near.ask("prepare", **near_spec)
    between = Translator(prepared["port"])
    between.start()
    address, port = between.server.getsockname()
    answer = near.reply_to(near.send("connect", address=address, port=port), 20)
    between.server.close()
    return answer


def test_no_way_back_through_address_translation_is_a_sentence(talk: StartTalk) -> None:
    steps = [accept(), read(1), disconnect()]
    load = workload(group(transaction(*steps, repeat=iterations(1)), connected=False))
    answer = behind_translation(talk, load)
    assert (answer["reply"], answer["fault"]) == ("error", "peer"), answer
    assert "the far host cannot connect to 127.0.0.7:" in answer["text"]
    assert "address translation" in answer["text"]


def test_an_unauthenticated_peer_at_the_reverse_listener_is_refused(talk: StartTalk) -> None:
    """Something that listens on the port of the order, but is not the near side of this trial."""
    far = talk().hello()
    load = workload(group(transaction(accept(), read(1), disconnect(), repeat=iterations(1)), connected=False))
    far_spec, _ = specs(load, {"by": "workload"})
    prepared = far.ask("prepare", **far_spec)
    with socket.create_server(("127.0.0.1", 0)) as other:
        conductor = socket.create_connection(("127.0.0.1", prepared["port"]))
        conductor.settimeout(20)
        conductor.sendall(b"WPDC" + struct.pack(">I", 0xFFFF_FFFF) + bytes.fromhex(TOKEN))
        assert conductor.recv(40) == b"+" * 40
        conductor.sendall(struct.pack(">H", other.getsockname()[1]))
        peer, _ = other.accept()
        peer.settimeout(20)
        assert peer.recv(40) == b"WPDC" + struct.pack(">I", 0xFFFF_FFFF) + bytes.fromhex(TOKEN)
        peer.sendall(b"SSH-2.0-OpenSSH_9.2p1 Debian-2+deb12u3 xx")
        answer = conductor.recv(1)
        assert answer == b"-"
        (length,) = struct.unpack(">H", conductor.recv(2))
        assert "another program than whyperf answers there" in conductor.recv(length).decode()
        peer.close()
        conductor.close()
