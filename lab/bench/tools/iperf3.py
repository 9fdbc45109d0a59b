"""iperf3."""

import contextlib
import json
from typing import Any

from lab.bench.namespaces import Ends
from lab.bench.plan import Setting, ToolRun
from lab.bench.tools.process import Pair, ToolError, pair

PORT = 5201


def start(ends: Ends, run: ToolRun, setting: Setting) -> contextlib.AbstractContextManager[Pair]:
    """Starts it."""
    cell = run.cell
    window = ["--window", str(setting.window_bytes)] if setting.window_bytes else []
    transport = {
        "udp": ["--udp", "--bitrate", "0"],
        "small": ["--no-delay", "--congestion", setting.congestion_control],
        "stream": ["--congestion", setting.congestion_control],
    }
    client = [
        *("iperf3", "--client", ends.far.address, "--json", "--port", str(PORT)),
        *("--time", str(setting.measure_s), "--omit", str(setting.warmup_s)),
        *("--length", str(cell.size_bytes), "--parallel", str(cell.connections)),
        *(*transport[cell.workload], *window),
    ]
    server = ["iperf3", "--server", "--one-off", "--json", "--port", str(PORT)]
    return pair("iperf3", ends, cell, setting, server=server, client=client, port=PORT, read_rate=goodput_bps)


def goodput_bps(server: str, _client: str) -> float:
    """The receiver's count after the warm-up. Of datagrams too: its figure of each stream stays 0 there."""
    result: dict[str, Any] = json.loads(server)
    if "error" in result:
        raise ToolError(f"iperf3 failed: {result['error']}")
    return float(result["end"]["sum_received"]["bits_per_second"])
