"""qperf, which has no warm-up and one connection."""

import contextlib
import re

from lab.bench.namespaces import Ends
from lab.bench.plan import Setting, ToolRun
from lab.bench.tools.process import Pair, ToolError, pair

PORT = 19765
FIGURE = re.compile(r"^ +(\w+) += +([0-9.,]+) (\S+)", re.MULTILINE)
SCALE = {"bytes/sec": 1.0, "KB/sec": 1e3, "MB/sec": 1e6, "GB/sec": 1e9, "us": 1e-6, "ns": 1e-9, "ms": 1e-3}


def start(ends: Ends, run: ToolRun, setting: Setting) -> contextlib.AbstractContextManager[Pair]:
    """Starts it."""
    cell = run.cell
    test, figure = {"stream": ("tcp_bw", "bw"), "rr": ("tcp_lat", "latency"), "udp": ("udp_bw", "recv_bw")}[
        cell.workload
    ]
    buffers = ["--sock_buf_size", str(setting.window_bytes)] if setting.window_bytes else []
    client = [
        *("qperf", "--listen_port", str(PORT), ends.far.address, "--time", str(setting.load_s)),
        *("--msg_size", str(cell.size_bytes), *buffers, "--precision", "6", test),
    ]

    def read_rate(_server: str, client: str) -> float:
        value = figure_of(client, figure)
        # Its latency is half a round trip.
        return 1 / (2 * value) if cell.counts_transactions else value * 8

    return pair(
        *("qperf", ends, cell, setting),
        server=["qperf", "--listen_port", str(PORT)],
        client=client,
        port=PORT,
        read_rate=read_rate,
        is_server_ended=True,
    )


def figure_of(client: str, name: str) -> float:
    """A figure by its name, in bytes a second or seconds."""
    for found in FIGURE.finditer(client):
        if found[1] == name and found[3] in SCALE:
            return float(found[2].replace(",", "")) * SCALE[found[3]]
    raise ToolError(f"qperf printed no {name}: {client.strip()[-300:]}")
