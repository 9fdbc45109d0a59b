"""A peer at work: a server on the far side, a client on the near side, one run."""

import contextlib
import subprocess
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from lab.bench.namespaces import Ends
from lab.bench.plan import Cell, Setting

GRACE_S = 15
"""The time that a run may take beyond its load."""


class ToolError(Exception):
    """A tool did not give a result; the text says which and why."""


@dataclass(frozen=True)
class Pair:
    """A server and a client at work."""

    tool: str
    server: subprocess.Popen[str]
    client: subprocess.Popen[str]
    load_s: int
    read_rate: Callable[[str, str], float]
    """Finds the tool's figure in what the server and the client printed."""
    is_server_ended: bool = False
    """True where the server serves for ever and is ended here."""

    def rate(self) -> float:
        """Waits for the end and gives the tool's figure: bit/s at the receiver, or transactions a second.

        Raises:
            ToolError: one of both failed or hangs, or printed no figure.
        """
        try:
            client, _ = self.client.communicate(timeout=self.load_s + GRACE_S)
            if self.is_server_ended:
                self.server.terminate()
            server, _ = self.server.communicate(timeout=GRACE_S)
        except subprocess.TimeoutExpired as error:
            raise ToolError(f"{self.tool} did not end in time") from error
        sides = [(self.client, "client", client)]
        if not self.is_server_ended:
            sides.append((self.server, "server", server))
        for process, side, output in sides:
            if process.returncode:
                raise ToolError(f"the {side} of {self.tool} failed: {output.strip()[-300:]}")
        return self.read_rate(server, client)


@contextlib.contextmanager
def pair(
    tool: str,
    ends: Ends,
    cell: Cell,
    setting: Setting,
    *,
    server: list[str],
    client: list[str],
    port: int,
    read_rate: Callable[[str, str], float],
    is_server_ended: bool = False,
    protocol: str = "tcp",
) -> Iterator[Pair]:
    """Starts the server, waits until it listens, starts the client; both are gone afterwards."""
    with _process(ends.far.inside(setting.far_cpu(cell), *server)) as serving:
        ends.far.wait_for_listener(port, protocol=protocol)
        with _process(ends.near.inside(setting.sender_cpu, *client)) as sending:
            yield Pair(tool, serving, sending, setting.load_s, read_rate, is_server_ended)


@contextlib.contextmanager
def _process(command: list[str]) -> Iterator[subprocess.Popen[str]]:
    stdin, output = subprocess.DEVNULL, subprocess.PIPE
    with subprocess.Popen(command, stdin=stdin, stdout=output, stderr=subprocess.STDOUT, text=True) as process:
        try:
            yield process
        finally:
            process.kill()
