"""Connections of another program, watched on the kernels of Debian 11, 12 and 13: counted and logged to the byte."""

import socket
import threading
from typing import Any

import polars as pl
import pytest

from tests.e2e.logs import bytes_covered
from tests.kernels.guest import HERE, Guest
from tests.protocol import pipe_talk
from tests.protocol.pipe_talk import SECOND_NS, Talk
from tests.protocol.watch_talk import await_connections, finished

pytestmark = pytest.mark.timeout(900)

PORT = 5001
FIRST_BYTES, SECOND_BYTES = 100_000, 500_000
SYN = 2
#: Programs choose sockets at their SYN where atomic additions return the previous value (Linux 5.12).
WITHOUT_PICKS = "5.10"


class Transfer:
    """A transfer inside the guest: netcat sends what we give it over the guest's loopback, to a program that counts."""

    def __init__(self, guest: Guest) -> None:
        """Starts both programs."""
        server = ("/bin/busybox", "nc", "-l", "-p", str(PORT), "-e", "/bin/busybox", "wc", "-c")
        self._server = threading.Thread(target=guest.run, args=server, daemon=True)
        self._server.start()
        listening = f":{PORT:04X} "
        while listening not in guest.run("/bin/busybox", "cat", "/proc/net/tcp", "/proc/net/tcp6"):
            pass
        self._connection = socket.create_connection(("127.0.0.1", guest.port), timeout=120)
        self._connection.sendall(f"/bin/busybox nc 127.0.0.1 {PORT}\n".encode())

    def send(self, count: int) -> None:
        """Moves so many bytes."""
        self._connection.sendall(bytes(count))

    def end(self) -> int:
        """Closes the connection; how many bytes have come."""
        self._connection.shutdown(socket.SHUT_WR)
        said = b""
        while piece := self._connection.recv(1 << 10):
            said += piece
        self._connection.close()
        self._server.join(60)
        return int(said)


def counted(table: pl.DataFrame, column: str) -> dict[int, int]:
    """Sums of a column, by connection."""
    return dict(table.group_by("connection").agg(pl.sum(column)).iter_rows())


def test_a_connection_is_seen_to_the_byte(guest: Guest, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WHYPERF_GUEST_PORT", str(guest.port))
    monkeypatch.setattr(pipe_talk, "AGENT", HERE / "agent_in_guest")
    agent = Talk().hello()
    try:
        spec: dict[str, Any] = {"host": "near", "selection": {"ports": [PORT]}, "evidence": "segments"}
        spec |= {"sample_ns": SECOND_NS // 10, "report_ns": SECOND_NS // 5, "connections_most": 8}
        agent.send("watch", **spec)
        report = await_connections(agent, 0)
        assert (report["level"], report["reason"]) == ("segments", None)
        transfer = Transfer(guest)
        transfer.send(FIRST_BYTES)
        await_connections(agent, 2, least_bytes=FIRST_BYTES)
        transfer.send(SECOND_BYTES)
        assert transfer.end() == FIRST_BYTES + SECOND_BYTES
        result, tables = finished(agent)
    finally:
        agent.kill()
    evidence = result["evidence"]
    assert evidence["unseen_segments_count"] == 0
    assert evidence["lost_events_count"] == []
    watched = tables["watched"]
    (server,) = watched.filter(pl.col("local_address").str.ends_with(f":{PORT}"))["connection"]
    (client,) = watched.filter(pl.col("connection") != server)["connection"]
    segments = tables["segments"]
    first = FIRST_BYTES if guest.series == WITHOUT_PICKS else 0
    for connection, column, direction in ((client, "data_out_bytes", "out"), (server, "data_in_bytes", "in")):
        logged = segments.filter(pl.col("direction") == direction, connection=connection)
        assert FIRST_BYTES + SECOND_BYTES - first <= bytes_covered(logged) <= FIRST_BYTES + SECOND_BYTES
        assert counted(logged, "payload_bytes")[connection] == counted(tables["counters"], column)[connection]
        if guest.series != WITHOUT_PICKS:
            assert logged.sort("segment_mono_ns")["flags"][0] & SYN
    assert watched["send_buffer_fixed"].to_list() == [False, False]
