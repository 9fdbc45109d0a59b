"""Runs iperf3 and nuttcp: the server at the far end, the client at the near end, one connection setup a run."""

import contextlib
import json
import re
import subprocess
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from bench.namespaces import Ends
from bench.plan import Setting, Turn

GRACE_S = 10
"""How much longer than its load a run may take."""
IPERF3_PORT = 5201
NUTTCP_PORT = 5000


class ToolError(Exception):
    """A tool did not give a result; the text says which and why."""


@dataclass(frozen=True)
class Pair:
    """A server and a client at work."""

    tool: str
    server: subprocess.Popen[str]
    client: subprocess.Popen[str]
    load_s: int
    read_goodput_bps: Callable[[str, str], float]
    """Finds the receiver's figure in what the server and the client printed."""

    def goodput_bps(self) -> float:
        """Waits for the end and gives the receiver's figure for the time after the warm-up.

        Raises:
            ToolError: one of both failed or hangs, or printed no figure.
        """
        try:
            client, _ = self.client.communicate(timeout=self.load_s + GRACE_S)
            server, _ = self.server.communicate(timeout=GRACE_S)
        except subprocess.TimeoutExpired as error:
            raise ToolError(f"{self.tool} did not end in time") from error
        for process, side, output in ((self.client, "client", client), (self.server, "server", server)):
            if process.returncode:
                raise ToolError(f"the {side} of {self.tool} failed: {output.strip()[-300:]}")
        return self.read_goodput_bps(server, client)


@contextlib.contextmanager
def _process(command: list[str]) -> Iterator[subprocess.Popen[str]]:
    stdin, output = subprocess.DEVNULL, subprocess.PIPE
    with subprocess.Popen(command, stdin=stdin, stdout=output, stderr=subprocess.STDOUT, text=True) as process:
        try:
            yield process
        finally:
            process.kill()


@contextlib.contextmanager
def _serving(ends: Ends, setting: Setting, port: int, *command: str) -> Iterator[subprocess.Popen[str]]:
    with _process(ends.far.inside(setting.receiver_cpu, *command)) as process:
        ends.far.wait_for_listener(port)
        yield process


@contextlib.contextmanager
def iperf3(ends: Ends, turn: Turn, setting: Setting) -> Iterator[Pair]:
    """Starts iperf3."""
    window = ["--window", str(setting.window_bytes)] if setting.window_bytes else []
    server = ["--server", "--one-off", "--json", "--port", str(IPERF3_PORT)]
    client = [
        *("--client", ends.far.address, "--json", "--port", str(IPERF3_PORT)),
        *("--time", str(setting.measure_s), "--omit", str(setting.warmup_s)),
        *("--length", str(turn.cell.write_size_bytes), "--parallel", str(turn.cell.connections)),
        *("--congestion", setting.congestion_control, *window),
    ]
    with (
        _serving(ends, setting, IPERF3_PORT, "iperf3", *server) as serving,
        _process(ends.near.inside(setting.sender_cpu, "iperf3", *client)) as sending,
    ):
        yield Pair("iperf3", serving, sending, setting.load_s, _iperf3_goodput_bps)


def _iperf3_goodput_bps(server: str, _client: str) -> float:
    result: dict[str, Any] = json.loads(server)
    if "error" in result:
        raise ToolError(f"iperf3 failed: {result['error']}")
    return float(result["end"]["sum_received"]["bits_per_second"])


@contextlib.contextmanager
def nuttcp(ends: Ends, turn: Turn, setting: Setting) -> Iterator[Pair]:
    """Starts nuttcp, which takes the window in KByte and its congestion control from the namespace."""
    window = [f"-w{setting.window_bytes // 1024}"] if setting.window_bytes else []
    server = ["-1", f"-P{NUTTCP_PORT}"]
    client = [
        *("-t", f"-P{NUTTCP_PORT}", f"-T{setting.load_s}", f"-i{setting.warmup_s}", "-fparse", "-v"),
        *(f"-l{turn.cell.write_size_bytes}", f"-N{turn.cell.connections}", *window, ends.far.address),
    ]
    with (
        _serving(ends, setting, NUTTCP_PORT, "nuttcp", *server) as serving,
        _process(ends.near.inside(setting.sender_cpu, "nuttcp", *client)) as sending,
    ):
        yield Pair("nuttcp", serving, sending, setting.load_s, _nuttcp_goodput_bps)


INTERVAL = re.compile(r"^ *megabytes=([0-9.]+) real_sec=([0-9.]+) ", re.MULTILINE)
TOTAL = re.compile(r"^nuttcp-r: megabytes=([0-9.]+) real_seconds=([0-9.]+) ", re.MULTILINE)


def _nuttcp_goodput_bps(_server: str, client: str) -> float:
    """The receiver's total less its first interval, which is the warm-up."""
    first, total = INTERVAL.search(client), TOTAL.search(client)
    if first is None or total is None:
        raise ToolError(f"nuttcp printed no receiver's result: {client.strip()[-300:]}")
    payload_bytes = (float(total[1]) - float(first[1])) * 2**20
    return payload_bytes * 8 / (float(total[2]) - float(first[2]))
