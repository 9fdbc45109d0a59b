"""What an agent sees of another program's sockets from inside the kernel, and that nothing of it stays."""

import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from tests.protocol.pipe_talk import SECOND_NS, Talk
from tests.protocol.watch_talk import await_connections, finished

pytestmark = [pytest.mark.root, pytest.mark.paced]

StartTalk = Callable[..., Talk]

PROGRAM = Path(__file__).parents[2] / "crates/probe/tests/foreign/connection.py"
TRANSFER_BYTES = 3_000_000
OUT = pl.col("direction") == "out"


class Foreign:
    """Another program with both sockets of a connection over the loopback."""

    def __init__(self) -> None:
        """Starts it."""
        argv = ["python3", str(PROGRAM), "127.0.0.1", "4", "0", "0"]
        self.process = subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        host, port, remote_host, remote_port = self._answer().split()
        self.client, self.server = f"{host}:{port}", f"{remote_host}:{remote_port}"

    def ask(self, command: str) -> str:
        """Has it do something; what it answers."""
        assert self.process.stdin is not None
        self.process.stdin.write(command + "\n")
        self.process.stdin.flush()
        return self._answer()

    def _answer(self) -> str:
        assert self.process.stdout is not None
        return self.process.stdout.readline().strip()


@contextmanager
def foreign_program() -> Iterator[Foreign]:
    """Another program, that ends with the test."""
    foreign = Foreign()
    try:
        yield foreign
    finally:
        foreign.process.kill()
        foreign.process.communicate()


def watch_spec(process: int, **changes: Any) -> dict[str, Any]:
    """What `watch` asks: that program."""
    spec: dict[str, Any] = {
        "host": "near",
        "selection": {"processes": [process]},
        "evidence": "segments",
        "sample_ns": SECOND_NS // 20,
        "report_ns": SECOND_NS // 10,
        "connections_most": 8,
    }
    return spec | changes


def test_counts_log_and_samples_of_another_program(talk: StartTalk) -> None:
    """In mid-life, both sockets of a connection: what was moved while it was watched, in every table."""
    agent = talk().hello()
    with foreign_program() as foreign:
        foreign.ask(f"send {TRANSFER_BYTES}")
        agent.send("watch", **watch_spec(foreign.process.pid, profile_hz=997))
        report = await_connections(agent, 2)
        assert (report["level"], report["reason"]) == ("segments", None)
        before = [foreign.ask("info")]
        foreign.ask(f"send {TRANSFER_BYTES}")
        foreign.ask("spin 0.3")
        before.append(foreign.ask("info"))
        result, tables = finished(agent)
    evidence = result["evidence"]
    assert (evidence["asked"], evidence["got"], evidence["reason"]) == ("segments", "segments", None)
    assert (evidence["missing"], evidence["broken_off"]) == ([], None)
    watched = tables["watched"]
    numbers = dict(watched.select("local_address", "connection").iter_rows())
    client, server = numbers[foreign.client], numbers[foreign.server]
    assert watched["send_buffer_fixed"].to_list() == [False, False]
    counted = tables["counters"].group_by("connection").agg(pl.sum("data_out_bytes", "data_in_bytes", "acks_out_count"))
    counts = {row["connection"]: row for row in counted.iter_rows(named=True)}
    segments = tables["segments"]
    logged = segments.filter(OUT).group_by("connection").agg(pl.sum("payload_bytes"))
    retransmitted = segments.filter(pl.col("retransmission").is_not_null())["payload_bytes"].sum()
    # What the kernel does on top of a process that it hides from tracing is not seen.
    seen = counts[client]["data_out_bytes"] - retransmitted
    assert TRANSFER_BYTES * 0.97 <= seen <= TRANSFER_BYTES
    assert dict(logged.iter_rows())[client] == counts[client]["data_out_bytes"]
    assert counts[server]["acks_out_count"] > 0
    assert tables["segments"].filter(OUT, connection=server)["ack_reason"].null_count() == 0
    calls = tables["calls"].group_by("connection", "call").agg(pl.sum("moved_bytes"))
    assert sorted(calls.iter_rows()) == sorted([(client, "write", TRANSFER_BYTES), (server, "read", TRANSFER_BYTES)])
    writes = tables["sizes"].filter(pl.col("what") == "write_call", connection=client)
    assert writes["sizes_bytes"].sum() == TRANSFER_BYTES
    assert tables["softirqs"]["on_load_ns"].sum() > 0
    load = tables["stacks"].filter(pl.col("group") == "load")
    assert set(load["program"].unique()) == {"python3"}
    assert load["samples_count"].sum() > 0.1 * 997
    assert (evidence["profile"]["reason"], evidence["profile"]["unnamed_programs"]) == (None, None)
    functions = tables["functions"].filter(pl.col("kind") == "program")
    assert functions.filter(pl.col("object").str.contains("python3") & (pl.col("name") != "[unknown]")).height > 0


def test_what_a_program_has_set_of_its_socket(talk: StartTalk) -> None:
    """A fixed buffer switches autotuning off: sock_diag does not say it, and a program in the kernel does."""
    script = (
        "import socket, sys\n"
        "server = socket.create_server(('127.0.0.1', 0))\n"
        "client = socket.socket()\n"
        "client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 65536)\n"
        "client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)\n"
        "client.connect(server.getsockname())\n"
        "print(*client.getsockname(), flush=True)\n"
        "sys.stdin.read()\n"
    )
    agent = talk().hello()
    process = subprocess.Popen(["python3", "-c", script], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        address = process.stdout.readline().strip().replace(" ", ":")
        agent.send("watch", **watch_spec(process.pid, evidence="counters"))
        # The other socket was not accepted: it is nobody's.
        await_connections(agent, 1)
        result, tables = finished(agent)
    finally:
        process.kill()
        process.communicate()
    # What is not asked for is not there.
    assert (result["evidence"]["got"], "segments" in tables) == ("counters", False)
    (row,) = tables["watched"].filter(local_address=address).iter_rows(named=True)
    assert (row["send_buffer_fixed"], row["receive_buffer_fixed"]) == (False, True)
    (flow,) = tables["flows"].filter(connection=row["connection"]).iter_rows(named=True)
    assert flow["no_delay"] is True
