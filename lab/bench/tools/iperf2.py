"""iperf 2. It omits no warm-up: intervals of a second are read, those of the warm-up left out."""

import contextlib
import re

from lab.bench.namespaces import Ends
from lab.bench.plan import Setting, ToolRun
from lab.bench.tools.process import Pair, ToolError, pair

PORT = 5001
#: `[  4] 1.0000-2.0000 sec  4839600 Bytes …`, without the lines of sums.
INTERVAL = re.compile(r"^\[ *\d+\] +([0-9.]+)- *([0-9.]+) sec +(\d+) Bytes(.*)$", re.MULTILINE)
#: Of a bounce-back test: `24198=0.041/0.015/…`: how many came back.
BOUNCED = re.compile(r" (\d+)=[0-9.]+/")


def start(ends: Ends, run: ToolRun, setting: Setting) -> contextlib.AbstractContextManager[Pair]:
    """Starts it."""
    cell = run.cell
    window = ["-w", str(setting.window_bytes)] if setting.window_bytes else []
    tcp = ["-Z", setting.congestion_control]
    shape = {
        "stream": tcp,
        "small": ["-N", *tcp],
        "rr": ["--bounceback", "--bounceback-period", "0", *tcp],
        "udp": ["-u", "-b", "100G"],
    }[cell.workload]
    common = ["-p", str(PORT), "-i", "1", "-f", "b", "-l", str(cell.size_bytes), *window]
    client = ["iperf", "-c", ends.far.address, "-t", str(setting.load_s), "-P", str(cell.connections), *common, *shape]
    is_datagrams = cell.workload == "udp"
    server = ["iperf", "-s", *common, *(["-u"] if is_datagrams else [])]

    def read_rate(server: str, client: str) -> float:
        if cell.counts_transactions:
            return bounced_per_s(client, setting)
        return goodput_bps(server, setting)

    return pair(
        *("iperf2", ends, cell, setting),
        server=server,
        client=client,
        port=PORT,
        read_rate=read_rate,
        is_server_ended=True,
        protocol="udp" if is_datagrams else "tcp",
    )


def goodput_bps(server: str, setting: Setting) -> float:
    """The goodput that the receiver counts on all connections between warm-up and end."""
    return sum(int(row[3]) for row in _rows(server, setting)) * 8 / setting.measure_s


def bounced_per_s(client: str, setting: Setting) -> float:
    """Requests that came back on all connections between warm-up and end."""
    found = [BOUNCED.search(row[4]) for row in _rows(client, setting)]
    return sum(int(match[1]) for match in found if match) / setting.measure_s


def _rows(output: str, setting: Setting) -> list[re.Match[str]]:
    """Rows of one second each, within the measurement.

    Raises:
        ToolError: there is none.
    """
    rows = [
        row
        for row in INTERVAL.finditer(output)
        if setting.warmup_s - 0.1 <= float(row[1])
        and float(row[2]) <= setting.load_s + 0.1
        and float(row[2]) - float(row[1]) < 1.1
    ]
    if not rows:
        raise ToolError(f"iperf2 printed no intervals: {output.strip()[-300:]}")
    return rows
