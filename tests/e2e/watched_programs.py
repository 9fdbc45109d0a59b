"""Programs of others that move bytes over TCP, and an agent that watches them."""

import contextlib
import io
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl

from whyperf import wire
from whyperf.run.agents.agent import Agent
from whyperf.run.agents.inbox import TablePiece
from whyperf.run.agents.pipes import local

MS = 1_000_000

#: Writes 20,000 bytes fifty times a second to whoever connects, until its standard input ends.
SERVER = """
import select, socket, sys, time
listener = socket.create_server((sys.argv[1], 0), family=socket.AF_INET6 if ":" in sys.argv[1] else socket.AF_INET,
                                dualstack_ipv6=sys.argv[1] == "::")
print(listener.getsockname()[1], flush=True)
connection, _ = listener.accept()
while not select.select([sys.stdin], [], [], 0.02)[0]:
    connection.sendall(bytes(20_000))
"""
#: Sends 1,000,000 bytes within half a second, and ends.
MEGABYTE = """
import socket, time
listener = socket.create_server(("127.0.0.1", 0))
print(listener.getsockname()[1], flush=True)
connection, _ = listener.accept()
for _ in range(20):
    connection.sendall(bytes(50_000))
    time.sleep(0.02)
"""
#: Reads from the address and port of its arguments until the other side closes.
CLIENT = """
import socket, sys
connection = socket.create_connection((sys.argv[1], int(sys.argv[2])))
print("connected", flush=True)
while connection.recv(1 << 16):
    pass
"""


@dataclass(frozen=True)
class Transfer:
    """A server that sends, and a client that reads."""

    server: "subprocess.Popen[str]"
    client: "subprocess.Popen[str]"
    port: int

    def stop(self) -> None:
        """End the transfer in good order."""
        assert self.server.stdin is not None
        self.server.stdin.close()
        self.client.wait(20)
        self.server.wait(20)


def program(script: str, *arguments: str, before: Sequence[str] = ()) -> "subprocess.Popen[str]":
    """Start a script with pipes, by a command where one is given."""
    argv = [*before, sys.executable, "-c", script, *arguments]
    return subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def end(process: "subprocess.Popen[str]") -> None:
    """End a program and let go of its pipes."""
    process.kill()
    process.wait()
    for pipe in (process.stdin, process.stdout):
        if pipe is not None:
            pipe.close()


@contextlib.contextmanager
def transfer(listen: str = "127.0.0.1", connect: str = "127.0.0.1", before: Sequence[str] = ()) -> Iterator[Transfer]:
    """A transfer under way."""
    server = program(SERVER, listen, before=before)
    started = [server]
    try:
        assert server.stdout is not None
        port = int(server.stdout.readline())
        client = program(CLIENT, connect, str(port), before=before)
        started.append(client)
        assert client.stdout is not None
        assert client.stdout.readline() == "connected\n"
        yield Transfer(server, client, port)
    finally:
        for process in started:
            end(process)


@contextlib.contextmanager
def megabyte() -> Iterator[str]:
    """A server that sends a megabyte to whoever connects first; its port."""
    server = program(MEGABYTE)
    try:
        assert server.stdout is not None
        yield server.stdout.readline().strip()
    finally:
        end(server)


def request(selection: wire.Selection | None = None, **changes: Any) -> wire.RequestWatch:
    """What is asked: level user, ten samples a second, no end."""
    asked: dict[str, Any] = {
        "request": "watch",
        "host": "near",
        "selection": selection or {},
        "evidence": "user",
        "sample_ns": 100 * MS,
        "report_ns": 200 * MS,
        "connections_most": 20,
    }
    return {**asked, **changes}  # type: ignore[typeddict-item]


@dataclass(frozen=True)
class Watched:
    """The result of a watch."""

    reports: list[wire.ReplyWatched]
    finished: wire.ReplyFinished
    tables: dict[str, pl.DataFrame]

    def rows(self, table: str, connection: int) -> pl.DataFrame:
        """The rows of a connection."""
        return self.tables[table].filter(pl.col("connection") == connection)


class Watch:
    """A watch that is read message by message."""

    def __init__(self, agent: Agent, asked: wire.RequestWatch) -> None:
        """Start to watch."""
        self.agent = agent
        self.replies = agent.stream(asked, 60.0)
        self.reports: list[wire.ReplyWatched] = []

    def report(self) -> wire.ReplyWatched:
        """The next report."""
        reply = next(self.replies)
        assert not isinstance(reply, TablePiece)
        assert reply["reply"] == "watched", reply
        self.reports.append(reply)
        return reply

    def until_seen(self, count: int, most: int = 100) -> list[wire.WatchedConnection]:
        """Report after report until so many connections are seen."""
        for _ in range(most):
            found = self.report()["connections"]
            if len(found) >= count:
                return found
        raise AssertionError(f"no {count} connections in {most} reports: {self.reports[-1]}")

    def end(self) -> Watched:
        """End the watch and take its result."""
        self.agent.post({"request": "end_watch"})
        return self.result()

    def result(self) -> Watched:
        """The result of a watch that ends by itself."""
        finished: wire.ReplyFinished | None = None
        pieces: dict[str, bytes] = {}
        for reply in self.replies:
            if isinstance(reply, TablePiece):
                pieces[reply.name] = pieces.get(reply.name, b"") + reply.data
            elif reply["reply"] == "watched":
                self.reports.append(reply)
            elif reply["reply"] == "finished":
                finished = reply
            elif reply["reply"] == "done":
                break
        assert finished is not None
        tables = {name: pl.read_parquet(io.BytesIO(data)) for name, data in pieces.items()}
        return Watched(self.reports, finished, tables)


@contextlib.contextmanager
def agent(*prefix: str) -> Iterator[Agent]:
    """An agent, started by a command where one is given."""
    with Agent("near", [*prefix, *local()], shares_clock=True) as opened:
        yield opened
