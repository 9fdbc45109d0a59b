"""Connections that a workload opens and closes itself; what belongs to nobody is dropped."""

import os
import socket
import struct
from pathlib import Path
from typing import Any

import pytest

from tests.protocol.pipe_talk import Body
from tests.protocol.workload_talk import (
    MS,
    StartTalk,
    connect,
    crr,
    disconnect,
    execute,
    finish,
    group,
    iterations,
    phases,
    prepare,
    read,
    step,
    think,
    transaction,
    workload,
    write,
)


@pytest.mark.parametrize(
    "options",
    [{"io_model": "blocking"}, *({"io_model": io, "threads_count": n} for io in ("epoll", "io_uring") for n in (1, 2))],
    ids=str,
)
def test_each_transaction_has_a_connection_of_its_own(talk: StartTalk, options: dict[str, Any]) -> None:
    load = workload(group(crr(100, 1000, iterations(50)), strands=4, connected=False))
    far, near = execute(talk, load, {"by": "workload"}, **options)
    assert [far.outcome, near.outcome] == ["complete", "complete"], (far.finished, near.finished)
    assert near.total("transactions_count") == far.total("transactions_count") == 200
    assert near.total("sent_bytes") == far.total("received_bytes") == 20_000
    assert near.total("received_bytes") == far.total("sent_bytes") == 200_000
    assert near.latencies("connect")["latency_count"].sum() == 200


def test_a_connection_each_over_unix_sockets_leaves_nothing_behind(talk: StartTalk) -> None:
    before = set(Path("/tmp").glob("whyperf-*/socket"))
    load = workload(group(crr(100, 1000, iterations(500)), strands=4, connected=False))
    far, near = execute(talk, load, {"by": "workload"}, transport="unix")
    assert [far.outcome, near.outcome] == ["complete", "complete"], (far.finished, near.finished)
    assert near.total("transactions_count") == far.total("transactions_count") == 2000
    assert near.total("sent_bytes") == far.total("received_bytes") == 200_000
    assert near.latencies("connect")["latency_count"].sum() == 2000
    assert set(Path("/tmp").glob("whyperf-*/socket")) <= before


def test_more_unix_connections_than_a_queue_holds_are_waited_for(talk: StartTalk) -> None:
    """Nobody answers, so that the near side runs ahead of the other one by thousands of connections."""
    steps = [connect(), write(1), disconnect()]
    load = workload(group(transaction(*steps, repeat=iterations(10_000)), strands=2, connected=False))
    far, near = execute(talk, load, {"by": "workload"}, transport="unix", threads_count=2)
    assert [far.outcome, near.outcome] == ["complete", "complete"], (far.finished, near.finished)
    assert near.total("transactions_count") == far.total("transactions_count") == 20_000
    assert far.total("received_bytes") == 20_000


FORMS = [
    pytest.param([connect(), read(70), disconnect()], 0, 70, id="the far side speaks first"),
    pytest.param([connect(), disconnect()], 0, 0, id="nothing is said"),
    pytest.param([connect(), write(200_000), disconnect()], 200_000, 0, id="more than a segment"),
    pytest.param([connect(1), write(5, 1), connect(2), write(6, 2), disconnect(1), disconnect(2)], 11, 0, id="two"),
]


@pytest.mark.parametrize("io_model", ["epoll", "io_uring"])
@pytest.mark.parametrize(("steps", "sent", "received"), FORMS)
def test_a_connection_may_carry_anything(
    talk: StartTalk, steps: list[Body], sent: int, received: int, io_model: str
) -> None:
    load = workload(group(transaction(*steps, repeat=iterations(20)), strands=3, connected=False))
    far, near = execute(talk, load, {"by": "workload"}, io_model=io_model)
    assert [far.outcome, near.outcome] == ["complete", "complete"], (far.finished, near.finished)
    assert near.total("transactions_count") == far.total("transactions_count") == 60
    assert near.total("sent_bytes") == far.total("received_bytes") == 60 * sent
    assert near.total("received_bytes") == far.total("sent_bytes") == 60 * received


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
    load = workload(
        group(transaction(*first, name="open", repeat=once), transaction(*second, name="use", repeat=once), strands=3)
    )
    far, near = execute(talk, load, {"by": "workload"}, io_model=io_model)
    assert [far.outcome, near.outcome] == ["complete", "complete"], (far.finished, near.finished)
    assert near.total("transactions_count") == far.total("transactions_count") == 6
    assert near.total("sent_bytes") == far.total("received_bytes")
    assert near.total("received_bytes") == far.total("sent_bytes")
    assert near.latencies("connect")["latency_count"].sum() == 3 * (1 + (connect(2) in first))


def test_time_ends_between_two_connections(talk: StartTalk) -> None:
    far, near = execute(talk, workload(group(crr(), strands=10, connected=False)), phases(300))
    assert [far.outcome, near.outcome] == ["complete", "complete"], (far.finished, near.finished)
    assert near.total("transactions_count") == far.total("transactions_count") > 0


@pytest.mark.parametrize("io_model", ["epoll", "io_uring"])
def test_a_file_is_sent_whole(talk: StartTalk, tmp_path: Path, io_model: str) -> None:
    path = tmp_path / "page"
    path.write_bytes(os.urandom(300_000))
    send = step("send_file", connection=0, files=[{"path": str(path), "length_bytes": 300_000}], call_bytes=70_000)
    load = workload(group(transaction(send, read(1), repeat=iterations(20)), strands=2))
    far, near = execute(talk, load, {"by": "workload"}, io_model=io_model)
    assert [far.outcome, near.outcome] == ["complete", "complete"], (far.finished, near.finished)
    assert near.total("sent_bytes") == far.total("received_bytes") == 40 * 300_000


def test_unauthenticated_peers_are_dropped_while_it_runs(talk: StartTalk) -> None:
    """A wrong token, another protocol, silence: none is given a byte, none holds a virtual user up."""
    far, near = prepare(
        talk, workload(group(crr(1, 1, iterations(300)), strands=2, connected=False)), {"by": "workload"}
    )
    port = listening_port(far.process.pid)
    intruders = [socket.create_connection(("127.0.0.1", port)) for _ in range(3)]
    intruders[0].sendall(b"WPDL" + struct.pack(">I", 0) + bytes.fromhex("5b" * 32) + struct.pack(">I", 0))
    intruders[1].sendall(b"GET / HTTP/1.1\r\nHost: far.example\r\nAccept: everything at all\r\n\r\n")
    far_side, near_side = finish(far, near)
    assert [far_side.outcome, near_side.outcome] == ["complete", "complete"], (far_side.finished, near_side.finished)
    assert near_side.total("transactions_count") == 600
    assert {"note": "strangers_dropped", "count": 2} in far_side.finished["notes"]
    for intruder in intruders:
        intruder.settimeout(10)
        try:
            assert intruder.recv(100) == b""
        except ConnectionResetError:
            continue
        finally:
            intruder.close()


def listening_port(process: int) -> int:
    """The port at which a process listens, of the host's table by the inodes of its files."""
    own = set()
    for entry in Path(f"/proc/{process}/fd").iterdir():
        target = str(entry.readlink())
        if target.startswith("socket:["):
            own.add(target[len("socket:[") : -1])
    for line in Path("/proc/net/tcp").read_text().splitlines()[1:]:
        fields = line.split()
        if fields[3] == "0A" and fields[9] in own:
            return int(fields[1].split(":")[1], 16)
    raise AssertionError("it does not listen")
