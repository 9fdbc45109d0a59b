"""sockperf: ping-pong, and throughput of small messages. It leaves out 0.4 s of its own at the start."""

import contextlib
import re

from lab.bench.namespaces import Ends
from lab.bench.plan import Setting, ToolRun
from lab.bench.tools.process import Pair, ToolError, pair

PORT = 11111
VALID = re.compile(r"\[Valid Duration\] RunTime=([0-9.]+) sec; SentMessages=\d+; ReceivedMessages=(\d+)")
SENT = re.compile(r"Total of (\d+) messages sent in ([0-9.]+) sec")


def start(ends: Ends, run: ToolRun, setting: Setting) -> contextlib.AbstractContextManager[Pair]:
    """Starts it. A throughput test has Nagle on unless the options differ, a ping-pong off."""
    cell = run.cell
    where = ["--tcp", "-i", ends.far.address, "-p", str(PORT)]
    mode = ["ping-pong"] if cell.counts_transactions else ["throughput", "--tcp-avoid-nodelay"]
    client = ["sockperf", *mode, *where, "-m", str(cell.size_bytes), "-t", str(setting.load_s)]

    def read_rate(_server: str, client: str) -> float:
        return ping_pongs_per_s(client) if cell.counts_transactions else sent_bps(client, cell.size_bytes)

    return pair(
        *("sockperf", ends, cell, setting),
        server=["sockperf", "server", *where],
        client=client,
        port=PORT,
        read_rate=read_rate,
        is_server_ended=True,
    )


def ping_pongs_per_s(client: str) -> float:
    """Messages that came back."""
    found = VALID.search(client)
    if found is None:
        raise ToolError(f"sockperf printed no valid duration: {client.strip()[-300:]}")
    return int(found[2]) / float(found[1])


def sent_bps(client: str, size_bytes: int) -> float:
    """Messages sent, for it counts none at the receiver; over TCP they arrive."""
    found = SENT.search(client)
    if found is None:
        raise ToolError(f"sockperf printed no messages: {client.strip()[-300:]}")
    return int(found[1]) * size_bytes * 8 / float(found[2])
