"""It stays small on a host with many sockets: the time of a look at all of them, and the agent's share of a CPU.

The agent has no privilege. It is asked for what `whyperf watch --evidence user --max-connections 100` asks for.
"""

import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import median

from lab.bench.row import Row
from lab.bench.watch.place import Namespace, PlaceError, cpu_s, own_namespace, started
from lab.bench.watch.setting import Setting
from whyperf.run.agents.agent import Agent
from whyperf.run.agents.inbox import TablePiece
from whyperf.run.agents.pipes import agent_binary
from whyperf.watch.session import NEAR, WatchOrder
from whyperf.wire import ReplyWatched

IDLE, BUSY = 10_000, 100
MAX_LOOK_S = 0.050
MAX_CPU = 0.02
#: Reports before the measured ones: the first looks are more frequent.
WARM_UP = 3
REPLY_S = 30.0
PROGRAM = Path(__file__).with_name("idle_sockets.py")
NOBODY = ("setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "--no-new-privs")


def run(setting: Setting) -> list[Row]:
    """Measures for 20 s."""
    with (
        own_namespace() as place,
        _sockets(place),
        _readable_agent() as binary,
        Agent("near", [*place.inside(*NOBODY), str(binary), "serve"], shares_clock=True) as agent,
    ):
        reports, share = _watched(agent, setting.of(20, 3))
    looks_s = [report["look_ns"] / 1e9 for report in reports]
    last = reports[-1]
    seen = len(last["connections"]) + last["others_count"]
    values = {"look_s": looks_s, "cpu": share, "sample_s": [report["sample_ns"] / 1e9 for report in reports]}
    longest = max(looks_s)
    return [
        Row(
            "sockets",
            f"a look at {seen:,} sockets, {len(looks_s)} looks",
            f"≤ {MAX_LOOK_S * 1e3:.0f} ms each",
            f"{median(looks_s) * 1e3:.1f} ms (median), {longest * 1e3:.1f} ms (longest)",
            longest <= MAX_LOOK_S,
            values=values,
        ),
        Row("sockets", "agent, a report a second", f"≤ {MAX_CPU:.0%} of a CPU", f"{share:.2%}", share <= MAX_CPU),
        Row(
            "sockets",
            "connections watched one by one",
            str(BUSY),
            f"{len(last['connections'])}, a sample every {last['sample_ns'] / 1e6:.0f} ms",
            len(last["connections"]) == BUSY and seen >= IDLE + BUSY,
            is_bar=False,
        ),
    ]


@contextmanager
def _sockets(place: Namespace) -> Iterator[None]:
    command = place.inside(sys.executable, str(PROGRAM), str(IDLE), str(BUSY))
    with started(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as holder:
        assert holder.stdout is not None
        if holder.stdout.readline() != "ready\n":
            raise PlaceError(f"{IDLE + BUSY:,} sockets cannot be opened")
        yield


@contextmanager
def _readable_agent() -> Iterator[Path]:
    """A copy of the agent where everybody may start it: the checkout may lie where others cannot enter."""
    with tempfile.TemporaryDirectory(prefix="whyperf-bench-") as folder:
        Path(folder).chmod(0o755)
        copy = Path(folder) / "whyperf-agent"
        shutil.copy(agent_binary(), copy)
        copy.chmod(0o755)
        yield copy


def _watched(agent: Agent, count: int) -> tuple[list[ReplyWatched], float]:
    """Reports, and the agent's share of a CPU meanwhile."""
    reports: list[ReplyWatched] = []
    used_s = since_s = 0.0
    request = WatchOrder({}, "user", interval_s=1.0, connections_most=BUSY).request(NEAR)
    for reply in agent.stream(request, REPLY_S):
        if isinstance(reply, TablePiece) or reply["reply"] != "watched":
            raise PlaceError(f"the agent does not watch: {reply}")
        reports.append(reply)
        if len(reports) == WARM_UP:
            used_s, since_s = cpu_s(agent.pid), time.monotonic()
        if len(reports) == WARM_UP + count:
            break
    share = (cpu_s(agent.pid) - used_s) / (time.monotonic() - since_s)
    return reports[WARM_UP:], share
