"""A near side whose far side is nothing like one: it is named, and nothing hangs."""

import socket
import threading
from collections.abc import Callable

import pytest

from tests.protocol.pipe_talk import Talk
from tests.protocol.workload_talk import StartTalk, end_of, group, phases, read, specs, transaction, workload, write

PREAMBLE_BYTES = 40


class Impostor:
    """Knows the token, for it welcomes whoever comes, and then does something else than the workload."""

    def __init__(self, connections: int, does: Callable[[list[socket.socket], socket.socket], None]) -> None:
        """Listens; `does` gets the virtual users' connections and the conductor's."""
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = self._listener.getsockname()[1]
        self._thread = threading.Thread(target=self._serve, args=(connections, does))
        self._thread.start()

    def _serve(self, connections: int, does: Callable[[list[socket.socket], socket.socket], None]) -> None:
        strands, conductor = [], None
        with self._listener:
            for _ in range(connections + 1):
                taken, _ = self._listener.accept()
                preamble = taken.recv(PREAMBLE_BYTES, socket.MSG_WAITALL)
                taken.sendall(b"+" * PREAMBLE_BYTES)
                if preamble[4:8] == b"\xff" * 4:
                    conductor = taken
                else:
                    strands.append(taken)
        assert conductor is not None
        does(strands, conductor)
        for taken in [*strands, conductor]:
            taken.close()

    def end(self) -> None:
        """Waits until it has done what it does."""
        self._thread.join(20)
        assert not self._thread.is_alive()


def close_early(strands: list[socket.socket], conductor: socket.socket) -> None:
    """Hears a request and hangs up."""
    strands[0].recv(1)
    strands[0].close()
    conductor.recv(24, socket.MSG_WAITALL)


def talk_nonsense(strands: list[socket.socket], conductor: socket.socket) -> None:
    """Says to the conductor what no conductor says."""
    strands[0].recv(1)
    conductor.sendall(b"GET / HTTP/1.1\r\nHost: near.example\r\n\r\n")
    while conductor.recv(1000):
        continue


@pytest.mark.parametrize(
    ("does", "says"),
    [
        (
            close_early,
            "virtual user 0, in execution 1 of main, step 2: 1 of 1 bytes missing: the other host closed"
            " the connection",
        ),
        (talk_nonsense, "it does not keep to the protocol"),
    ],
)
def test_an_impostor_is_named(
    talk: StartTalk, does: Callable[[list[socket.socket], socket.socket], None], says: str
) -> None:
    impostor = Impostor(1, does)
    _, spec = specs(workload(group(transaction(write(1), read(1)))), phases(1_000), deadline_ns=8_000_000_000)
    near: Talk = talk().hello()
    assert near.ask("prepare", **spec)["reply"] == "prepared"
    assert near.ask("connect", address="127.0.0.1", port=impostor.port)["reply"] == "connected"
    end = end_of(*near.finish(near.send("start", at_mono_ns=0)))
    impostor.end()
    assert end.outcome == "failed"
    assert says in end.finished["outcome"]["reason"]
    assert end.tables["flows"]["ended"][0] == end.finished["outcome"]["reason"]
