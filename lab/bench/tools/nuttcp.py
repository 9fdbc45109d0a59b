"""nuttcp, which takes the window in KByte and its congestion control from the namespace."""

import contextlib
import re

from lab.bench.namespaces import Ends
from lab.bench.plan import Setting, ToolRun
from lab.bench.tools.process import Pair, ToolError, pair

PORT = 5000
INTERVAL = re.compile(r"^ *megabytes=([0-9.]+) real_sec=([0-9.]+) ", re.MULTILINE)
TOTAL = re.compile(r"^nuttcp-r: megabytes=([0-9.]+) real_seconds=([0-9.]+) ", re.MULTILINE)
DATAGRAMS = re.compile(r"^megabytes=([0-9.]+) real_seconds=([0-9.]+) .* drop=", re.MULTILINE)


def start(ends: Ends, run: ToolRun, setting: Setting) -> contextlib.AbstractContextManager[Pair]:
    """Starts it."""
    cell = run.cell
    window = [f"-w{setting.window_bytes // 1024}"] if setting.window_bytes else []
    shape = ["-u", "-Ru"] if cell.workload == "udp" else ["-v", f"-N{cell.connections}"]
    client = [
        *("nuttcp", "-t", f"-P{PORT}", f"-T{setting.load_s}", f"-i{setting.warmup_s}", "-fparse"),
        *(*shape, f"-l{cell.size_bytes}", *window, ends.far.address),
    ]
    read_rate = datagram_goodput_bps if cell.workload == "udp" else goodput_bps
    server = ["nuttcp", "-1", f"-P{PORT}"]
    return pair("nuttcp", ends, cell, setting, server=server, client=client, port=PORT, read_rate=read_rate)


def goodput_bps(_server: str, client: str) -> float:
    """The receiver's total less its first interval, which is the warm-up."""
    return _without_first(client, TOTAL)


def datagram_goodput_bps(_server: str, client: str) -> float:
    """As `goodput_bps`, of datagrams."""
    return _without_first(client, DATAGRAMS)


def _without_first(client: str, total_line: re.Pattern[str]) -> float:
    first, total = INTERVAL.search(client), total_line.search(client)
    if first is None or total is None:
        raise ToolError(f"nuttcp printed no receiver's result: {client.strip()[-300:]}")
    payload_bytes = (float(total[1]) - float(first[1])) * 2**20
    return payload_bytes * 8 / (float(total[2]) - float(first[2]))
