"""The agent watches connections of programs that it did not start, long after they have opened."""

import time

import pytest

from tests.e2e.watched_programs import CLIENT, MS, Watch, agent, end, megabyte, program, request, transfer
from whyperf.run.errors import AgentError

pytestmark = [pytest.mark.paced, pytest.mark.timeout(300)]

HOST_TABLES = {"cpu", "threads", "devices", "host_counters"}
CONNECTION_TABLES = {"watched", "sockets", "tcp_info", "tcp_options", "flows", "intervals"}


def test_a_sender_is_watched_in_mid_life_by_its_process() -> None:
    with transfer() as running, agent() as watcher:
        time.sleep(0.5)
        watch = Watch(watcher, request({"processes": [running.server.pid]}))
        assert watch.report()["level"] == "user"
        (first,) = watch.until_seen(1)
        for _ in range(4):
            watch.report()
        watched = watch.end()

    assert first["endpoints"]["local"] == f"127.0.0.1:{running.port}"
    assert first["process"] == running.server.pid
    assert first["program"].startswith("python")
    assert not first["is_whole"]
    assert first["acked_bytes"] > 0, "totals count from its opening"
    assert set(watched.tables) == HOST_TABLES | CONNECTION_TABLES
    assert watched.finished["outcome"] == {"ended": "complete"}
    assert watched.finished["evidence"]["got"] == "user"

    (row,) = watched.rows("watched", 0).to_dicts()
    assert row["remote_address"] == first["endpoints"]["remote"]
    assert row["executable"].rsplit("/", 1)[-1].startswith("python")
    assert (row["listens"], row["closed"], row["whole"]) == (True, False, False)
    assert (row["send_buffer_fixed"], row["receive_buffer_fixed"]) == (None, None), "sock_diag does not say it"
    info = watched.rows("tcp_info", 0)
    moved = int(info["bytes_acked"][-1] - info["bytes_acked"][0])
    assert moved > 100_000, "50 times 20,000 bytes a second"
    (flow,) = watched.rows("flows", 0).to_dicts()
    intervals = watched.rows("intervals", 0)
    assert flow["payload_bytes"] == intervals["payload_bytes"].sum() == watched.finished["payload_bytes"] == moved
    assert flow["congestion_control"]
    assert flow["send_buffer_granted_bytes"] > 0
    assert intervals["interval"].is_unique().all()
    assert (intervals["start_mono_ns"][1:] == intervals["end_mono_ns"][:-1]).all(), "no time is left out"
    assert info["final"].to_list() == [False] * (info.height - 1) + [True]
    assert info["sample_mono_ns"].to_list() == watched.rows("sockets", 0)["sample_mono_ns"].to_list()
    assert watched.rows("sockets", 0)["send_buffer_bytes"].min() > 0  # type: ignore[operator]
    assert watched.rows("tcp_options", 0)["window_scaling"].to_list() == [True]
    threads = watched.tables["threads"]
    assert set(threads["process"]) == {running.server.pid}
    assert threads["cpu_ns"].sum() > 0


@pytest.mark.parametrize(("listen", "connect"), [("::1", "::1"), ("::", "127.0.0.1")])
def test_both_sides_are_found_by_the_port_in_any_family(listen: str, connect: str) -> None:
    """More than there is room for are counted."""
    with transfer(listen, connect) as running, agent() as watcher:
        watch = Watch(watcher, request({"ports": [running.port]}))
        watch.until_seen(2)
        watch.report()
        watched = watch.end()
        watch = Watch(watcher, request({"ports": [running.port]}, connections_most=1))
        watch.until_seen(1)
        assert watch.report()["beyond_limit_count"] == 1
        limited = watch.end()
    shown = f"[{connect}]" if ":" in connect else connect
    ends = watched.tables["watched"].select("local_address", "remote_address", "process").rows()
    by_process = {process: (local, remote) for local, remote, process in ends}
    server, client = by_process[running.server.pid], by_process[running.client.pid]
    assert server == client[::-1], "each is the other side of the other"
    assert server[0] == f"{shown}:{running.port}", "no address is a mapped one"
    sent, received = watched.tables["flows"].sort("connection")["payload_bytes"]
    assert sent == pytest.approx(received, rel=0.5)
    assert limited.tables["watched"].height == 1
    assert {"note": "connections_beyond_limit", "count": 1} in limited.finished["notes"]


def test_a_command_is_watched_from_its_first_segment_until_it_ends() -> None:
    """With all that it has started."""
    script = """
import subprocess, sys
sys.stdin.readline()
subprocess.run([sys.executable, "-c", sys.argv[1], "127.0.0.1", sys.argv[2]], check=True)
"""
    with megabyte() as port, agent() as watcher:
        command = program(script, CLIENT, port)
        watch = Watch(watcher, request({"processes": [command.pid]}))
        watch.report()
        assert command.stdin is not None
        command.stdin.write("go\n")
        command.stdin.flush()
        watched = watch.result()
        assert command.wait(5) == 0
    end(command)
    (row,) = watched.tables["watched"].to_dicts()
    assert (row["whole"], row["closed"]) == (True, True)
    assert row["process"] != command.pid, "its child has the connection"
    (flow,) = watched.tables["flows"].to_dicts()
    assert flow["payload_bytes"] == 1_000_000
    assert watched.tables["intervals"]["payload_bytes"].sum() == 1_000_000


def test_the_busiest_connections_are_found_where_nothing_is_asked_for() -> None:
    with transfer() as running, agent() as watcher:
        watch = Watch(watcher, request())
        found = {connection["process"] for connection in watch.until_seen(2)}
        for _ in range(20):
            if {running.server.pid, running.client.pid} <= found:
                break
            found |= {connection["process"] for connection in watch.report()["connections"]}
        watch.end()
    assert {running.server.pid, running.client.pid} <= found


def test_short_connections_are_counted_with_what_they_moved() -> None:
    script = """
import socket
listener = socket.create_server(("127.0.0.1", 0))
print(listener.getsockname()[1], flush=True)
input()
for _ in range(200):
    near = socket.create_connection(listener.getsockname())
    far, _ = listener.accept()
    near.sendall(bytes(1_000))
    far.recv(1_000, socket.MSG_WAITALL)
    near.close()
    far.close()
print("done", flush=True)
input()
"""
    opener = program(script)
    assert opener.stdout is not None
    assert opener.stdin is not None
    port = int(opener.stdout.readline())
    with agent() as watcher:
        watch = Watch(watcher, request({"ports": [port]}))
        watch.report()
        opener.stdin.write("\n")
        opener.stdin.flush()
        assert opener.stdout.readline() == "done\n"
        watch.report()
        watched = watch.end()
    end(opener)
    brief = sum(note["count"] for note in watched.finished["notes"] if note["note"] == "brief_connections")
    beyond = sum(note["count"] for note in watched.finished["notes"] if note["note"] == "connections_beyond_limit")
    assert 300 <= brief + beyond + watched.tables["watched"].height <= 402, watched.finished["notes"]


def test_what_cannot_be_watched_is_refused_in_a_sentence_and_the_agent_goes_on() -> None:
    with agent() as watcher:
        for selection, changes, text in (
            ({"processes": [2**23]}, {}, "there is no process 8388608 on this host"),
            ({"addresses": ["localhost"]}, {}, '"localhost" is not a numeric address'),
            ({}, {"connections_most": 0}, "a watch takes 1 to 1000 connections, not 0"),
            ({}, {"sample_ns": 0}, "samples are at least 1 ms apart"),
        ):
            with pytest.raises(AgentError, match=text):
                Watch(watcher, request(selection, **changes)).report()  # type: ignore[arg-type]
        with pytest.raises(AgentError, match="nothing is being watched"):
            watcher.call({"request": "end_watch"})
        watch = Watch(watcher, request(duration_ns=300 * MS))
        assert watch.result().finished["outcome"] == {"ended": "complete"}
